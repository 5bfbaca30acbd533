package contacts

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"

	"weir"
	"weir/events"
	"weir/persistence/columns"
	"weir/persistence/commit"
	"weir/persistence/multirow"
)

// acceptance is the work of [Queue.Accept].
type acceptance struct {
	into     *insertions
	channel  weir.ChannelID
	specs    []weir.Spec
	claims   weir.Claims
	call     *commit.Call
	request  *commit.Request
	accepted []weir.Accepted
	reused   *weir.Error // keys are in use for contacts with other content
}

// Submit implements [weir.Acceptance].
func (a *acceptance) Submit(c weir.Claims) bool {
	return a.call.Submit(func() { a.claims = c })
}

// Wait implements [weir.Acceptance].
func (a *acceptance) Wait() ([]weir.Accepted, error) {
	if err := a.call.Wait(); err != nil {
		return nil, err
	}
	return a.accepted, nil
}

func (a *acceptance) done(err error) {
	if a.claims.Done == nil {
		return
	}
	if err != nil {
		a.claims.Done(nil, err)
		return
	}
	a.claims.Done(a.accepted, nil)
}

// Write implements [commit.Work].
func (a *acceptance) Write(t *commit.Tx, r *commit.Request) error {
	if err := t.Admits(a.channel); err != nil {
		r.Refuse(err)
		return nil
	}
	t.GiveIDs(r, len(a.specs))
	a.request, a.reused = r, nil
	a.accepted = make([]weir.Accepted, len(a.specs))
	claimed := 0
	if a.claims.First > 0 && t.IsCurrent(a.claims.By) {
		claimed = a.claims.First
	}
	for i := range a.specs {
		c := NewContact(weir.Ref{Channel: a.channel, ID: weir.ContactID(r.IDs[i])}, a.specs[i], r.At)
		in := Insertion{Contact: c, Into: &a.accepted[i], from: a, index: i}
		if i < claimed {
			in.Claim()
		}
		a.into.accepted = append(a.into.accepted, in)
	}
	return nil
}

// insertions inserts the contacts of a batch.
type insertions struct {
	contacts *Reader
	flights  *flightLog
	events   contactEvents
	gate     Gate
	waiting  *waiting
	scratch  *scratch
	accepted []Insertion  // by this batch
	inserted atomic.Int64 // contacts, each try of a batch included
}

// add inserts contacts and reports the result of each. Where a key is
// taken the contact that has it stays.
func (s *insertions) add(t *commit.Tx, list []Insertion) error {
	if len(list) == 0 {
		return nil
	}
	s.inserted.Add(int64(len(list)))
	for i := range list {
		list[i].Into.Contact = list[i].Contact
	}
	if err := s.insert(t, list); err != nil {
		return err
	}
	waiting := make([]*weir.Contact, 0, len(list))
	var ended []any
	for i := range list {
		c := &list[i].Contact
		if !list[i].Into.Duplicate && skipped(c) {
			s.gate.Skipped(c, t.Now)
		}
		switch {
		case list[i].Into.Duplicate:
			continue
		case c.State == weir.Done: // suppressed
			s.contacts.index.end(c)
			ended = appendEnd(append(ended, int64(c.Channel), int64(c.ID)), &c.Progress)
			if t.WritesContactEvents() {
				s.events.emit(t, c, events.ContactDone, c.FinishedAt, contactData(c))
			}
		case c.State == weir.Sending:
			s.flights.claimed(c)
			s.waiting.add(c.Channel, 0, c.State)
			s.gate.Claimed(t, c)
			if t.WritesContactEvents() {
				s.events.claimed(t, c)
			}
		default:
			waiting = append(waiting, c)
			s.waiting.add(c.Channel, 0, c.State)
		}
		s.contacts.index.accept(c)
	}
	insertWaiting(t, waiting)
	multirow.Insert(t, "contacts_done ("+doneColumns+")", columns.Marks(doneWidth), ended, len(ended)/doneWidth)
	return nil
}

