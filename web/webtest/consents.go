package webtest

import (
	"context"
	"maps"
	"sync"
	"time"

	"weir"
	consent "weir/people"
	"weir/surveys"
	"weir/web/api"
)

// consents keeps consents in memory, as the rules say.
type consents struct {
	mu   sync.Mutex
	List []consent.Consent
	Err  error

	StoredUndecided []consent.Undecided
	decided         map[int64]consent.Decision
	Before          []consent.Entry // contacts of everybody
	StoredPurposes  map[string]*consent.Purpose
	StoredLimits    map[string]*consent.Limit
	prices          map[string]*consent.Tariff
}

func (c *consents) Prices() map[string]*consent.Tariff {
	c.mu.Lock()
	defer c.mu.Unlock()
	return maps.Clone(c.prices)
}

func (c *consents) PutPrice(_ context.Context, channel string, p *consent.Price) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.prices == nil {
		c.prices = map[string]*consent.Tariff{}
	}
	c.prices[channel] = consent.NewTariff(p)
	return c.Err
}

func (c *consents) BudgetUse(string) (consent.BudgetUse, bool) { return consent.BudgetUse{}, false }

func (c *consents) SpentFor(context.Context, string, string) (consent.Money, error) { return 0, nil }

func (c *consents) DeletePrice(_ context.Context, channel string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.prices, channel)
	return c.Err
}

func (c *consents) Skipped(_ context.Context, f consent.SkippedFilter, _ int) ([]consent.Skipped, error) {
	return []consent.Skipped{{Channel: 1, Rule: consent.RuleConsent, Day: f.To, Suppressed: 3}}, c.Err
}

// Spending has two entries, whatever the days.
func (c *consents) Spending(_ context.Context, _, to int, after *consent.Spending, limit int) ([]consent.Spending, error) {
	all := []consent.Spending{
		{Channel: 1, Day: to, Currency: "USD", Amount: 1_500_000}, {Channel: 99, Survey: "flu", Day: to, Currency: "USD", Amount: 7500},
	}
	if after != nil {
		all = all[1:]
	}
	return all[:min(limit, len(all))], c.Err
}

func (c *consents) AllConsents(_ context.Context, after int64, limit int) ([]consent.Consent, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	var out []consent.Consent
	for _, one := range c.List {
		if one.ID > after && len(out) < limit {
			out = append(out, one)
		}
	}
	return out, c.Err
}

func (c *consents) Erase(_ context.Context, address string) (n int, _ error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i := range c.List {
		if c.List[i].Address == address {
			c.List[i].Address, c.List[i].Words, c.List[i].Key = "", "", ""
			n++
		}
	}
	return n, c.Err
}

func (c *consents) Limits() map[string]*consent.Limit {
	c.mu.Lock()
	defer c.mu.Unlock()
	return maps.Clone(c.StoredLimits)
}

func (c *consents) LimitUse() map[string]consent.LimitUse { return nil }

func (c *consents) PutLimit(_ context.Context, name string, l *consent.Limit) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.StoredLimits == nil {
		c.StoredLimits = map[string]*consent.Limit{}
	}
	c.StoredLimits[name] = l
	return c.Err
}

func (c *consents) DeleteLimit(_ context.Context, name string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.StoredLimits, name)
	return c.Err
}

func (c *consents) Purposes() map[string]*consent.Purpose {
	c.mu.Lock()
	defer c.mu.Unlock()
	return maps.Clone(c.StoredPurposes)
}

func (c *consents) PutPurpose(_ context.Context, name string, p *consent.Purpose) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.StoredPurposes == nil {
		c.StoredPurposes = map[string]*consent.Purpose{}
	}
	c.StoredPurposes[name] = p
	return c.Err
}

func (c *consents) DeletePurpose(_ context.Context, name string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.StoredPurposes, name)
	return c.Err
}

func (c *consents) RecordConsents(_ context.Context, list []consent.Consent) ([]consent.State, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.Err != nil {
		return nil, c.Err
	}
	var out []consent.State
	for _, one := range list {
		one.ID = int64(len(c.List) + 1)
		c.List = append(c.List, one)
		out = append(out, c.states(one.Address)...)
	}
	return out, nil
}

func (c *consents) Contacted(context.Context, string, time.Time) ([]consent.Entry, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.Before, c.Err
}

