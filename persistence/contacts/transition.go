package contacts

import (
	"cmp"
	"slices"
	"time"

	"weir"
	"weir/people"
	sqlcolumns "weir/persistence/columns"
	"weir/persistence/commit"
	"weir/persistence/dialect"
	"weir/persistence/multirow"
)

// Commit implements [weir.Committer]. done is called on the writer's
// goroutine and must not wait for anything.
func (s *Queue) Commit(c weir.Change, done func(weir.CommitResult)) {
	w := &change{s: s, Change: c}
	r := &commit.Request{
		Channels: []weir.ChannelID{c.By.Channel}, Transitions: c.Transitions, Work: w, Rows: len(c.Transitions),
		Answer: func(err error) { done(weir.CommitResult{Err: err, Stale: w.stale, Judged: w.verdicts()}) },
	}
	for i := range c.Transitions {
		p := &c.Transitions[i].Contact.Progress
		r.Bytes += 250 + len(p.ProviderRef) + len(p.Parts) + len(p.Reason)
	}
	if canWait(&c) {
		r.Until = time.Now().Add(maxDelay)
	}
	if err := s.Submit(r); err != nil {
		go done(weir.CommitResult{Err: err})
	}
}

// maxDelay is how long a change without a waiting caller may wait for others, with
// which it costs next to nothing. It is shorter than what follows it: a provider
// seldom reports in that time, and its report is one to go with.
const maxDelay = 5 * time.Millisecond

// canWait reports whether a change only records that providers have accepted
// contacts. A caller that waits for it all the same, because a provider reported the
// contact before it answered, waits a moment longer.
func canWait(c *weir.Change) bool {
	for i := range c.Transitions {
		if t := &c.Transitions[i]; t.Was != weir.Sending || t.Contact.State != weir.Active {
			return false
		}
	}
	return len(c.Transitions) > 0
}

// change is the work of [Queue.Commit].
type change struct {
	weir.Change
	s      *Queue
	stale  []weir.ContactID
	judged []weir.Transition // Transitions, as the gate leaves them; nil: unchanged
}

// claims reports whether a transition is a claim.
func (c *change) claims(i int) bool {
	t := &c.Transitions[i]
	return t.Was == weir.Queued && t.Contact.State == weir.Sending
}

// effective returns what is to be written: the transitions, with what becomes of the claims
// that the gate does not let pass.
func (c *change) effective() []weir.Transition {
	if c.judged == nil {
		return c.Transitions
	}
	kept := make([]weir.Transition, 0, len(c.judged))
	for i := range c.judged {
		if !c.held(i) {
			kept = append(kept, c.judged[i])
		}
	}
	return kept
}

// held reports whether a claim is undone because its channel has to wait.
func (c *change) held(i int) bool { return c.claims(i) && c.judged[i].Contact.State == weir.Queued }

// judge applies a verdict to a claim. The transitions themselves belong to the broker, and
// another try decides again.
func (c *change) judge(i int, now time.Time, v *people.Verdict) (err error) {
	if v.Receipt == (weir.Receipt{}) {
		return nil
	}
	if c.judged == nil {
		c.judged = slices.Clone(c.Transitions)
	}
	t := &c.judged[i]
	t.Contact.Progress, err = judged(t.Contact.Progress, now, v)
	if v.Channel {
		t.Contact.Rev, t.Contact.Reason, t.Contact.Receipt = t.From, v.Reason, weir.Receipt{Rule: v.Rule, Until: v.Due}
	}
	return err
}

// verdicts lists the contacts of claims that the gate had something to say about.
func (c *change) verdicts() (list []weir.Contact) {
	for i := range c.judged {
		t := &c.judged[i]
		if c.claims(i) && t.Contact.Receipt != (weir.Receipt{}) && !slices.Contains(c.stale, t.Contact.ID) {
			list = append(list, t.Contact)
		}
	}
	return list
}

// Write implements [commit.Work].
func (c *change) Write(t *commit.Tx, r *commit.Request) error {
	c.stale, c.judged = nil, nil
	if !t.IsCurrent(c.By) {
		r.Refuse(weir.ErrSuperseded)
		c.s.CountError("superseded")
		return nil
	}
	for i := range c.Transitions {
		if c.Transitions[i].Contact.Channel != c.By.Channel {
			r.Refuse(weir.Errorf(weir.CodeInternal, "a change of one channel names a contact of another"))
			return nil
		}
	}
	c.s.part.changes = append(c.s.part.changes, c)
	return nil
}