// Insertion is a contact to be inserted.
type Insertion struct {
	Contact weir.Contact
	Into    *weir.Accepted // the result
	from    *acceptance    // is rejected if the key is in use for other content; nil: any holder of the key will do
	index   int            // of the contact in that request
}

// Claim claims the contact as it is inserted. It returns false for one that has to wait.
func (in *Insertion) Claim() bool {
	now, err := in.Contact.Claim(in.Contact.QueuedAt)
	if err == nil {
		in.Contact.Progress = now
	}
	return err == nil
}

// insert inserts the rows of contacts. An optimistic try fails if a key is taken.
func (s *insertions) insert(t *commit.Tx, list []Insertion) error {
	args, bytes, begin := s.scratch.empty(), 0, 0
	var inserted int64
	for i := range list {
		var err error
		if args, bytes, err = list[i].bind(args, bytes); err != nil {
			return err
		}
		if n := i + 1 - begin; n < commit.MaxRows && bytes < commit.MaxBytes && i+1 < len(list) {
			continue
		}
		did, err := s.insertKeyed(t, args, i+1-begin)
		if err != nil {
			return err
		}
		args, bytes, begin, inserted = args[:0], 0, i+1, inserted+did
	}
	s.scratch.keep(args)
	if t.Optimistic || inserted == int64(len(list)) {
		return nil
	}
	return s.findDuplicates(t, list, inserted)
}

// insertKeyed inserts n rows of contacts. A pessimistic try leaves out those whose
// key is taken, and returns how many were inserted.
func (s *insertions) insertKeyed(t *commit.Tx, args []any, n int) (int64, error) {
	const into = "contacts (" + specColumns + ")"
	row := columns.Marks(specWidth)
	if t.Optimistic {
		multirow.Insert(t, into, row, args, n)
		return int64(n), nil
	}
	var inserted int64
	for n > 0 {
		size := min(n, multirow.MaxBound)
		did, err := t.ExecOnce("INSERT INTO "+into+" VALUES "+row+strings.Repeat(", "+row, size-1)+s.contacts.Dialect.KeepContact, args[:size*specWidth]...)
		if err != nil {
			return 0, err
		}
		inserted, args, n = inserted+did, args[size*specWidth:], n-size
	}
	return inserted, nil
}

// bind appends the values of a row of contacts, and adds their bytes up.
func (in *Insertion) bind(args []any, bytes int) ([]any, int, error) {
	c := &in.Contact
	content, err := encodeContent(&c.Spec)
	if err != nil {
		return nil, 0, err
	}
	labels := ""
	if len(c.Labels) > 0 {
		text, err := json.Marshal(c.Labels)
		if err != nil {
			return nil, 0, fmt.Errorf("encode the labels: %w", err)
		}
		labels = string(text)
	}
	return append(args,
		int64(c.Channel), int64(c.ID), columns.TextOrNull(c.Key), c.To, int64(c.Priority), c.Survey, labels, content,
		columns.Micros(c.NotBefore), columns.Micros(c.NotAfter), int64(c.Size()), columns.Micros(c.QueuedAt), int64(c.Lane()), c.Owner.Group, c.Owner.ID, int64(c.Owner.Serial),
	), bytes + 200 + len(content) + len(c.To) + len(c.Key) + len(labels) + len(c.Survey), nil
}

// findDuplicates reads the holders of keys and marks the specs that came too
// late. Ids are ours alone, so that a spec without a key is always new.
func (s *insertions) findDuplicates(t *commit.Tx, list []Insertion, inserted int64) error {
	holders, unreadable, err := s.holders(t, list)
	if err != nil {
		return err
	}
	fresh := int64(0)
	for _, in := range list {
		holder, ok := holders[holderKey{in.Contact.Channel, in.Contact.Key}]
		if in.Contact.Key == "" || ok && holder.ID == in.Contact.ID {
			fresh++
			continue
		}
		if !ok {
			return fmt.Errorf("a contact of channel %d was rejected and its key is free", in.Contact.Channel)
		}
		*in.Into = weir.Accepted{Contact: holder, Duplicate: true}
	}
	if fresh != inserted {
		return fmt.Errorf("%d contacts were inserted, %d were found", inserted, fresh)
	}
	return refuseReused(list, unreadable)
}

