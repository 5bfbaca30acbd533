package people

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"weir"
	"weir/channels"
	"weir/people"
	"weir/persistence/columns"
	"weir/persistence/commit"
	"weir/persistence/limits"
	"weir/persistence/multirow"
)

// Gate judges claims, and writes when people were contacted. It is used on the writer's
// goroutine only.
type Gate struct {
	*keyring
	consents *consentStore
	purposes *purposeStore
	limits   *limits.Gate
	skips    *skipStore
	zones    people.Zones
	before   histories
	// contacted is whom the history may have.
	contacted *known
	openings  people.Openings
	batch
}

// batch is what a batch adds.
type batch struct {
	claimed  map[weir.AttemptRef]entry
	returned map[weir.AttemptRef]returned

	optedOut []people.Consent
}

// entry is a row of person_contacts, or of person_replies.
type entry struct {
	hash    people.Hash
	at      int64
	purpose string // empty: it is a reply
	text    int64
}

// returned is an entry that counts no longer.
type returned struct {
	address string // canonical
	at      int64
	reply   bool
}

// Begin implements [commit.Part].
func (g *Gate) Begin() {
	g.batch = batch{}
	g.purposes.begin()
	g.limits.Begin()
	g.skips.begin()
}

// Committed implements [commit.Part].
func (g *Gate) Committed() {
	g.purposes.committed()
	g.limits.Committed()
}

// Judge implements contacts.Gate. A claim is judged by the instant of its batch, not by its own:
// after an outage of the database that may be hours later, and at night. Without a rule and a refusal it costs nothing; otherwise
// one statement for consents, and one for earlier contacts if they matter; more only for people with many.
func (g *Gate) Judge(t *commit.Tx, claims []*weir.Contact) ([]people.Verdict, error) {
	if err := g.consents.findRefusals(t); err != nil {
		return nil, err
	}
	now := g.purposes.now()
	bounds, err := g.limits.Bounds(t)
	if err != nil || !g.consents.refused && !now.ruled && bounds.None() {
		return nil, err
	}
	if err := g.opened(); err != nil {
		return nil, err
	}
	addresses, states, err := g.consentsOf(t, now, claims)
	if err != nil {
		return nil, err
	}
	earlier, unread, err := g.earlier(t, now, claims, addresses)
	if err != nil {
		return nil, err
	}
	verdicts := make([]people.Verdict, len(claims))
	for i, c := range claims {
		name, purpose := now.of(c)
		claim := people.Claim{
			Name: name, Purpose: purpose, Channel: t.Channel(c.Channel).Name, Reply: c.Spec.Priority == weir.Reply, Confirms: c.Owner.Confirms(), Contact: c.Ref, Text: people.TextOf(c.Messages), States: states[addresses[i]], Openings: &g.openings,
		}
		if unread[addresses[i]] && purpose.NeedsHistory() && !claim.Reply {
			verdicts[i] = people.Verdict{Receipt: weir.Receipt{Rule: string(people.RuleCap)}, Reason: tooMany, Due: t.Now.Add(nextBatch), Channel: true}
			continue
		}
		if purpose.Ruled() {
			claim.Zones, claim.Before = g.zones.Of(c.TimeZone, addresses[i], purpose.Zone()), earlier[addresses[i]]
		}
		if tariff := bounds.Tariff(claim.Channel); tariff != nil {
			claim.Cost, claim.Currency = tariff.Reserved(c, addresses[i]), tariff.Currency
		}
		verdicts[i] = people.Judge(&claim, t.Now)
		if verdicts[i].Rule == "" {
			person := func() [16]byte { return g.keys[0].History(addresses[i]) }
			if d := bounds.Take(t, c, claim.Cost, claim.Currency, person); d.Rule != "" {
				verdicts[i] = people.Verdict{Receipt: weir.Receipt{Rule: d.Rule}, Reason: d.Reason, Due: d.Until, Channel: d.Channel}
			}
		}
		if verdicts[i].Rule == "" && earlier != nil && !claim.Reply { // the next claim of the batch may be of the same person
			earlier[addresses[i]] = append(earlier[addresses[i]], people.Entry{At: t.Now, Purpose: name, Contact: c.Ref, Text: claim.Text})
		}
	}
	return verdicts, nil
}

