package people

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"weir"
	"weir/channels"
	"weir/people"
	"weir/persistence/columns"
	"weir/persistence/commit"
	"weir/persistence/multirow"
)

// Gate judges claims, and writes when people were contacted. It is used on the writer's
// goroutine only.
type Gate struct {
	store   *Store
	refused bool // there may be refusals
	looked  bool // refused was read
	limits  limits
	names   dayNames
	// InFlight returns how many contacts of a channel are in flight, as they were committed
	// last.
	InFlight func(weir.ChannelID) int
	batch
}

// batch is what a batch adds.
type batch struct {
	changed  map[string]*stored        // purposes
	limited  map[string]*people.Limit  // limits; nil: deleted
	priced   map[string]*people.Tariff // prices; nil: deleted
	budgeted map[string]*budget        // budgets of surveys; nil: removed
	unpaid   map[string]people.Money   // the cheapest claim that a survey's budget has refused
	spent    map[spentKey]people.Money
	skipped  map[skipKey]skips
	claimed  map[weir.AttemptRef]entry
	returned map[weir.AttemptRef]string // the canonical address of each

	uncontacted []uncontacted
	optedOut    []people.Consent
}

// uncontacted is a person who counts no longer as contacted at an instant.
type uncontacted struct {
	channel string
	hash    people.Hash
	at      time.Time
}

// entry is a row of person_contacts.
type entry struct {
	hash    people.Hash
	at      int64
	purpose string
	text    int64
}

// Begin implements [commit.Part].
func (g *Gate) Begin() {
	g.batch = batch{}
	for _, l := range g.limits.list {
		l.usage.Begin()
	}
	for _, b := range g.limits.budgets {
		b.usage.Begin()
	}
}

// Committed implements [commit.Part].
func (g *Gate) Committed() {
	if len(g.changed) > 0 {
		g.store.purposes.Store(g.store.purposes.Load().with(g.changed))
	}
	g.pricesCommitted()
	g.limitsCommitted()
}

// Judge implements contacts.Gate. Without a rule and a refusal it costs nothing; otherwise
// one statement for consents, and one for earlier contacts if they matter.
func (g *Gate) Judge(t *commit.Tx, claims []*weir.Contact) ([]people.Verdict, error) {
	if !g.looked { // from then on this owner itself writes every refusal
		var there int64
		if err := t.Get(&there, "SELECT COUNT(*) FROM (SELECT 1 FROM consent_states LIMIT 1) AS some"); err != nil {
			return nil, err
		}
		g.looked, g.refused = true, g.refused || there > 0
	}
	now := g.now()
	shared, err := g.judgedBy(t)
	tariffs := g.tariffs()
	if err != nil || !g.refused && !now.ruled && len(shared.list)+len(shared.budgets) == 0 && len(tariffs) == 0 {
		return nil, err
	}
	if len(g.store.keys) == 0 {
		return nil, weir.Errorf(weir.CodeInternal, "the keys of people were not opened")
	}
	addresses, states, err := g.consentsOf(t, now, claims)
	if err != nil {
		return nil, err
	}
	earlier, err := g.earlier(t, now, claims, addresses)
	if err != nil {
		return nil, err
	}
	verdicts := make([]people.Verdict, len(claims))
	for i, c := range claims {
		name, purpose := now.of(c)
		claim := people.Claim{
			Name: name, Purpose: purpose, Channel: t.Channel(c.Channel).Name, Reply: c.Spec.Priority == weir.Reply, Confirms: c.Owner.Confirms(), Contact: c.Ref, Text: people.TextOf(c.Messages), States: states[addresses[i]],
		}
		if purpose.Ruled() {
			claim.Zones, claim.Before = g.store.zones.Of(c.TimeZone, addresses[i], purpose.Zone()), earlier[addresses[i]]
		}
		if tariff := tariffs[claim.Channel]; tariff != nil {
			claim.Cost, claim.Currency = tariff.Reserved(c, addresses[i]), tariff.Currency
		}
		verdicts[i] = people.Judge(&claim, t.Now)
		if verdicts[i].Rule == "" && len(shared.list)+len(shared.budgets) > 0 {
			if held := g.takeRoom(t, shared, c, &claim, g.store.keys[0].History(addresses[i])); held.Rule != "" {
				verdicts[i] = held
			}
		}
		if verdicts[i].Rule == "" && earlier != nil && !claim.Reply { // the next claim of the batch may be of the same person
			earlier[addresses[i]] = append(earlier[addresses[i]], people.Entry{At: t.Now, Purpose: name, Contact: c.Ref, Text: claim.Text})
		}
	}
	return verdicts, nil
}