// Hear records what a message says. It is answered as the rules say, without a memory.
func (c *consents) Hear(ctx context.Context, m *consent.Message) ([]weir.Contact, error) {
	if one, ok := m.Consent(); ok {
		if _, err := c.RecordConsents(ctx, []consent.Consent{one}); err != nil {
			return nil, err
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if m.Said == consent.SaidMaybe {
		c.StoredUndecided = append(c.StoredUndecided, consent.Undecided{ID: int64(len(c.StoredUndecided) + 1), Address: m.From, Channel: m.Name, Text: m.Text, Found: m.Found, At: m.At})
	}
	if _, purpose, text := consent.AnswerTo(m, c.StoredPurposes); text != "" && c.Err == nil {
		return []weir.Contact{{Spec: weir.Spec{To: m.ReplyTo, Purpose: purpose, Messages: []string{text}}}}, nil
	}
	return nil, c.Err
}

func (c *consents) Undecided(_ context.Context, after int64, limit int) (list []consent.Undecided, _ error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, m := range c.StoredUndecided {
		if m.ID > after && len(list) < limit && c.decided[m.ID] == "" {
			list = append(list, m)
		}
	}
	return list, c.Err
}

func (c *consents) CountUndecided(ctx context.Context, limit int) (int, error) {
	list, err := c.Undecided(ctx, 0, limit)
	return len(list), err
}

func (c *consents) Decide(ctx context.Context, id int64, d consent.Decision, by string) (m consent.Undecided, is consent.State, _ error) {
	c.mu.Lock()
	if id > int64(len(c.StoredUndecided)) {
		c.mu.Unlock()
		return m, is, weir.Errorf(weir.CodeNotFound, "there is no such message")
	}
	m = c.StoredUndecided[id-1]
	if was := c.decided[id]; was != "" && was != d {
		c.mu.Unlock()
		return m, is, weir.Errorf(weir.CodeConflict, "it is decided already: %s", was)
	}
	if c.decided == nil {
		c.decided = map[int64]consent.Decision{}
	}
	c.decided[id] = d
	c.mu.Unlock()
	if d == consent.DecidedDismissed {
		return m, is, nil
	}
	states, err := c.RecordConsents(ctx, []consent.Consent{{Address: m.Address, Purpose: consent.AllPurposes, Status: consent.Refused, Source: consent.FromOperator, At: m.At, Words: m.Text, By: by}})
	if err != nil {
		return m, is, err
	}
	return m, states[0], nil
}

func (*consents) PurgeUndecided(context.Context, time.Time, int) (int, error) { return 0, nil }

func (c *consents) states(address string) []consent.State {
	var now consent.State
	known := false
	for i := range c.List {
		if c.List[i].Address == address {
			now, known = consent.Next(now, known, &c.List[i]), true
		}
	}
	if !known {
		return nil
	}
	return []consent.State{now}
}

func (c *consents) Consents(_ context.Context, address string, limit int) ([]consent.State, []consent.Consent, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	var list []consent.Consent
	for i := len(c.List) - 1; i >= 0 && len(list) < limit; i-- {
		if c.List[i].Address == address {
			list = append(list, c.List[i])
		}
	}
	return c.states(address), list, c.Err
}

// Someone fills a rig with contacts, messages, a respondent and a refusal of one person, and
// others of somebody else.
func Someone(r *Rig) {
	Into[api.ChannelView](r.T, r.Do("PUT", "/v1/channels/a", GoodTexts), 201)
	for i, to := range []string{PhoneCanary, "+15550001", PhoneCanary[1:], PhoneCanary} {
		c := weir.Contact{Ref: weir.Ref{Channel: 1, ID: weir.ContactID(10 * (i + 1))}, Spec: weir.Spec{To: to, Messages: []string{TextCanary}, Survey: "s"}, QueuedAt: Start(), Progress: weir.Progress{State: weir.Queued}}
		r.StoredContacts = append(r.StoredContacts, c)
	}
	r.StoredContacts[0].Progress = weir.Progress{State: weir.Done, Attempt: 2, Outcome: weir.Completed, FinishedAt: Start()}
	r.Ended[r.StoredContacts[0].Ref] = []weir.Attempt{{Number: 1, ClaimedAt: Start(), Reason: "busy"}}
	r.Incoming[1] = []weir.Incoming{{ID: 15, From: "sms://" + PhoneCanary[1:], Body: "si", ReceivedAt: Start()}, {ID: 16, From: "+15550001", Body: "no", ReceivedAt: Start()}, {ID: 35, From: PhoneCanary, Body: "STOP", ReceivedAt: Start()}}
	r.People.StoredSurveys = []surveys.Survey{{ID: 3, Name: "s"}}
	r.People.StoredRespondents = []surveys.Respondent{
		{Survey: 3, ID: 7, Phone: PhoneCanary, Added: Start(), Contact: r.StoredContacts[0].Ref, Progress: surveys.Progress{Status: surveys.Active, Disposition: surveys.Contacted, Totals: surveys.Totals{Received: 2}}},
		{Survey: 3, ID: 8, Phone: "+15550001", Added: Start()},
	}
}
