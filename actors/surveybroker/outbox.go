package surveybroker

import (
	"context"
	"fmt"
	"strings"

	"weir"
	"weir/internal/phonenumber"
	"weir/surveys"
)

// processOutbox processes outbox entries, which report events of contacts and
// messages of respondents, up to outboxPages pages.
func (r *round) processOutbox(ctx context.Context) error {
	after, seen, before := int64(0), 0, r.applied
	defer func() { r.o.Metrics.outboxEntries.Set(float64(seen)) }()
	for range outboxPages {
		page, err := r.readOutbox(ctx, after)
		if err != nil || len(page) == 0 {
			return err
		}
		seen, r.hadEntries = seen+len(page), true
		after = page[len(page)-1].ID
		if err := r.processPage(ctx, page); err != nil {
			return err
		}
		if len(page) < outboxPage {
			return nil
		}
	}
	r.moreWork = r.moreWork || r.applied > before // otherwise the entries that fill the pages wait for something other than a round
	return nil
}

// readOutbox reads a page of outbox entries with a greater id.
func (r *round) readOutbox(ctx context.Context, after int64) ([]surveys.OutboxEntry, error) {
	page, err := call(ctx, func(ctx context.Context) ([]surveys.OutboxEntry, error) {
		return r.o.Store.OutboxEntries(ctx, after, outboxPage)
	})
	if err != nil {
		return nil, fmt.Errorf("read the outbox: %w", err)
	}
	return page, nil
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
func (r *round) processPage(ctx context.Context, page []surveys.OutboxEntry) error {
	groups, unmatched, err := r.groupBySurvey(ctx, page)
	if err != nil {
		return err
	}
	if len(unmatched) > 0 {
		r.applied += len(unmatched)
		if _, err := r.commitWork(ctx, surveys.Work{Taken: unmatched}); err != nil {
			return err
		}
	}
	for _, group := range groups {
		st, err := r.stepper(ctx, group.survey)
		if err != nil {
			return err
		}
		var changes []change
		more, stuck := false, r.cancelFailures
		for _, e := range group.list {
			c, left := st.applyEntries(e.respondent, e.entries)
			changes = append(changes, c)
			more = more || len(left) > 0
		}
		if err := r.write(ctx, group.survey, changes); err != nil {
			return err
		}
		r.moreWork = r.moreWork || more && r.cancelFailures == stuck
	}
	return nil
}

// groupBySurvey finds the respondents that the outbox entries concern.
func (r *round) groupBySurvey(ctx context.Context, page []surveys.OutboxEntry) (groups map[int64]*surveyEntries, unmatched []int64, _ error) {
	var ids []surveys.RespondentID
	channels := map[weir.ChannelID]bool{}
	for _, n := range page {
		channels[n.Channel] = true
		if s := r.memory.states[n.Channel]; n.Kind == surveys.ContactAccepted && !usable(s.Health) && n.At.After(s.Since) {
			r.recheck = append(r.recheck, n.Channel) // it seems to work again
		}
		if n.Kind != surveys.MessageReceived {
			ids = append(ids, surveys.RespondentID(n.Respondent.ID))
		}
	}
	if err := r.loadChannels(ctx, channels); err != nil {
		return nil, nil, err
	}
	who := map[surveys.RespondentID]surveys.Respondent{}
	if len(ids) > 0 {
		some, err := lookup(ctx, r.o.Store.RespondentsByID, ids)
		if err != nil {
			return nil, nil, fmt.Errorf("read respondents: %w", err)
		}
		for _, p := range some {
			who[p.ID] = p
		}
	}
	groups = map[int64]*surveyEntries{}
	for _, n := range page {
		p, ok := who[surveys.RespondentID(n.Respondent.ID)]
		ok = ok && p.Survey == n.Respondent.Survey
		if n.Kind == surveys.MessageReceived {
			var err error
			if p, ok, err = r.findSender(ctx, &n); err != nil {
				return nil, nil, err
			}
		}
		group, err := r.entriesFor(ctx, groups, p, ok)
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
func (r *round) entriesFor(ctx context.Context, groups map[int64]*surveyEntries, p surveys.Respondent, ok bool) (*surveyEntries, error) {
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

// findSender finds the respondent that sent a message.
func (r *round) findSender(ctx context.Context, n *surveys.OutboxEntry) (_ surveys.Respondent, ok bool, _ error) {
	number, err := phonenumber.Normalize(n.Message.From, "")
	if err != nil {
		if number, err = phonenumber.Normalize("+"+strings.TrimLeft(n.Message.From, "+"), ""); err != nil {
			return surveys.Respondent{}, false, nil //nolint:nilerr // it is no number that a respondent has
		}
	}
	people, err := call(ctx, func(ctx context.Context) ([]surveys.Respondent, error) {
		return r.o.Store.ByPhone(ctx, number, maxSamePhone)
	})
	if err != nil {
		return surveys.Respondent{}, false, fmt.Errorf("find the sender of a message: %w", err)
	}
	channels := map[weir.ChannelID]bool{}
	for _, p := range people {
		channels[p.Contact.Channel] = true
	}
	if err := r.loadChannels(ctx, channels); err != nil {
		return surveys.Respondent{}, false, err
	}
	list := make([]surveys.Candidate, len(people))
	for i, p := range people {
		sv, err := r.lookupSurvey(ctx, p.Survey)
		if err != nil {
			return surveys.Respondent{}, false, err
		}
		list[i] = surveys.Candidate{Status: p.Status, LastChannel: r.channels[p.Contact.Channel].Name, LastAccepted: p.Reached}
		if sv != nil && sv.survey.State != surveys.Draft {
			for _, m := range sv.survey.Definition.Modes {
				list[i].Channels = append(list[i].Channels, m.Channel)
			}
		}
	}
	best := surveys.FindSender(r.channels[n.Channel].Name, list)
	if best < 0 {
		return surveys.Respondent{}, false, nil
	}
	return people[best], true, nil
}

// Incoming applies a stop message at once, before it is acknowledged to the
// provider: after the acknowledgment the sender must not be contacted again.
// Other messages are left to the next round; a message whose outbox entry a
// round has processed needs nothing. Incoming may be called again.
func (s *System) Incoming(ctx context.Context, channel weir.ChannelID, m weir.Incoming) error {
	return retryStale(ctx, func() (bool, error) { return s.optOutNow(ctx, channel, m) })
}

// optOutNow tries once, like a round that begins now and processes only this
// message. again reports that another writer changed the respondent.
func (s *System) optOutNow(ctx context.Context, channel weir.ChannelID, m weir.Incoming) (again bool, _ error) {
	r := s.newRound(newMemory())
	if err := r.loadChannels(ctx, map[weir.ChannelID]bool{channel: true}); err != nil {
		return false, err
	}
	who, ok, err := r.findSender(ctx, &surveys.OutboxEntry{Kind: surveys.MessageReceived, Channel: channel, Message: m})
	if err != nil || !ok || who.Status.Final() {
		return false, err
	}
	sv, err := r.lookupSurvey(ctx, who.Survey)
	if err != nil || sv == nil || sv.plan == nil || !sv.plan.IsOptOut(m.Body) {
		return false, err
	}
	n, ok, err := r.findEntry(ctx, channel, m)
	if err != nil || !ok {
		return false, err
	}
	st, err := r.stepper(ctx, sv)
	if err != nil {
		return false, err
	}
	c, _ := st.applyEntries(who, []surveys.OutboxEntry{n})
	_, again, err = s.commitReport(ctx, sv, c)
	return again, err
}

// findEntry finds the outbox entry of a message; ok is false if it has been
// processed.
func (r *round) findEntry(ctx context.Context, channel weir.ChannelID, m weir.Incoming) (_ surveys.OutboxEntry, ok bool, _ error) {
	for after := int64(0); ; {
		page, err := r.readOutbox(ctx, after)
		if err != nil {
			return surveys.OutboxEntry{}, false, err
		}
		for _, n := range page {
			if n.Kind == surveys.MessageReceived && n.Channel == channel && n.Message.GUID == m.GUID && n.Message.Body == m.Body && n.Message.From == m.From {
				return n, true, nil
			}
		}
		if len(page) < outboxPage {
			return surveys.OutboxEntry{}, false, nil
		}
		after = page[len(page)-1].ID
	}
}