func (c *change) markStale(id weir.ContactID) {
	if !slices.Contains(c.stale, id) {
		c.stale = append(c.stale, id)
		c.s.CountError("stale")
	}
}

// step is one or more transitions of one contact in a batch: the first has the state
// and revision that they replace, the last the result.
type step struct {
	first, last *weir.Transition
	parts       []transition
}

// transition is one of a change.
type transition struct {
	*weir.Transition
	change *change
}

// ref returns the contact of a step.
func (s *step) ref() weir.Ref { return s.last.Contact.Ref }

// change writes the transitions of all changes at once. A contact that waits or is
// done has a row, which a transition deletes or replaces under its revision. One in
// flight has a record in the log, which the record or row of the next transition
// supersedes.
func (p *part) change(t *commit.Tx) error {
	steps, err := p.current(t, p.steps())
	if err != nil {
		return err
	}
	dead := func(t *commit.Tx, steps []step) error { return insertDeadLetters(&p.contacts.Dialect, t, steps) }
	for _, write := range []func(*commit.Tx, []step) error{
		leaveQueue, amend, enterQueue, p.logFlights, p.settle, p.finish, archive, dead, p.observe, p.remember,
	} {
		if err := write(t, steps); err != nil {
			return err
		}
	}
	if t.WritesContactEvents() {
		p.emitChanged(t, steps)
	}
	p.countChanged(steps)
	return nil
}

// observe passes the transitions on, those of one contact in order.
func (p *part) observe(t *commit.Tx, steps []step) error {
	return p.observer.Changed(t, func(yield func(*weir.Transition) bool) {
		for i := range steps {
			for _, tr := range steps[i].parts {
				if !yield(tr.Transition) {
					return
				}
			}
		}
	})
}

// remember tells the gate which claims are committed, and of which attempts certainly nothing
// went out.
func (p *part) remember(t *commit.Tx, steps []step) error {
	for i := range steps {
		for _, tr := range steps[i].parts {
			c := &tr.Contact
			if skipped(c) && tr.Was.Waiting() {
				p.gate.Skipped(c, t.Now)
			}
			switch {
			case tr.Was == weir.Queued && c.State == weir.Sending:
				p.gate.Claimed(t, c)
			case tr.Was.InFlight() && c.State.Waiting() && c.ClaimedAt.IsZero(): // an undone claim is no attempt
				p.gate.Returned(t, c, c.Attempt+1, p.before(&steps[i]))
			case tr.Ended != nil && tr.Ended.Outcome != "": // it may have gone out
			case tr.Was.InFlight() && c.State.Waiting(), neverOut(tr.Transition):
				p.gate.Returned(t, c, c.Attempt, p.before(&steps[i]))
			}
		}
	}
	return nil
}

// skipped reports whether a rule has ended or delayed a contact.
func skipped(c *weir.Contact) bool {
	return c.Receipt.Rule != "" && (c.State == weir.Delayed || c.State == weir.Done && c.Outcome == weir.Suppressed)
}

// neverOut reports whether a contact ended while it was being sent, without anything from the
// provider but, at most, its refusal.
func neverOut(t *weir.Transition) bool {
	c := &t.Contact
	return t.Was == weir.Sending && c.State == weir.Done && c.SentAt.IsZero() && c.HeardAt.IsZero() && c.Outcome != weir.Completed
}

// before returns the progress of a contact in flight that a step continues.
func (p *part) before(s *step) *weir.Progress {
	if fl, ok := p.contacts.flights.get(s.ref()); ok {
		return &fl.progress
	}
	return &s.first.Contact.Progress // claimed in this batch
}

// settle has the gate look at the contacts that end.
func (p *part) settle(t *commit.Tx, steps []step) error {
	for i := range steps {
		for _, tr := range steps[i].parts {
			if c := &tr.Contact; c.State == weir.Done && tr.Was.InFlight() {
				if kept := p.gate.Ended(t, tr.Transition, !neverOut(tr.Transition)); kept != c.Receipt {
					p.settled[c.Ref] = kept
				}
			}
		}
	}
	return nil
}

// steps merges the transitions of the changes.
func (p *part) steps() []step {
	var list []step
	at := map[weir.Ref]int{}
	for _, c := range p.changes {
		transitions := c.effective()
		for i := range transitions {
			tr := &transitions[i]
			k, known := at[tr.Contact.Ref]
			switch {
			case !known:
				at[tr.Contact.Ref] = len(list)
				list = append(list, step{first: tr, last: tr, parts: []transition{{tr, c}}})
			case list[k].last.Contact.Rev == tr.From:
				list[k].last = tr
				list[k].parts = append(list[k].parts, transition{tr, c})
			default: // within one change only; see [commit.Request.Transitions]
				c.markStale(tr.Contact.ID)
			}
		}
	}
	// One order for all, so that two writers do not wait for each other.
	slices.SortFunc(list, func(a, b step) int { return compareRefs(a.ref(), b.ref()) })
	return list
}

