package surveybroker

import (
	"context"
	"fmt"
	"time"

	"weir"
	"weir/surveys"
)

// Incoming applies a stop message at once, before it is acknowledged to the
// provider: after the acknowledgment the sender must not be contacted again.
// Other messages are left to the next round; a message whose outbox entry a
// round has processed needs nothing. Incoming may be called again.
func (s *System) Incoming(ctx context.Context, channel weir.ChannelID, m weir.Incoming) error {
	for try := range hearTries {
		again, err := s.stopAtOnce(ctx, channel, m)
		if err != nil || !again {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(time.Duration(try) * 5 * time.Millisecond):
		}
	}
	return &weir.Error{Code: weir.CodeUnavailable, Message: "the respondent is being changed by others; try again", RetryAfter: time.Second}
}

// stopAtOnce tries once, like a round that begins now and processes only this
// message. again reports that another writer changed the respondent.
func (s *System) stopAtOnce(ctx context.Context, channel weir.ChannelID, m weir.Incoming) (again bool, _ error) {
	r := &round{
		System: s, mem: newMemory(), now: time.Now(), others: map[int64]*known{},
		channels: map[weir.ChannelID]weir.Channel{}, named: map[string]weir.ChannelID{},
	}
	if err := r.names(ctx, map[weir.ChannelID]bool{channel: true}); err != nil {
		return false, err
	}
	who, ok, err := r.addressee(ctx, &surveys.Notice{Kind: surveys.Incoming, Channel: channel, Message: m})
	if err != nil || !ok || who.Status.Final() {
		return false, err
	}
	k, err := r.survey(ctx, who.Survey)
	if err != nil || k == nil || k.plan == nil || !k.plan.IsStop(m.Body) {
		return false, err
	}
	n, ok, err := r.noticeOf(ctx, channel, m)
	if err != nil || !ok {
		return false, err
	}
	d, err := r.desk(ctx, k)
	if err != nil {
		return false, err
	}
	c, _ := d.noted(who, []surveys.Notice{n})
	_, again, err = s.heard(ctx, k, c)
	return again, err
}

// noticeOf finds the outbox entry of a message; ok is false if it has been
// processed.
func (r *round) noticeOf(ctx context.Context, channel weir.ChannelID, m weir.Incoming) (_ surveys.Notice, ok bool, _ error) {
	for after := int64(0); ; {
		page, err := call(ctx, func(ctx context.Context) ([]surveys.Notice, error) { return r.store.Notices(ctx, after, noticePage) })
		if err != nil {
			return surveys.Notice{}, false, fmt.Errorf("read the notices: %w", err)
		}
		for _, n := range page {
			if n.Kind == surveys.Incoming && n.Channel == channel && n.Message.GUID == m.GUID && n.Message.Body == m.Body && n.Message.From == m.From {
				return n, true, nil
			}
		}
		if len(page) < noticePage {
			return surveys.Notice{}, false, nil
		}
		after = page[len(page)-1].ID
	}
}
