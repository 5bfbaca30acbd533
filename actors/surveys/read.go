package surveys

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"weir"
	"weir/surveys"
	"weir/surveys/pacing"
	"weir/surveys/questions"
)

// call bounds one call of the store by ioTimeout.
func call[T any](ctx context.Context, do func(context.Context) (T, error)) (T, error) {
	ctx, cancel := context.WithTimeout(ctx, ioTimeout)
	defer cancel()
	return do(ctx)
}

// call2 is call for two results.
func call2[T, U any](ctx context.Context, do func(context.Context) (T, U, error)) (T, U, error) {
	ctx, cancel := context.WithTimeout(ctx, ioTimeout)
	defer cancel()
	return do(ctx)
}

// lookup is call for a method with one argument.
func lookup[A, T any](ctx context.Context, do func(context.Context, A) (T, error), arg A) (T, error) {
	return call(ctx, func(ctx context.Context) (T, error) { return do(ctx, arg) })
}

// channelStates returns the stored channel states. A channel that was never checked has
// none.
func (a *access) channelStates(ctx context.Context) (map[weir.ChannelID]surveys.ChannelState, error) {
	list, err := call(ctx, a.Store.ChannelStates)
	states := make(map[weir.ChannelID]surveys.ChannelState, len(list))
	for _, st := range list {
		states[st.Channel] = st
	}
	return states, err
}

// eachSurvey reads the surveys of the given states, page by page.
func (a *access) eachSurvey(ctx context.Context, states []surveys.State, do func(surveys.Survey)) error {
	for after := ""; ; {
		page, err := call(ctx, func(ctx context.Context) ([]surveys.Survey, error) {
			return a.Store.Surveys(ctx, states, after, surveyPage)
		})
		if err != nil {
			return fmt.Errorf("read the surveys: %w", err)
		}
		for i := range page {
			do(page[i])
		}
		if len(page) < surveyPage {
			return nil
		}
		after = page[len(page)-1].Name
	}
}

// readContact reads a contact.
func (a *access) readContact(ctx context.Context, ref weir.Ref) (weir.Contact, error) {
	c, _, err := call2(ctx, func(ctx context.Context) (weir.Contact, []weir.Attempt, error) { return a.Store.Contact(ctx, ref) })
	return c, err
}

// readContacts reads the latest contacts of the respondents of a page that which selects. It leaves out
// contacts that were deleted.
func (a *access) readContacts(ctx context.Context, page []surveys.Respondent, which func(*surveys.Respondent) bool) (map[weir.Ref]weir.Contact, error) {
	var refs []weir.Ref
	for i := range page {
		if which(&page[i]) {
			refs = append(refs, page[i].Contact)
		}
	}
	if len(refs) == 0 {
		return nil, nil
	}
	list, err := lookup(ctx, a.Store.ContactsByRef, refs)
	if err != nil {
		return nil, fmt.Errorf("read contacts: %w", err)
	}
	found := make(map[weir.Ref]weir.Contact, len(list))
	for _, c := range list {
		found[c.Ref] = c
	}
	return found, nil
}

// hasContact reports whether a respondent has a contact whose outcome is not known.
func hasContact(r *surveys.Respondent) bool { return r.Progress.Contact != surveys.Idle }

// loadMinute loads into minute what a survey began in the last minute.
func (a *access) loadMinute(ctx context.Context, survey int64, minute *pacing.MinuteLimit, now time.Time) error {
	counts, err := call(ctx, func(ctx context.Context) (map[time.Time]int, error) {
		return a.Store.EnqueuedSince(ctx, survey, now.Add(-time.Minute))
	})
	if err != nil {
		return fmt.Errorf("read recent starts: %w", err)
	}
	for _, at := range slices.SortedFunc(maps.Keys(counts), time.Time.Compare) {
		minute.Add(at, counts[at])
	}
	return nil
}

// readOutbox reads a page of outbox entries with a greater id.
func (a *access) readOutbox(ctx context.Context, after int64) ([]surveys.OutboxEntry, error) {
	page, err := call(ctx, func(ctx context.Context) ([]surveys.OutboxEntry, error) {
		return a.Store.OutboxEntries(ctx, after, outboxPage)
	})
	if err != nil {
		return nil, fmt.Errorf("read the outbox: %w", err)
	}
	return page, nil
}

// readDue reads a page of the respondents of a survey that are due, with what their next steps need: their
// conversations, and their contacts. next is when the first of the others is due.
func (a *access) readDue(ctx context.Context, sv *surveyState, now time.Time) (page []surveys.Respondent, contacts map[weir.Ref]weir.Contact, next time.Time, _ error) {
	page, next, err := call2(ctx, func(ctx context.Context) ([]surveys.Respondent, time.Time, error) {
		return a.Store.DueRespondents(ctx, sv.survey.ID, now, surveys.DuePage)
	})
	if err != nil {
		return nil, nil, next, fmt.Errorf("read due respondents: %w", err)
	}
	unsure, err := a.readTalksAndClaims(ctx, sv, pointers(page))
	if err != nil {
		return nil, nil, next, err
	}
	if len(unsure) > 0 {
		page = slices.DeleteFunc(page, func(r surveys.Respondent) bool { return unsure[r.ID] })
		next = earliest(next, now.Add(claimDelay))
	}
	contacts, err = a.readContacts(ctx, page, hasContact)
	return page, contacts, next, err
}