func compareRefs(a, b weir.Ref) int {
	return cmp.Or(cmp.Compare(a.Channel, b.Channel), cmp.Compare(a.ID, b.ID))
}

// current removes the steps that replace another revision than their contact has.
// Memory knows the revisions of what is in flight. Of other contacts they are read
// if an optimistic try has failed; otherwise the delete of the row is the guard.
func (p *part) current(t *commit.Tx, steps []step) ([]step, error) {
	var rows map[weir.Ref]int64
	if !t.Optimistic {
		var err error
		if rows, err = p.revisions(t, steps); err != nil {
			return nil, err
		}
	}
	good := steps[:0]
	for _, s := range steps {
		fl, known := p.contacts.flights.get(s.ref())
		rev, ok := fl.progress.Rev, known
		if !s.first.Was.InFlight() {
			rev, ok = s.first.From, !known
			if !t.Optimistic && ok {
				rev, ok = rows[s.ref()]
			}
		}
		if ok && rev == s.first.From {
			good = append(good, s)
			continue
		}
		for _, tr := range s.parts {
			tr.change.markStale(tr.Contact.ID)
		}
	}
	return good, nil
}

// revisions reads the revisions of contacts that wait or are done, under lock.
func (p *part) revisions(t *commit.Tx, steps []step) (map[weir.Ref]int64, error) {
	found := map[weir.Ref]int64{}
	for _, state := range []weir.State{weir.Queued, weir.Delayed, weir.Done} {
		var refs []weir.Ref
		for i := range steps {
			if steps[i].first.Was == state {
				refs = append(refs, steps[i].ref())
			}
		}
		for len(refs) > 0 {
			channel, args := refs[0].Channel, []any{int64(refs[0].Channel)}
			for len(refs) > 0 && refs[0].Channel == channel && len(args) <= sqlcolumns.KeysPerList {
				args = append(args, int64(refs[0].ID))
				refs = refs[1:]
			}
			var rows []struct {
				ID  int64 `db:"id"`
				Rev int64 `db:"rev"`
			}
			if err := t.SelectContext(t.Ctx, &rows, revisionsSQL(&p.contacts.Dialect, state, len(args)-1), args...); err != nil {
				return nil, err
			}
			for _, r := range rows {
				found[weir.Ref{Channel: channel, ID: weir.ContactID(r.ID)}] = r.Rev
			}
		}
	}
	return found, nil
}

func revisionsSQL(d *dialect.Statements, state weir.State, n int) string {
	switch state {
	case weir.Queued: // through contacts, which know their lane
		return "SELECT q.id, q.rev FROM contacts c JOIN contacts_queued q ON q.channel_id = c.channel_id AND q.lane = c.lane AND q.id = c.id " +
			"WHERE c.channel_id = ? AND c.id IN " + sqlcolumns.Marks(n) + d.ForUpdate
	case weir.Delayed:
		return "SELECT id, rev FROM contacts_delayed WHERE channel_id = ? AND id IN " + sqlcolumns.Marks(n) + d.ForUpdate
	default:
		return "SELECT id, rev FROM contacts_done WHERE channel_id = ? AND id IN " + sqlcolumns.Marks(n) + d.ForUpdate
	}
}

// leaveQueue deletes the rows of contacts that waited.
func leaveQueue(t *commit.Tx, steps []step) error {
	var queued, delayed, expiring []multirow.Key
	for i := range steps {
		tr := steps[i].first
		c := &tr.Contact
		switch tr.Was {
		case weir.Queued:
			queued = append(queued, multirow.Key{int64(c.Channel), int64(c.Lane()), tr.From, int64(c.ID)})
		case weir.Delayed:
			delayed = append(delayed, multirow.Key{int64(c.Channel), tr.From, 0, int64(c.ID)})
		default:
			continue
		}
		if !c.NotAfter.IsZero() {
			expiring = append(expiring, multirow.Key{int64(c.Channel), sqlcolumns.Micros(c.NotAfter), 0, int64(c.ID)})
		}
	}
	for _, d := range []struct {
		table   string
		columns []string
		keys    []multirow.Key
		guarded bool
	}{
		{"contacts_queued", []string{"channel_id", "lane", "rev"}, queued, true},
		{"contacts_delayed", []string{"channel_id", "rev"}, delayed, true},
		{"contacts_expiring", []string{"channel_id", "expire_at"}, expiring, false},
	} {
		if err := multirow.Delete(t, d.table, d.columns, d.keys, d.guarded); err != nil {
			return err
		}
	}
	return nil
}

