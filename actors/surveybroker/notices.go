package surveybroker

import (
	"context"
	"fmt"
	"strings"

	"weir"
	"weir/surveys"
)

// notices processes outbox entries, which report events of contacts and
// messages of respondents, up to noticePages pages.
func (r *round) notices(ctx context.Context) error {
	after, seen, before := int64(0), 0, r.made
	defer func() { r.metrics.notices.Set(float64(seen)) }()
	for range noticePages {
		page, err := call(ctx, func(ctx context.Context) ([]surveys.Notice, error) { return r.store.Notices(ctx, after, noticePage) })
		if err != nil {
			return fmt.Errorf("read the notices: %w", err)
		}
		if len(page) == 0 {
			return nil
		}
		seen, r.noticed = seen+len(page), true
		after = page[len(page)-1].ID
		if err := r.take(ctx, page); err != nil {
			return err
		}
		if len(page) < noticePage {
			return nil
		}
	}
	r.again = r.again || r.made > before // otherwise the entries that fill the pages wait for something other than a round
	return nil
}

// mail holds a page's outbox entries for one survey.
type mail struct {
	survey *known
	order  []surveys.RespondentID
	of     map[surveys.RespondentID][]surveys.Notice
	who    map[surveys.RespondentID]surveys.Respondent
}

func (m *mail) put(r surveys.Respondent, n surveys.Notice) {
	if _, ok := m.who[r.ID]; !ok {
		m.order = append(m.order, r.ID)
		m.who[r.ID] = r
	}
	m.of[r.ID] = append(m.of[r.ID], n)
}

// take processes a page of outbox entries. It deletes entries that concern no
// respondent.
func (r *round) take(ctx context.Context, page []surveys.Notice) error {
	boxes, strays, err := r.sort(ctx, page)
	if err != nil {
		return err
	}
	if len(strays) > 0 {
		r.made += len(strays)
		if _, err := r.work(ctx, surveys.Work{Taken: strays}); err != nil {
			return err
		}
	}
	for _, box := range boxes {
		d, err := r.desk(ctx, box.survey)
		if err != nil {
			return err
		}
		var changes []change
		more, stuck := false, r.stuck
		for _, id := range box.order {
			c, left := d.noted(box.who[id], box.of[id])
			changes = append(changes, c)
			more = more || len(left) > 0
		}
		if err := r.write(ctx, box.survey, changes); err != nil {
			return err
		}
		r.again = r.again || more && r.stuck == stuck
	}
	return nil
}

// sort finds the respondents that the outbox entries concern.
func (r *round) sort(ctx context.Context, page []surveys.Notice) (boxes map[int64]*mail, strays []int64, _ error) {
	var ids []surveys.RespondentID
	channels := map[weir.ChannelID]bool{}
	for _, n := range page {
		channels[n.Channel] = true
		if s := r.mem.states[n.Channel]; n.Kind == surveys.HandedOver && !works(s.Health) && n.At.After(s.Since) {
			r.recheck = append(r.recheck, n.Channel) // it seems to work again
		}
		if n.Kind != surveys.Incoming {
			ids = append(ids, surveys.RespondentID(n.Respondent.ID))
		}
	}
	if err := r.names(ctx, channels); err != nil {
		return nil, nil, err
	}
	who := map[surveys.RespondentID]surveys.Respondent{}
	if len(ids) > 0 {
		some, err := call(ctx, func(ctx context.Context) ([]surveys.Respondent, error) { return r.store.Some(ctx, ids) })
		if err != nil {
			return nil, nil, fmt.Errorf("read respondents: %w", err)
		}
		for _, p := range some {
			who[p.ID] = p
		}
	}
	boxes = map[int64]*mail{}
	for _, n := range page {
		p, ok := who[surveys.RespondentID(n.Respondent.ID)]
		ok = ok && p.Survey == n.Respondent.Survey
		if n.Kind == surveys.Incoming {
			var err error
			if p, ok, err = r.addressee(ctx, &n); err != nil {
				return nil, nil, err
			}
		}
		box, err := r.box(ctx, boxes, p, ok)
		if err != nil {
			return nil, nil, err
		}
		if box == nil {
			strays = append(strays, n.ID)
			continue
		}
		box.put(p, n)
	}
	return boxes, strays, nil
}

// box returns the mail of a respondent's survey; nil if there is no respondent.
// The entries of a survey that cannot be run are dropped, too: when it can be
// run again, its respondents' contacts are read.
func (r *round) box(ctx context.Context, boxes map[int64]*mail, p surveys.Respondent, ok bool) (*mail, error) {
	if !ok {
		return nil, nil
	}
	if box := boxes[p.Survey]; box != nil {
		return box, nil
	}
	k, err := r.survey(ctx, p.Survey)
	if err != nil || k == nil || k.plan == nil {
		return nil, err
	}
	boxes[p.Survey] = &mail{survey: k, of: map[surveys.RespondentID][]surveys.Notice{}, who: map[surveys.RespondentID]surveys.Respondent{}}
	return boxes[p.Survey], nil
}

// addressee finds the respondent that sent a message.
func (r *round) addressee(ctx context.Context, n *surveys.Notice) (_ surveys.Respondent, ok bool, _ error) {
	number, err := surveys.NormalisePhone(n.Message.From, "")
	if err != nil {
		if number, err = surveys.NormalisePhone("+"+strings.TrimLeft(n.Message.From, "+"), ""); err != nil {
			return surveys.Respondent{}, false, nil //nolint:nilerr // it is no number that a respondent has
		}
	}
	people, err := call(ctx, func(ctx context.Context) ([]surveys.Respondent, error) {
		return r.store.ByPhone(ctx, number, candidates)
	})
	if err != nil {
		return surveys.Respondent{}, false, fmt.Errorf("find who sent a message: %w", err)
	}
	over := map[weir.ChannelID]bool{}
	for _, p := range people {
		over[p.Contact.Channel] = true
	}
	if err := r.names(ctx, over); err != nil {
		return surveys.Respondent{}, false, err
	}
	list := make([]surveys.Candidate, len(people))
	for i, p := range people {
		k, err := r.survey(ctx, p.Survey)
		if err != nil {
			return surveys.Respondent{}, false, err
		}
		list[i] = surveys.Candidate{Status: p.Status, Over: r.channels[p.Contact.Channel].Name, Contacted: p.Reached}
		if k != nil && k.survey.State != surveys.Draft {
			for _, m := range k.survey.Definition.Modes {
				list[i].Channels = append(list[i].Channels, m.Channel)
			}
		}
	}
	best := surveys.Addressee(r.channels[n.Channel].Name, list)
	if best < 0 {
		return surveys.Respondent{}, false, nil
	}
	return people[best], true, nil
}