// now returns the purposes as this batch leaves them.
func (g *Gate) now() *purposes {
	now := g.store.purposes.Load()
	if len(g.changed) > 0 {
		now = now.with(g.changed)
	}
	return now
}

// consentsOf returns the canonical addresses of claims, and the states of those to look at.
func (g *Gate) consentsOf(t *commit.Tx, now *purposes, claims []*weir.Contact) ([]string, map[string][]people.State, error) {
	addresses := make([]string, len(claims))
	owner := map[people.Hash]string{}
	var hashes []people.Hash
	for i, c := range claims {
		addresses[i] = people.Canonical(c.To)
		if _, purpose := now.of(c); !g.refused && purpose.Consent != people.IfRecorded {
			continue
		}
		for _, h := range g.store.hashes(addresses[i]) {
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

// earlier returns when the people of claims were contacted, by address; nil if that matters
// for none.
func (g *Gate) earlier(t *commit.Tx, now *purposes, claims []*weir.Contact, addresses []string) (map[string][]people.Entry, error) {
	owner := map[people.Hash]string{}
	var hashes []any
	for i, c := range claims {
		if _, purpose := now.of(c); !purpose.NeedsHistory() || c.Spec.Priority == weir.Reply {
			continue
		}
		for _, k := range g.store.keys {
			h := k.History(addresses[i])
			owner[h] = addresses[i]
			hashes = append(hashes, h[:])
		}
	}
	if len(hashes) == 0 {
		return nil, nil
	}
	return readEntries(t.Ctx, t, hashes, t.Now.Add(-now.window), owner)
}

// readEntries returns the entries of hashes since an instant, by the address of each hash.
func readEntries(ctx context.Context, from selecter, hashes []any, since time.Time, owner map[people.Hash]string) (map[string][]people.Entry, error) {
	out := map[string][]people.Entry{}
	for part := range slices.Chunk(hashes, columns.KeysPerList) {
		var rows []struct {
			Hash    []byte `db:"hash"`
			At      int64  `db:"claimed_at"`
			Channel int64  `db:"channel_id"`
			Contact int64  `db:"contact_id"`
			Purpose string `db:"purpose"`
			Text    int64  `db:"text"`
		}
		err := from.SelectContext(ctx, &rows, earlierSQL(len(part)), append(slices.Clone(part), columns.Micros(since))...)
		if err != nil {
			return nil, err
		}
		for i := range rows {
			r := &rows[i]
			if r.Purpose == "" { // a reply, which only limits count
				continue
			}
			address := owner[people.Hash(r.Hash)]
			out[address] = append(out[address], people.Entry{
				At: columns.Instant(r.At), Purpose: r.Purpose, Text: r.Text,
				Contact: weir.Ref{Channel: weir.ChannelID(r.Channel), ID: weir.ContactID(r.Contact)},
			})
		}
	}
	return out, nil
}

// Contacted implements [people.Store].
func (s *Store) Contacted(ctx context.Context, address string, now time.Time) ([]people.Entry, error) {
	owner := map[people.Hash]string{}
	var hashes []any
	for _, k := range s.keys {
		h := k.History(address)
		owner[h] = address
		hashes = append(hashes, h[:])
	}
	found, err := readEntries(ctx, s.Read, hashes, now.Add(-s.purposes.Load().window), owner)
	return found[address], s.Failure("read when a person was contacted", err)
}

// earlierSQL reads the entries of n hashes since an instant.
func earlierSQL(n int) string {
	return "SELECT hash, claimed_at, channel_id, contact_id, purpose, text FROM person_contacts WHERE hash IN " + columns.Marks(n) + " AND claimed_at > ?"
}

// Claimed implements contacts.Gate.
func (g *Gate) Claimed(t *commit.Tx, c *weir.Contact) {
	if cost, currency := people.Reserved(c.Receipt); currency != "" {
		g.spend(t, c, currency, cost, c.ClaimedAt)
	}
	now := g.now()
	name, purpose := now.of(c)
	ruled := c.Spec.Priority != weir.Reply && (purpose.NeedsHistory() || now.overAll)
	if !ruled && !g.limits.newPeople(t.Channel(c.Channel).Name) {
		return
	}
	if g.claimed == nil {
		g.claimed = map[weir.AttemptRef]entry{}
	}
	if c.Spec.Priority == weir.Reply {
		name = "" // no cap counts it
	}
	g.claimed[c.AttemptRef()] = entry{g.store.keys[0].History(people.Canonical(c.To)), columns.Micros(c.ClaimedAt), name, people.TextOf(c.Messages)}
}

// Returned implements contacts.Gate.
func (g *Gate) Returned(t *commit.Tx, c *weir.Contact, attempt int, before *weir.Progress) {
	if cost, currency := people.Reserved(before.Receipt); currency != "" {
		g.spend(t, c, currency, -cost, before.ClaimedAt)
	}
	counted := g.limits.newPeople(t.Channel(c.Channel).Name)
	if !g.now().history && !counted {
		return
	}
	ref := weir.AttemptRef{Ref: c.Ref, Number: attempt}
	if counted {
		hash := g.store.keys[0].History(people.Canonical(c.To))
		g.uncontacted = append(g.uncontacted, uncontacted{t.Channel(c.Channel).Name, hash, columns.Instant(columns.Micros(before.ClaimedAt))})
	}
	if _, here := g.claimed[ref]; here {
		delete(g.claimed, ref)
		return
	}
	if g.returned == nil {
		g.returned = map[weir.AttemptRef]string{}
	}
	g.returned[ref] = people.Canonical(c.To)
}

// Ended implements contacts.Gate. That the provider refused a contact because the person has
// opted out there is a refusal over its channel. What was reserved for the contact is
// replaced by what it has cost, unless nothing went out.
func (g *Gate) Ended(t *commit.Tx, end *weir.Transition, out bool) weir.Receipt {
	c := &end.Contact
	receipt := g.settle(t, end, out)
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

// Flush implements [commit.Part].
func (g *Gate) Flush(t *commit.Tx) error {
	if len(g.optedOut) > 0 && len(g.store.keys) > 0 {
		w := &record{s: g.store, list: g.optedOut}
		if err := w.write(t); err != nil {
			return err
		}
	}
	g.writeSpent(t)
	g.writeSkipped(t)
	for _, ref := range sorted(g.returned) {
		for _, k := range g.store.keys {
			h := k.History(g.returned[ref])
			t.Add("DELETE FROM person_contacts WHERE hash = ? AND channel_id = ? AND contact_id = ? AND number = ?", h[:], int64(ref.Channel), int64(ref.ID), ref.Number)
		}
	}
	const width = 7
	args := make([]any, 0, width*len(g.claimed))
	for _, ref := range sorted(g.claimed) {
		e := g.claimed[ref]
		args = append(args, e.hash[:], e.at, int64(ref.Channel), int64(ref.ID), ref.Number, e.purpose, e.text)
	}
	multirow.Insert(t, "person_contacts (hash, claimed_at, channel_id, contact_id, number, purpose, text)", columns.Marks(width), args, len(g.claimed))
	return nil
}

func sorted[T any](m map[weir.AttemptRef]T) []weir.AttemptRef {
	return slices.SortedFunc(maps.Keys(m), func(a, b weir.AttemptRef) int {
		return cmp.Or(cmp.Compare(a.Channel, b.Channel), cmp.Compare(a.ID, b.ID), cmp.Compare(a.Number, b.Number))
	})
}

// PurgeHistory deletes what no rule looks at any more of when people were contacted, at most
// limit entries, and returns how many.
func (s *Store) PurgeHistory(ctx context.Context, now time.Time, limit int) (int, error) {
	before := now.Add(-max(s.purposes.Load().window, minHistory))
	n, err := s.purge(ctx, oldestEntriesSQL, "DELETE FROM person_contacts WHERE claimed_at <= ?", before, limit)
	if err != nil || n > 0 {
		return n, s.Failure("purge when people were contacted", err)
	}
	n, err = s.purge(ctx, oldestAnswersSQL, "DELETE FROM person_answers WHERE answered_at <= ?", before, limit)
	return n, s.Failure("purge when people were answered", err)
}

const oldestEntriesSQL = "SELECT COALESCE(MAX(claimed_at), 0) FROM (SELECT claimed_at FROM person_contacts WHERE claimed_at < ? ORDER BY claimed_at LIMIT ?) AS part"

const oldestAnswersSQL = "SELECT COALESCE(MAX(answered_at), 0) FROM (SELECT answered_at FROM person_answers WHERE answered_at < ? ORDER BY answered_at LIMIT ?) AS part"

// minHistory is how long it is kept at least, so that a rule that is made longer finds it.
const minHistory = 31 * 24 * time.Hour