// readRejectable reads a page of the respondents in full buckets, which are not needed.
func (a *access) readRejectable(ctx context.Context, sv *surveyState, full []int) ([]surveys.Respondent, error) {
	page, err := call(ctx, func(ctx context.Context) ([]surveys.Respondent, error) {
		return a.Store.Rejectable(ctx, sv.survey.ID, full, openPage)
	})
	if err != nil {
		return nil, fmt.Errorf("read respondents to reject: %w", err)
	}
	return page, a.readTalks(ctx, sv, pointers(page))
}

// readStartable reads respondents that can be started.
func (a *access) readStartable(ctx context.Context, sv *surveyState, now time.Time, full []int, limit int) ([]surveys.Respondent, error) {
	page, err := call(ctx, func(ctx context.Context) ([]surveys.Respondent, error) {
		return a.Store.Startable(ctx, sv.survey.ID, now, full, limit)
	})
	if err != nil {
		return nil, fmt.Errorf("read startable respondents: %w", err)
	}
	return page, nil
}

// readTalks reads what conversations of questions need to go on: the answers of the respondents. Without questions it does
// nothing.
func (a *access) readTalks(ctx context.Context, sv *surveyState, list []*surveys.Respondent) error {
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
	}
	return nil
}

// readTalksAndClaims reads, also, when the present questions were claimed of respondents who have written or may be asked
// again. Those of whom that cannot be read now are unsure: nothing can be done about them before.
func (a *access) readTalksAndClaims(ctx context.Context, sv *surveyState, list []*surveys.Respondent) (unsure map[surveys.RespondentID]bool, _ error) {
	if err := a.readTalks(ctx, sv, list); err != nil || sv.plan.Questions == nil {
		return nil, err
	}
	return a.readClaims(ctx, sv.plan, list)
}

// readTalkAndClaim is readTalksAndClaims for one respondent. It fails with errClaimUnknown.
func (a *access) readTalkAndClaim(ctx context.Context, sv *surveyState, r *surveys.Respondent) error {
	unsure, err := a.readTalksAndClaims(ctx, sv, []*surveys.Respondent{r})
	if err == nil && unsure[r.ID] {
		err = errClaimUnknown
	}
	return err
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

// errClaimUnknown says that the request has to be repeated.
var errClaimUnknown = errors.New("when a question was sent cannot be read now")

// readClaims learns when the contacts were first claimed that say the present questions of respondents, as far as that
// is not known yet: the answer to a question may be received before the provider's receipt of it. It returns of whom that
// cannot be read now.
func (a *access) readClaims(ctx context.Context, plan *surveys.Plan, list []*surveys.Respondent) (unsure map[surveys.RespondentID]bool, _ error) {
	var refs []weir.Ref
	for _, r := range list {
		if awaitsClaim(r) {
			refs = append(refs, r.Said)
		}
	}
	if len(refs) == 0 {
		return nil, nil
	}
	said, err := lookup(ctx, a.Store.ContactsByRef, refs)
	if err != nil {
		return nil, fmt.Errorf("read the contacts of questions: %w", err)
	}
	unsure = map[surveys.RespondentID]bool{}
	found := make(map[weir.Ref]*weir.Contact, len(said))
	for i := range said {
		found[said[i].Ref] = &said[i]
	}
	for _, r := range list {
		if !awaitsClaim(r) {
			continue
		}
		err := a.takeClaim(ctx, plan, r, found[r.Said])
		if unsure[r.ID] = errors.Is(err, errClaimUnknown); err != nil && !unsure[r.ID] {
			return nil, err
		}
	}
	maps.DeleteFunc(unsure, func(_ surveys.RespondentID, is bool) bool { return !is })
	return unsure, nil
}

// awaitsClaim reports whether it is not known when the present question of a respondent was first claimed.
func awaitsClaim(r *surveys.Respondent) bool {
	return r.Talk.Turn != 0 && r.Talk.Asked == 0 && r.Said != (weir.Ref{})
}

// takeClaim takes from the contact of a question when it was first claimed; nil: it is long done, and deleted.
func (a *access) takeClaim(ctx context.Context, plan *surveys.Plan, r *surveys.Respondent, c *weir.Contact) error {
	if c == nil {
		r.Progress = plan.Claimed(r.Progress, r.Talk.Turn, time.UnixMicro(1))
		return nil
	}
	var ended []weir.Attempt
	if c.Attempt > 1 || c.Attempt == 1 && c.ClaimedAt.IsZero() { // an earlier one was the first
		var err error
		if _, ended, err = call2(ctx, func(ctx context.Context) (weir.Contact, []weir.Attempt, error) { return a.Store.Contact(ctx, r.Said) }); err != nil && weir.CodeOf(err) != weir.CodeNotFound {
			return fmt.Errorf("read the contact of a question: %w", err)
		}
	}
	switch first := firstClaim(c, ended); {
	case !first.IsZero():
		r.Progress = plan.Claimed(r.Progress, surveys.TurnOf(c), first)
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
