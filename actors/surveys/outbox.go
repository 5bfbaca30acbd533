package surveys

import (
	"context"
	"fmt"
	"slices"

	"weir"
	"weir/surveys"
)

// processOutbox applies what outbox entries report, events of contacts and messages of
// respondents, to the respondents: up to outboxPages pages. seen is how many entries there were.
func processOutbox(ctx context.Context, r *roundState) (seen int, _ error) {
	after, applied := int64(0), 0
	defer func() { r.io.Metrics.outboxEntries.Set(float64(seen)) }()
	for range outboxPages {
		page, err := r.io.readOutbox(ctx, after)
		if err != nil || len(page) == 0 {
			return seen, err
		}
		seen += len(page)
		after = page[len(page)-1].ID
		n, err := processPage(ctx, r, page)
		if err != nil {
			return seen, err
		}
		if applied += n; len(page) < outboxPage {
			return seen, nil
		}
	}
	r.continueIf(applied > 0) // otherwise the entries that fill the pages wait for something other than a round
	return seen, nil
}

// surveyEntries holds a page's outbox entries for one survey, by respondent, in
// order.
type surveyEntries struct {
	survey *surveyState
	list   []*respondentEntries
	byID   map[surveys.RespondentID]*respondentEntries
}

type respondentEntries struct {
	respondent surveys.Respondent
	entries    []surveys.OutboxEntry
}

func (g *surveyEntries) add(r surveys.Respondent, n surveys.OutboxEntry) {
	e := g.byID[r.ID]
	if e == nil {
		e = &respondentEntries{respondent: r}
		g.byID[r.ID] = e
		g.list = append(g.list, e)
	}
	e.entries = append(e.entries, n)
}

// processPage processes a page of outbox entries. It deletes entries that concern no
// respondent. applied is the number of moves that it made, and of the entries that it deleted.
func processPage(ctx context.Context, r *roundState, page []surveys.OutboxEntry) (applied int, _ error) {
	groups, unmatched, err := groupBySurvey(ctx, r, page)
	if err != nil {
		return 0, err
	}
	if err := dropApplied(ctx, r.io, page, groups); err != nil {
		return 0, err
	}
	if len(unmatched) > 0 {
		applied += len(unmatched)
		if _, err := r.io.commitWork(ctx, surveys.Work{Taken: unmatched}); err != nil {
			return applied, err
		}
	}
	for _, group := range groups {
		st, err := r.stepper(ctx, group.survey)
		if err == nil {
			err = readConversations(ctx, r.io, group, st)
		}
		if err != nil {
			return applied, err
		}
		var changes []surveys.Change
		more := false
		for _, e := range group.list {
			c, left := st.ApplyEntries(e.respondent, e.entries)
			changes = append(changes, c)
			more = more || len(left) > 0
		}
		done, err := writeChanges(ctx, r, group.survey, st, changes)
		if applied += done.applied; err != nil {
			return applied, err
		}
		r.continueIf(more && done.uncanceled == 0)
	}
	return applied, nil
}

// dropApplied drops the entries that [reports.Incoming] has applied since the page was read. The respondents
// were read later, so that their revisions do not show it.
func dropApplied(ctx context.Context, io *access, page []surveys.OutboxEntry, groups map[int64]*surveyEntries) error {
	if !slices.ContainsFunc(page, func(n surveys.OutboxEntry) bool { return n.Kind == surveys.MessageReceived }) {
		return nil
	}
	now, err := io.readOutbox(ctx, page[0].ID-1)
	if err != nil {
		return err
	}
	left := map[int64]bool{}
	for _, n := range now {
		left[n.ID] = true
	}
	for _, group := range groups {
		for _, e := range group.list {
			e.entries = slices.DeleteFunc(e.entries, func(n surveys.OutboxEntry) bool { return !left[n.ID] })
		}
		group.list = slices.DeleteFunc(group.list, func(e *respondentEntries) bool { return len(e.entries) == 0 })
	}
	return nil
}

// groupBySurvey finds the respondents that the outbox entries concern.
func groupBySurvey(ctx context.Context, r *roundState, page []surveys.OutboxEntry) (groups map[int64]*surveyEntries, unmatched []int64, _ error) {
	var ids []surveys.RespondentID
	channels := map[weir.ChannelID]bool{}
	for _, n := range page {
		channels[n.Channel] = true
		if s := r.memory.states[n.Channel]; n.Kind == surveys.ContactAccepted && !usable(s.Health) && n.At.After(s.Since) {
			r.recheck = append(r.recheck, n.Channel) // it seems to work again
		}
		if n.Kind != surveys.MessageReceived {
			ids = append(ids, surveys.RespondentID(n.Owner.ID))
		}
	}
	if err := r.loadChannels(ctx, channels); err != nil {
		return nil, nil, err
	}
	who := map[surveys.RespondentID]surveys.Respondent{}
	if len(ids) > 0 {
		some, err := lookup(ctx, r.io.Store.RespondentsByID, ids)
		if err != nil {
			return nil, nil, fmt.Errorf("read respondents: %w", err)
		}
		for _, p := range some {
			who[p.ID] = p
		}
	}
	groups = map[int64]*surveyEntries{}
	for _, n := range page {
		p, ok := who[surveys.RespondentID(n.Owner.ID)]
		ok = ok && p.Survey == n.Owner.Group
		if n.Kind == surveys.MessageReceived {
			var err error
			if p, ok, err = r.findSender(ctx, &n); err != nil {
				return nil, nil, err
			}
		}
		if ok && r.io.atOnce.has(p.ID) {
			continue // a hint follows
		}
		group, err := entriesFor(ctx, r, groups, p, ok)
		if err != nil {
			return nil, nil, err
		}
		if group == nil {
			unmatched = append(unmatched, n.ID)
			continue
		}
		group.add(p, n)
	}
	return groups, unmatched, nil
}

// entriesFor returns the group of a respondent's survey; nil if there is no respondent.
// The entries of a survey that cannot be run are dropped, too: when it can be
// run again, its respondents' contacts are read.
func entriesFor(ctx context.Context, r *roundState, groups map[int64]*surveyEntries, p surveys.Respondent, ok bool) (*surveyEntries, error) {
	if !ok {
		return nil, nil
	}
	if group := groups[p.Survey]; group != nil {
		return group, nil
	}
	sv, err := r.lookupSurvey(ctx, p.Survey)
	if err != nil || sv == nil || sv.plan == nil {
		return nil, err
	}
	groups[p.Survey] = &surveyEntries{survey: sv, byID: map[surveys.RespondentID]*respondentEntries{}}
	return groups[p.Survey], nil
}

// readConversations reads what the entries of a survey that asks questions need.
func readConversations(ctx context.Context, io *access, group *surveyEntries, st *surveys.Stepper) error {
	if group.survey.plan.Questions == nil {
		return nil
	}
	var wrote, others []*surveys.Respondent
	for _, e := range group.list {
		if slices.ContainsFunc(e.entries, func(n surveys.OutboxEntry) bool { return n.Kind == surveys.MessageReceived }) {
			wrote = append(wrote, &e.respondent)
		} else {
			others = append(others, &e.respondent)
		}
	}
	if err := io.readTalks(ctx, group.survey, true, wrote); err != nil {
		return err
	}
	if err := io.readTalks(ctx, group.survey, false, others); err != nil || len(wrote) == 0 {
		return err
	}
	return io.readBuckets(ctx, group.survey, st)
}
