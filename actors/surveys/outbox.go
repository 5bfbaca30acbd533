package surveys

import (
	"context"
	"fmt"
	"slices"

	"weir"
	"weir/surveys"
)

// outboxReader applies the outcomes of contacts to respondents, from the outbox.
type outboxReader struct {
	io         *access
	view       *view
	schedule   *schedule
	writer     *writer
	memory     *memory
	hadEntries bool // there were outbox entries
}

// process processes outbox entries, which report events of contacts and
// messages of respondents, up to outboxPages pages.
func (i *outboxReader) process(ctx context.Context) error {
	after, seen, before := int64(0), 0, i.writer.applied
	defer func() { i.io.Metrics.outboxEntries.Set(float64(seen)) }()
	for range outboxPages {
		page, err := i.io.readOutbox(ctx, after)
		if err != nil || len(page) == 0 {
			return err
		}
		seen, i.hadEntries = seen+len(page), true
		after = page[len(page)-1].ID
		if err := i.processPage(ctx, page); err != nil {
			return err
		}
		if len(page) < outboxPage {
			return nil
		}
	}
	i.schedule.moreWork = i.schedule.moreWork || i.writer.applied > before // otherwise the entries that fill the pages wait for something other than a round
	return nil
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
// respondent.
func (i *outboxReader) processPage(ctx context.Context, page []surveys.OutboxEntry) error {
	groups, unmatched, err := i.groupBySurvey(ctx, page)
	if err != nil {
		return err
	}
	if err := i.dropApplied(ctx, page, groups); err != nil {
		return err
	}
	if len(unmatched) > 0 {
		i.writer.applied += len(unmatched)
		if _, err := i.writer.commitWork(ctx, surveys.Work{Taken: unmatched}); err != nil {
			return err
		}
	}
	for _, group := range groups {
		st, err := i.view.stepper(ctx, group.survey)
		if err != nil {
			return err
		}
		if err := i.io.readConversations(ctx, group, st); err != nil {
			return err
		}
		var changes []surveys.Change
		more, stuck := false, i.writer.cancelFailures
		for _, e := range group.list {
			c, left := st.ApplyEntries(e.respondent, e.entries)
			changes = append(changes, c)
			more = more || len(left) > 0
		}
		if err := i.writer.write(ctx, group.survey, changes); err != nil {
			return err
		}
		i.schedule.moreWork = i.schedule.moreWork || more && i.writer.cancelFailures == stuck
	}
	return nil
}

// dropApplied drops the entries that [reports.Incoming] has applied since the page was read. The respondents
// were read later, so that their revisions do not show it.
func (i *outboxReader) dropApplied(ctx context.Context, page []surveys.OutboxEntry, groups map[int64]*surveyEntries) error {
	if !slices.ContainsFunc(page, func(n surveys.OutboxEntry) bool { return n.Kind == surveys.MessageReceived }) {
		return nil
	}
	now, err := i.io.readOutbox(ctx, page[0].ID-1)
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
func (i *outboxReader) groupBySurvey(ctx context.Context, page []surveys.OutboxEntry) (groups map[int64]*surveyEntries, unmatched []int64, _ error) {
	var ids []surveys.RespondentID
	channels := map[weir.ChannelID]bool{}
	for _, n := range page {
		channels[n.Channel] = true
		if s := i.memory.states[n.Channel]; n.Kind == surveys.ContactAccepted && !usable(s.Health) && n.At.After(s.Since) {
			i.schedule.recheck = append(i.schedule.recheck, n.Channel) // it seems to work again
		}
		if n.Kind != surveys.MessageReceived {
			ids = append(ids, surveys.RespondentID(n.Owner.ID))
		}
	}
	if err := i.view.loadChannels(ctx, channels); err != nil {
		return nil, nil, err
	}
	who := map[surveys.RespondentID]surveys.Respondent{}
	if len(ids) > 0 {
		some, err := lookup(ctx, i.io.Store.RespondentsByID, ids)
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
			if p, ok, err = i.view.findSender(ctx, &n); err != nil {
				return nil, nil, err
			}
		}
		if ok && i.io.atOnce.has(p.ID) {
			continue // a hint follows
		}
		group, err := i.entriesFor(ctx, groups, p, ok)
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
func (i *outboxReader) entriesFor(ctx context.Context, groups map[int64]*surveyEntries, p surveys.Respondent, ok bool) (*surveyEntries, error) {
	if !ok {
		return nil, nil
	}
	if group := groups[p.Survey]; group != nil {
		return group, nil
	}
	sv, err := i.view.lookupSurvey(ctx, p.Survey)
	if err != nil || sv == nil || sv.plan == nil {
		return nil, err
	}
	groups[p.Survey] = &surveyEntries{survey: sv, byID: map[surveys.RespondentID]*respondentEntries{}}
	return groups[p.Survey], nil
}