// A claim whose earlier contacts are too many to be read with those of the batch is undone, and comes with a later one.
const (
	tooMany   = "the earlier contacts of so many people are not read at once; it goes on in a moment"
	nextBatch = 50 * time.Millisecond
)

// consentsOf returns the canonical addresses of claims, and the states of those to look at.
func (g *Gate) consentsOf(t *commit.Tx, now *purposes, claims []*weir.Contact) ([]string, map[string][]people.State, error) {
	addresses := make([]string, len(claims))
	owner := map[people.Hash]string{}
	var hashes []people.Hash
	for i, c := range claims {
		addresses[i] = people.Canonical(c.To)
		if _, purpose := now.of(c); !g.consents.refused && purpose.Consent != people.IfRecorded {
			continue
		}
		for _, h := range g.consents.said.of(g.hashes(addresses[i])) {
			owner[h] = addresses[i]
			hashes = append(hashes, h)
		}
	}
	rows, err := readStates(t.Ctx, t, hashes)
	if err != nil {
		return nil, nil, err
	}
	states := map[string][]people.State{}
	for i := range rows {
		address := owner[people.Hash(rows[i].Hash)]
		states[address] = append(states[address], rows[i].state())
	}
	return addresses, states, nil
}

// earlier returns when the people of claims were contacted, as far as it decides, by address;
// nil if that matters for none. Of those in unread it is not known.
func (g *Gate) earlier(t *commit.Tx, now *purposes, claims []*weir.Contact, addresses []string) (entries map[string][]people.Entry, unread map[string]bool, err error) {
	owner, want, matters := map[people.Hash]string{}, wanted{}, false
	for i, c := range claims {
		name, purpose := now.of(c)
		if !purpose.NeedsHistory() || c.Spec.Priority == weir.Reply {
			continue
		}
		matters = true
		for _, k := range g.keys {
			h := k.History(addresses[i])
			if !g.contacted.may(h) {
				continue
			}
			owner[h] = addresses[i]
			want.add(h, name, purpose.Needs(), people.TextOf(c.Messages), c.Ref)
		}
	}
	if !matters {
		return nil, nil, nil
	}
	return g.before.read(t.Ctx, t, want, t.Now.Add(-now.window), owner)
}

// Claimed implements contacts.Gate.
func (g *Gate) Claimed(t *commit.Tx, c *weir.Contact) {
	if cost, currency := people.Reserved(c.Receipt); currency != "" {
		g.limits.Spend(t, c, currency, cost, c.ClaimedAt)
	}
	now := g.purposes.now()
	name, purpose := now.of(c)
	ruled := c.Spec.Priority != weir.Reply && (purpose.NeedsHistory() || now.kept)
	if len(g.keys) == 0 || !ruled && !g.limits.CountsPeople(t.Channel(c.Channel).Name) {
		return
	}
	if g.claimed == nil {
		g.claimed = map[weir.AttemptRef]entry{}
	}
	text := people.TextOf(c.Messages)
	if c.Spec.Priority == weir.Reply {
		name, text = "", 0 // no rule counts it
	}
	g.claimed[c.AttemptRef()] = entry{g.keys[0].History(people.Canonical(c.To)), columns.Micros(c.ClaimedAt), name, text}
}