type holderKey struct {
	channel weir.ChannelID
	key     string
}

// holders reads the contacts that have the keys of a list.
func (s *insertions) holders(t *commit.Tx, list []Insertion) (map[holderKey]weir.Contact, map[weir.Ref]bool, error) {
	keys := map[weir.ChannelID][]any{}
	for _, in := range list {
		if in.Contact.Key != "" {
			keys[in.Contact.Channel] = append(keys[in.Contact.Channel], in.Contact.Key)
		}
	}
	own := map[weir.Ref]*weir.Contact{} // inserted by this batch, whose queue has no row yet
	for i := range list {
		own[list[i].Contact.Ref] = &list[i].Contact
	}
	holders, unreadable := map[holderKey]weir.Contact{}, map[weir.Ref]bool{}
	for channel, names := range keys {
		for len(names) > 0 {
			n := min(len(names), columns.KeysPerList)
			rows, err := s.contacts.readContacts(t.Ctx, t, " WHERE c.channel_id = ? AND c.ckey IN "+columns.Marks(n), append([]any{int64(channel)}, names[:n]...))
			if err != nil {
				return nil, nil, err
			}
			names = names[n:]
			rows = slices.DeleteFunc(rows, func(r contactRow) bool {
				c := own[r.ref()]
				if c != nil {
					holders[holderKey{channel, c.Key}] = *c
				}
				return c != nil
			})
			if err := s.contacts.resolve(t.Ctx, t, rows); err != nil {
				return nil, nil, err
			}
			for i := range rows {
				c, wrong := rows[i].readable()
				if wrong != nil {
					unreadable[c.Ref] = true
				}
				holders[holderKey{channel, c.Key}] = c
			}
		}
	}
	return holders, unreadable, nil
}

// refuseReused rejects the requests of duplicates whose content is not that of
// the contact that has the key. First those whose key was in the store before:
// what a rejected request inserted is no reason to reject another.
func refuseReused(list []Insertion, unreadable map[weir.Ref]bool) error {
	owners := make(map[weir.Ref]*acceptance, len(list))
	for i := range list {
		owners[list[i].Contact.Ref] = list[i].from
	}
	for _, ofThisBatch := range []bool{false, true} {
		for i := range list {
			in := &list[i]
			holder := &in.Into.Contact
			owner, inBatch := owners[holder.Ref]
			if !in.Into.Duplicate || in.from == nil || inBatch != ofThisBatch || unreadable[holder.Ref] || owner != nil && owner.reused != nil {
				continue
			}
			if names := holder.Differences(&in.Contact.Spec); len(names) > 0 {
				in.from.refuse(in.index, holder.Ref, names)
			}
		}
	}
	var err error
	for i := range list {
		if from := list[i].from; from != nil && from.reused != nil {
			err = from.request.Exclude(from.reused)
		}
	}
	return err
}

// refuse records that a key belongs to a contact with other content.
func (a *acceptance) refuse(index int, holder weir.Ref, names []string) {
	if a.reused == nil {
		a.reused = &weir.Error{Code: weir.CodeKeyReused, Message: "a key is in use for a contact with other content; nothing was queued"}
	}
	a.reused.Fields = append(a.reused.Fields, weir.FieldError{
		Pointer: fmt.Sprintf("/contacts/%d/key", index), Code: string(weir.CodeKeyReused),
		Detail: fmt.Sprintf("contact %s has this key and differs in %s", holder, strings.Join(names, ", ")),
	})
}
