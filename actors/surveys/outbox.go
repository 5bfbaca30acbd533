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
		var page []surveys.OutboxEntry
		n := 0
		err := r.io.messages.exclusively(ctx, func() (err error) {
			if page, err = r.io.readOutbox(ctx, after); err == nil && len(page) > 0 {
				n, err = processPage(ctx, r, page)
			}
			return err
		})
		seen += len(page)
		if err != nil || len(page) == 0 {
			return seen, err
		}
		after = page[len(page)-1].ID
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
	if r.pass != nil {
		var err error
		if page, err = r.pass.ofPass(ctx, r, page); err != nil || len(page) == 0 {
			return 0, err
		}
	}
	groups, unmatched, err := groupBySurvey(ctx, r, page)
	if err != nil {
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
			err = readConversations(ctx, r, group, st)
		}
		if err != nil {
			return applied, err
		}
		var changes []surveys.Change
		more := false
		for _, e := range group.list {
			c, left := st.ApplyEntries(e.respondent, e.entries)
			if r.pass != nil {
				r.pass.note(group.survey, e, left)
			}
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

// groupBySurvey finds the respondents that the outbox entries concern.
func groupBySurvey(ctx context.Context, r *roundState, page []surveys.OutboxEntry) (groups map[int64]*surveyEntries, unmatched []int64, _ error) {
	var ids []surveys.RespondentID
	var from []senderKey
	var waiting map[string]bool
	if r.pass == nil {
		waiting = r.io.messages.waiting()
	}
	channels := map[weir.ChannelID]bool{}
	for _, n := range page {
		channels[n.Channel] = true
		r.seen, r.urgent = r.seen+1, r.urgent || n.Turn == 0
		if s := r.memory.states[n.Channel]; n.Kind == surveys.ContactAccepted && !usable(s.Health) && n.At.After(s.Since) {
			r.recheck = append(r.recheck, n.Channel) // it seems to work again
		}
		switch {
		case r.pass != nil: // it has found everybody
		case n.Kind == surveys.MessageReceived:
			if !waiting[lastDigits(n.Message.From)] {
				from = append(from, senderOf(&n))
			}
		default:
			ids = append(ids, surveys.RespondentID(n.Owner.ID))
		}
	}
	if err := r.loadChannels(ctx, channels); err != nil {
		return nil, nil, err
	}
	who, senders, err := r.readSubjects(ctx, ids, from)
	if err != nil {
		return nil, nil, err
	}
	groups = map[int64]*surveyEntries{}
	for _, n := range page {
		p, ok := who[r.pass.subject(&n)]
		ok = ok && (n.Kind == surveys.MessageReceived || p.Survey == n.Owner.Group)
		number := p.Phone
		if n.Kind == surveys.MessageReceived && r.pass == nil {
			p, ok = senders[senderOf(&n)]
			number = n.Message.From
		}
		if len(waiting) > 0 && waiting[lastDigits(number)] {
			continue // the pass requests a round at its end
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

// readSubjects returns whom the entries of a page are about: respondents with some ids, and those who sent messages. A
// pass has them already.
func (r *roundState) readSubjects(ctx context.Context, ids []surveys.RespondentID, from []senderKey) (who map[surveys.RespondentID]surveys.Respondent, senders map[senderKey]surveys.Respondent, _ error) {
	who = map[surveys.RespondentID]surveys.Respondent{}
	if r.pass != nil {
		for _, s := range r.pass.senders {
			who[s.who.ID] = s.who
		}
		return who, nil, nil
	}
	if len(ids) > 0 {
		some, err := lookup(ctx, r.io.Store.RespondentsByID, ids)
		if err != nil {
			return nil, nil, fmt.Errorf("read respondents: %w", err)
		}
		for _, p := range some {
			who[p.ID] = p
		}
	}
	senders, err := r.findSenders(ctx, from)
	return who, senders, err
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

// readConversations reads what the entries of a survey that asks questions need. It leaves the entries about a respondent
// for later who has answered a question of which cannot be read now when it was claimed.
func readConversations(ctx context.Context, r *roundState, group *surveyEntries, st *surveys.Stepper) error {
	if group.survey.plan.Questions == nil {
		return nil
	}
	var wrote, others []*surveys.Respondent
	for _, e := range group.list {
		if slices.ContainsFunc(e.entries, func(n surveys.OutboxEntry) bool { return n.Kind == surveys.MessageReceived }) {
			e.takeClaim(group.survey.plan)
			wrote = append(wrote, &e.respondent)
		} else {
			others = append(others, &e.respondent)
		}
	}
	unsure, err := r.io.readTalksAndClaims(ctx, group.survey, wrote)
	if err != nil {
		return err
	}
	if len(unsure) > 0 {
		group.list = slices.DeleteFunc(group.list, func(e *respondentEntries) bool { return unsure[e.respondent.ID] })
		r.wakeAt(r.now.Add(claimDelay))
	}
	if err := r.io.readTalks(ctx, group.survey, others); err != nil || len(wrote) == 0 {
		return err
	}
	return r.io.readBuckets(ctx, group.survey, st)
}

// takeClaim takes from the report of a contact when the present question was first claimed, so that the contact need not be
// read.
func (e *respondentEntries) takeClaim(plan *surveys.Plan) {
	r := &e.respondent
	for i := range e.entries {
		if n := &e.entries[i]; awaitsClaim(r) && n.Turn != 0 && n.Contact == r.Said && !n.Claimed.IsZero() {
			r.Progress = plan.Claimed(r.Progress, n.Turn, n.Claimed)
		}
	}
}