// Returned implements contacts.Gate.
func (g *Gate) Returned(t *commit.Tx, c *weir.Contact, attempt int, before *weir.Progress) {
	if cost, currency := people.Reserved(before.Receipt); currency != "" {
		g.limits.Spend(t, c, currency, -cost, before.ClaimedAt)
	}
	ref := weir.AttemptRef{Ref: c.Ref, Number: attempt}
	if g.limits.CountsPeople(t.Channel(c.Channel).Name) {
		hash := g.keys[0].History(people.Canonical(c.To))
		g.limits.Undo(t.Channel(c.Channel).Name, hash, columns.Instant(columns.Micros(before.ClaimedAt)))
	}
	if _, here := g.claimed[ref]; here {
		delete(g.claimed, ref)
		return
	}
	if g.returned == nil {
		g.returned = map[weir.AttemptRef]returned{}
	}
	g.returned[ref] = returned{people.Canonical(c.To), columns.Micros(before.ClaimedAt), c.Spec.Priority == weir.Reply}
}

// Ended implements contacts.Gate. That the provider refused a contact because the person has
// opted out there is a refusal over its channel. What was reserved for the contact is
// replaced by what it has cost, unless nothing went out.
func (g *Gate) Ended(t *commit.Tx, end *weir.Transition, out bool) weir.Receipt {
	c := &end.Contact
	receipt := g.limits.Settle(t, end, out)
	if c.Reason != channels.OptedOut || c.Outcome != weir.Failed {
		return receipt
	}
	name := t.Channel(c.Channel).Name
	g.optedOut = append(g.optedOut, people.Consent{
		ID: t.NextID(), Key: "attempt:" + c.AttemptRef().String(), Address: people.Canonical(c.To), Purpose: people.OverChannel(name), Status: people.Refused, Source: people.FromProvider,
		At: columns.Instant(columns.Micros(c.FinishedAt)), By: name,
	})
	return receipt
}

// Skipped implements contacts.Gate.
func (g *Gate) Skipped(c *weir.Contact, at time.Time) { g.skips.count(c, at) }

// Flush implements [commit.Part].
func (g *Gate) Flush(t *commit.Tx) error {
	if len(g.optedOut) > 0 && len(g.keys) > 0 {
		w := &record{s: g.consents, list: g.optedOut}
		if err := w.write(t, t.Now); err != nil {
			return err
		}
	}
	g.limits.Flush(t)
	g.skips.write(t)
	for _, ref := range sorted(g.returned) { // by the whole key: the person may have any number of entries
		r := g.returned[ref]
		if r.reply {
			t.Add(removeReplySQL, r.at, int64(ref.Channel), int64(ref.ID), ref.Number)
			continue
		}
		for _, k := range g.keys {
			h := k.History(r.address)
			t.Add(removeContactSQL, h[:], r.at, int64(ref.Channel), int64(ref.ID), ref.Number)
		}
	}
	var contacts, replies []any
	for _, ref := range sorted(g.claimed) {
		e := g.claimed[ref]
		row := []any{e.hash[:], e.at, int64(ref.Channel), int64(ref.ID), ref.Number}
		if e.purpose == "" {
			replies = append(replies, row...)
		} else {
			g.contacted.add(e.hash)
			contacts = append(append(contacts, row...), e.purpose, e.text)
		}
	}
	const key = " (hash, claimed_at, channel_id, contact_id, number"
	multirow.Insert(t, contactsTable+key+", purpose, text)", columns.Marks(7), contacts, len(contacts)/7)
	multirow.Insert(t, repliesTable+key+")", columns.Marks(5), replies, len(replies)/5)
	return nil
}

const (
	removeContactSQL = "DELETE FROM person_contacts WHERE hash = ? AND claimed_at = ? AND channel_id = ? AND contact_id = ? AND number = ?"
	removeReplySQL   = "DELETE FROM person_replies WHERE claimed_at = ? AND channel_id = ? AND contact_id = ? AND number = ?"
)

func sorted[T any](m map[weir.AttemptRef]T) []weir.AttemptRef {
	return slices.SortedFunc(maps.Keys(m), func(a, b weir.AttemptRef) int {
		return cmp.Or(cmp.Compare(a.Channel, b.Channel), cmp.Compare(a.ID, b.ID), cmp.Compare(a.Number, b.Number))
	})
}
