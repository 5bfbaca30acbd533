package surveys

import (
	"context"
	"errors"
	"fmt"
	"time"

	"weir"
	"weir/surveys"
	"weir/surveys/questions"
)

// readTalks reads what conversations of questions need to go on: the answers of the respondents, and,
// if they have written or may be asked again, when their present questions were claimed. Without questions it does nothing.
func (a *access) readTalks(ctx context.Context, sv *surveyState, claims bool, list []*surveys.Respondent) error {
	if sv.plan.Questions == nil {
		return nil
	}
	var ids []surveys.RespondentID
	for _, r := range list {
		if r.Talk.Turn > 0 {
			ids = append(ids, r.ID)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	answers, err := call(ctx, func(ctx context.Context) (map[surveys.RespondentID]map[string]questions.Answer, error) {
		return a.Store.Answers(ctx, sv.survey.ID, ids)
	})
	if err != nil {
		return fmt.Errorf("read answers: %w", err)
	}
	for _, r := range list {
		if r.Answers = answers[r.ID]; r.Answers == nil {
			r.Answers = map[string]questions.Answer{} // they were read
		}
		if claims {
			if err := a.readClaim(ctx, sv.plan, r); err != nil {
				return err
			}
		}
	}
	return nil
}

// readBuckets reads how many respondents count in the buckets of a survey that asks questions.
func (a *access) readBuckets(ctx context.Context, sv *surveyState, st *surveys.Stepper) error {
	if sv.plan.Questions == nil || len(sv.plan.Quotas) == 0 {
		return nil
	}
	sums, err := lookup(ctx, a.Store.Counts, sv.survey.ID)
	if err != nil {
		return fmt.Errorf("read the counts of a survey: %w", err)
	}
	st.Buckets = sums.Tally(len(sv.plan.Quotas)).Buckets
	return nil
}

// errClaimUnknown says that the round or the request has to be repeated.
var errClaimUnknown = errors.New("when a question was sent cannot be read now")

// readClaim learns when the contact was first claimed that says the present question of a respondent, if that
// is not known yet: the answer to a question may be received before the provider's receipt of it.
func (a *access) readClaim(ctx context.Context, plan *surveys.Plan, r *surveys.Respondent) error {
	if r.Talk.Turn == 0 || r.Talk.Asked != 0 || r.Said == (weir.Ref{}) {
		return nil
	}
	c, ended, err := call2(ctx, func(ctx context.Context) (weir.Contact, []weir.Attempt, error) { return a.Store.Contact(ctx, r.Said) })
	first := firstClaim(&c, ended)
	switch {
	case weir.CodeOf(err) == weir.CodeNotFound: // long done, and deleted
		r.Progress = plan.Claimed(r.Progress, r.Talk.Turn, time.UnixMicro(1))
	case err != nil:
		return fmt.Errorf("read the contact of a question: %w", err)
	case !first.IsZero():
		r.Progress = plan.Claimed(r.Progress, surveys.TurnOf(&c), first)
	case c.State.InFlight(): // its claim is being committed, and can be read in a moment
		return errClaimUnknown
	case c.State == weir.Done: // it was never sent, and will not be; the next contact says the question first
		r.Said = weir.Ref{}
	default:
		r.Unsaid = true
	}
	return nil
}

// firstClaim returns when a contact was first claimed: from then on the person may have seen it, also if a
// process was killed before it learned that the provider took it, and the contact waits again.
func firstClaim(c *weir.Contact, ended []weir.Attempt) time.Time {
	first := c.ClaimedAt
	for i := range ended {
		if at := ended[i].ClaimedAt; !at.IsZero() && (first.IsZero() || at.Before(first)) {
			first = at
		}
	}
	return first
}

// pointers returns pointers to the elements of a list.
func pointers[T any](list []T) []*T {
	out := make([]*T, len(list))
	for i := range list {
		out[i] = &list[i]
	}
	return out
}
