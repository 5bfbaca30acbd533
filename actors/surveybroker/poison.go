package surveybroker

import (
	"context"
	"errors"
	"slices"
	"time"

	"weir"
	"weir/surveys"
)

// refused tells whether the store found fault with what it was to write, rather
// than with itself: the same would fail again.
func refused(err error) bool {
	e, ok := errors.AsType[*weir.Error](err)
	return ok && (e.Code == weir.CodeInvalid || e.Code == weir.CodeInternal)
}

// isolate finds the changes that the store refuses, by halves. Their respondents
// stumble; the others' changes are made. If not even that can be written it is
// no respondent's fault.
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

// set sets a respondent aside whose change the store refused.
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

// rekey sets respondents aside whose contact's key somebody else's contact has;
// their next one has another.
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

// hungMost is how many contacts of a channel are waited for in vain, each for
// cancelTimeout, before the others of a round are left for later.
const hungMost = atOnce

// hang notes how taking back a contact of a channel went.
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

// hangs tells whether a channel takes nothing back.
func (r *round) hangs(channel weir.ChannelID) bool {
	r.hanging.Lock()
	defer r.hanging.Unlock()
	return r.hung[channel] >= hungMost
}
