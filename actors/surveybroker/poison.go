package surveybroker

import (
	"context"
	"errors"
	"slices"
	"time"

	"weir"
	"weir/surveys"
)

// refused reports whether the store rejected the content of a write rather than
// failed itself: a retry would fail again.
func refused(err error) bool {
	e, ok := errors.AsType[*weir.Error](err)
	return ok && (e.Code == weir.CodeInvalid || e.Code == weir.CodeInternal)
}

// isolate finds the changes that the store rejects, by bisection. Their
// respondents are delayed; the other changes are written. If even the delay
// cannot be written, the fault is not the respondent's, and isolate returns the
// error.
func (r *round) isolate(ctx context.Context, k *known, changes []change) (all surveys.Written, made []change, _ error) {
	if len(changes) == 1 {
		return r.set(ctx, k, changes[0])
	}
	half := len(changes) / 2
	for _, some := range [][]change{changes[:half], changes[half:]} {
		written, done, err := r.commit(ctx, k, some)
		if err != nil {
			return all, made, err
		}
		made = append(made, done...)
		all.Stale, all.Refused = append(all.Stale, written.Stale...), append(all.Refused, written.Refused...)
		all.Contacts = append(all.Contacts, written.Contacts...)
	}
	return all, made, nil
}

// set delays a respondent whose change the store rejected.
func (r *round) set(ctx context.Context, k *known, c change) (surveys.Written, []change, error) {
	d, err := r.desk(ctx, k)
	if err != nil {
		return surveys.Written{}, nil, err
	}
	r.logger.Error("the store refused a respondent's step; the respondent is set aside",
		"survey", k.survey.Name, "respondent", c.move.Was.ID.String())
	stumbles := d.stumble(c.move.Was)
	stumbles.move.Taken = c.move.Taken
	changes := r.takeBack(ctx, []change{stumbles})
	if len(changes) == 0 {
		return surveys.Written{}, nil, nil
	}
	written, err := r.work(ctx, workOf(k, changes))
	return written, changes, err
}

// rekey delays respondents whose contact's key belongs to another contact;
// their next contact has another key.
func (r *round) rekey(ctx context.Context, k *known, changes []change, who []surveys.RespondentID) error {
	if len(who) == 0 {
		return nil
	}
	d, err := r.desk(ctx, k)
	if err != nil {
		return err
	}
	var out []change
	for _, c := range changes {
		if !slices.Contains(who, c.move.Was.ID) {
			continue
		}
		next := d.stumble(c.move.Was)
		next.move.Is.Serial = max(next.move.Is.Serial, c.move.Is.Serial)
		out = append(out, next)
	}
	r.logger.Warn("contacts with the keys of respondents' contacts are somebody else's", "survey", k.survey.Name, "respondents", len(out))
	return r.write(ctx, k, out)
}

// hungMost is the max number of a channel's cancellations that time out, each
// after cancelTimeout, before the others of a round are left for later.
const hungMost = atOnce

// hang records the result of canceling a contact of a channel.
func (r *round) hang(channel weir.ChannelID, took time.Duration, ok bool) {
	r.hanging.Lock()
	defer r.hanging.Unlock()
	switch {
	case ok:
		delete(r.hung, channel)
	case took >= cancelTimeout:
		r.hung[channel]++
	}
}

// hangs reports whether too many of a channel's cancellations have timed out.
func (r *round) hangs(channel weir.ChannelID) bool {
	r.hanging.Lock()
	defer r.hanging.Unlock()
	return r.hung[channel] >= hungMost
}
