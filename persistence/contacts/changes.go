package contacts

import (
	"slices"
	"time"

	"weir"
	"weir/people"
	"weir/persistence/commit"
)

// changes are those of a batch.
type changes struct {
	db   *commit.DB
	list []*change
}

// change is the work of [Queue.Commit].
type change struct {
	weir.Change
	batch  *changes
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

// judgedClaims returns the contacts whose claims the gate changed.
func (c *change) judgedClaims() (list []weir.Contact) {
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
		c.batch.db.CountError("superseded")
		return nil
	}
	for i := range c.Transitions {
		if c.Transitions[i].Contact.Channel != c.By.Channel {
			r.Refuse(weir.Errorf(weir.CodeInternal, "a change of one channel names a contact of another"))
			return nil
		}
	}
	c.batch.list = append(c.batch.list, c)
	return nil
}

func (c *change) markStale(id weir.ContactID) {
	if !slices.Contains(c.stale, id) {
		c.stale = append(c.stale, id)
		c.batch.db.CountError("stale")
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

// steps merges the transitions of the changes.
func (b *changes) steps() []step {
	var list []step
	at := map[weir.Ref]int{}
	for _, c := range b.list {
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
	slices.SortFunc(list, func(a, b step) int { return compareRefs(a.ref(), b.ref()) })
	return list
}

// judged returns what becomes of a claim.
func judged(p weir.Progress, now time.Time, v *people.Verdict) (weir.Progress, error) {
	switch {
	case v.Rule == "":
		p.Receipt = v.Receipt
		return kept(p), nil
	case v.Channel:
		p, err := p.Unclaim()
		p.Rev = 0 // as it was accepted
		return p, err
	case v.Due.IsZero():
		return p.Suppress(now, v.Reason, v.Receipt)
	default:
		p, err := p.Defer(v.Due, v.Reason, v.Receipt)
		return kept(p), err
	}
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