// enterQueue inserts the rows of contacts that wait again.
func enterQueue(t *commit.Tx, steps []step) error {
	var list []*weir.Contact
	for i := range steps {
		if c := &steps[i].last.Contact; c.State.Waiting() {
			list = append(list, c)
		}
	}
	insertWaiting(t, list)
	return nil
}

// finish inserts the rows of contacts that ended.
func (p *part) finish(t *commit.Tx, steps []step) error {
	args := p.scratch[:0]
	n := 0
	for i := range steps {
		if c := &steps[i].last.Contact; c.State == weir.Done && steps[i].first.Was != weir.Done {
			args = append(args, int64(c.Channel), int64(c.ID))
			end := c.Progress
			if receipt, ok := p.settled[c.Ref]; ok {
				end.Receipt = receipt
			}
			args = appendEnd(args, &end)
			n++
		}
	}
	multirow.Insert(t, "contacts_done ("+doneColumns+")", sqlcolumns.Marks(doneWidth), args, n)
	p.keep(args)
	return nil
}

const (
	endColumns  = "finished_at, rev, outcome, reason, progress"
	doneColumns = "channel_id, id, " + endColumns
	doneWidth   = 7
)

// appendEnd appends the values of endColumns.
func appendEnd(args []any, p *weir.Progress) []any {
	return append(args, sqlcolumns.Micros(p.FinishedAt), p.Rev, string(p.Outcome), sqlcolumns.Clip(p.Reason), EncodeProgress(*p))
}

// amend corrects contacts that were done before. There are few.
func amend(t *commit.Tx, steps []step) error {
	for i := range steps {
		s := &steps[i]
		if s.first.Was != weir.Done {
			continue
		}
		args := appendEnd(nil, &s.last.Contact.Progress)
		args = append(args, int64(s.ref().Channel), int64(s.ref().ID), s.first.From)
		if err := t.Expect(1, amendSQL, args...); err != nil {
			return err
		}
	}
	return nil
}

const amendSQL = "UPDATE contacts_done SET finished_at = ?, rev = ?, outcome = ?, reason = ?, progress = ? WHERE channel_id = ? AND id = ? AND rev = ?"

func (p *part) countChanged(steps []step) {
	for i := range steps {
		was, is := steps[i].first.Was, steps[i].last.Contact.State
		d := p.counts[steps[i].ref().Channel]
		d.queued += sqlcolumns.Number(is.Waiting()) - sqlcolumns.Number(was.Waiting())
		d.inFlight += sqlcolumns.Number(is.InFlight()) - sqlcolumns.Number(was.InFlight())
		p.counts[steps[i].ref().Channel] = d
	}
}

// archive keeps the attempts that ended while their contacts continue.
func archive(t *commit.Tx, steps []step) error {
	const width, receiptWidth = 10, 4
	var args, receipts []any
	for _, s := range steps {
		for _, tr := range s.parts {
			a := tr.Ended
			if a == nil {
				continue
			}
			ref := tr.Contact.Ref
			args = append(args, int64(ref.Channel), int64(ref.ID), a.Number, sqlcolumns.Micros(a.ClaimedAt), sqlcolumns.Micros(a.SentAt),
				sqlcolumns.Micros(a.HeardAt), sqlcolumns.Micros(a.FinishedAt), sqlcolumns.Clip(a.ProviderRef), string(a.Outcome), sqlcolumns.Clip(a.Reason))
			if a.Receipt.Facts != "" {
				receipts = append(receipts, int64(ref.Channel), int64(ref.ID), a.Number, a.Receipt.Facts)
			}
		}
	}
	if len(args) == 0 {
		return nil
	}
	t.AddOnce("INSERT INTO attempts (channel_id, contact_id, number, claimed_at, sent_at, heard_at, finished_at, "+
		"provider_ref, outcome, reason) VALUES "+sqlcolumns.RowsOf(len(args)/width, width), args...)
	multirow.Insert(t, "attempt_receipts (channel_id, contact_id, number, facts)", sqlcolumns.Marks(receiptWidth), receipts, len(receipts)/receiptWidth)
	return nil
}
