package contacts

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"weir"
	"weir/events"
	"weir/internal/plainjson"
	"weir/persistence/columns"
	"weir/persistence/commit"
	"weir/persistence/multirow"
)

// Accept implements [weir.Accepter].
func (s *Queue) Accept(ctx context.Context, channel weir.ChannelID, specs []weir.Spec) ([]weir.Accepted, error) {
	if len(specs) == 0 {
		return nil, nil
	}
	a, err := s.NewAcceptance(ctx, channel, specs)
	if err != nil {
		return nil, err
	}
	a.Submit(weir.Claims{})
	return a.Wait()
}

// NewAcceptance implements [weir.Accepter].
func (s *Queue) NewAcceptance(ctx context.Context, channel weir.ChannelID, specs []weir.Spec) (weir.Acceptance, error) {
	var mistakes []weir.FieldError
	for i := range specs {
		mistakes = append(mistakes, CheckSpec(i, &specs[i])...)
	}
	if len(mistakes) > 0 {
		return nil, &weir.Error{Code: weir.CodeInvalid, Message: "contacts cannot be stored", Fields: mistakes}
	}
	a := &acceptance{s: s, channel: channel, specs: specs}
	r := &commit.Request{Channels: []weir.ChannelID{channel}, Work: a, Rows: len(specs), Answer: a.done}
	for i := range specs {
		r.Bytes += SpecBytes(&specs[i])
	}
	var err error
	if a.call, err = s.NewCall(ctx, r); err != nil {
		return nil, err
	}
	return a, nil
}

// acceptance is the work of [Queue.Accept].
type acceptance struct {
	s        *Queue
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
	p := a.s.part
	for i := range a.specs {
		c := NewContact(weir.Ref{Channel: a.channel, ID: weir.ContactID(r.IDs[i])}, a.specs[i], r.At)
		if i < claimed {
			if now, err := c.Claim(c.QueuedAt); err == nil { // otherwise it has to wait
				c.Progress = now
			}
		}
		p.accepted = append(p.accepted, Insertion{Contact: c, Into: &a.accepted[i], from: a, index: i})
	}
	return nil
}

// insertContacts inserts contacts and reports the result of each. Where a key is
// taken the contact that has it stays.
func (p *part) insertContacts(t *commit.Tx, list []Insertion) error {
	if len(list) == 0 {
		return nil
	}
	for i := range list {
		list[i].Into.Contact = list[i].Contact
	}
	if err := p.insert(t, list); err != nil {
		return err
	}
	waiting := make([]*weir.Contact, 0, len(list))
	var ended []any
	for i := range list {
		c := &list[i].Contact
		if !list[i].Into.Duplicate && skipped(c) {
			p.gate.Skipped(c, t.Now)
		}
		switch {
		case list[i].Into.Duplicate:
		case c.State == weir.Done: // suppressed
			ended = appendEnd(append(ended, int64(c.Channel), int64(c.ID)), &c.Progress)
			if t.WritesContactEvents() {
				p.emit(t, c, events.ContactDone, c.FinishedAt, contactData(c))
			}
		case c.State == weir.Sending:
			p.flightChanges.records = append(p.flightChanges.records, record{c.Ref, kept(c.Progress)})
			p.countAccepted(c)
			p.gate.Claimed(t, c)
			if t.WritesContactEvents() {
				p.emitClaimed(t, c)
			}
		default:
			waiting = append(waiting, c)
			p.countAccepted(c)
		}
	}
	insertWaiting(t, waiting)
	multirow.Insert(t, "contacts_done ("+doneColumns+")", columns.Marks(doneWidth), ended, len(ended)/doneWidth)
	return nil
}

// countAccepted counts a new contact.
func (p *part) countAccepted(c *weir.Contact) {
	d := p.counts[c.Channel]
	d.queued += columns.Number(c.State.Waiting())
	d.inFlight += columns.Number(c.State.InFlight())
	p.counts[c.Channel] = d
}

// Insertion is a contact to be inserted.
type Insertion struct {
	Contact weir.Contact
	Into    *weir.Accepted // the result
	from    *acceptance    // is rejected if the key is in use for other content; nil: any holder of the key will do
	index   int            // of the contact in that request
}

// insert inserts the rows of contacts. An optimistic try fails if a key is taken.
func (p *part) insert(t *commit.Tx, list []Insertion) error {
	args, bytes, begin := p.scratch[:0], 0, 0
	var inserted int64
	for i := range list {
		var err error
		if args, bytes, err = list[i].bind(args, bytes); err != nil {
			return err
		}
		if n := i + 1 - begin; n < commit.MaxRows && bytes < commit.MaxBytes && i+1 < len(list) {
			continue
		}
		did, err := p.insertKeyed(t, args, i+1-begin)
		if err != nil {
			return err
		}
		args, bytes, begin, inserted = args[:0], 0, i+1, inserted+did
	}
	p.keep(args)
	if t.Optimistic || inserted == int64(len(list)) {
		return nil
	}
	return p.findDuplicates(t, list, inserted)
}

// insertKeyed inserts n rows of contacts. A pessimistic try leaves out those whose
// key is taken, and returns how many were inserted.
func (p *part) insertKeyed(t *commit.Tx, args []any, n int) (int64, error) {
	const into = "contacts (" + specColumns + ")"
	row := columns.Marks(specWidth)
	if t.Optimistic {
		multirow.Insert(t, into, row, args, n)
		return int64(n), nil
	}
	var inserted int64
	for n > 0 {
		size := min(n, multirow.MaxBound)
		did, err := t.ExecOnce("INSERT INTO "+into+" VALUES "+row+strings.Repeat(", "+row, size-1)+p.contacts.Dialect.KeepContact, args[:size*specWidth]...)
		if err != nil {
			return 0, err
		}
		inserted, args, n = inserted+did, args[size*specWidth:], n-size
	}
	return inserted, nil
}

// keep lets the next statement use the memory of arguments, without their values.
func (p *part) keep(args []any) {
	clear(args)
	p.scratch = args[:0]
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

// insertWaiting inserts the rows of contacts that are queued or delayed.
func insertWaiting(t *commit.Tx, list []*weir.Contact) {
	var queued, delayed, expiring []any
	for _, c := range list {
		var progress any
		if p := encodeWaiting(&c.Progress); p != nil {
			progress = p
		}
		if c.State == weir.Queued {
			queued = append(queued, int64(c.Channel), int64(c.Lane()), int64(c.ID), c.Rev, int64(c.Size()), progress)
		} else {
			delayed = append(delayed, int64(c.Channel), int64(c.ID), columns.Micros(c.DueAt), c.Rev, progress)
		}
		if !c.NotAfter.IsZero() {
			expiring = append(expiring, int64(c.Channel), columns.Micros(c.NotAfter), int64(c.ID))
		}
	}
	for _, in := range []struct {
		into  string
		width int
		args  []any
	}{
		{"contacts_queued (channel_id, lane, id, rev, size, progress)", 6, queued},
		{"contacts_delayed (channel_id, id, due_at, rev, progress)", 5, delayed},
		{"contacts_expiring (channel_id, expire_at, id)", 3, expiring},
	} {
		multirow.Insert(t, in.into, columns.Marks(in.width), in.args, len(in.args)/in.width)
	}
}

// encodeContent returns the part of a contact that the store does not look into.
func encodeContent(s *weir.Spec) (string, error) {
	if s.Call == nil && len(s.Messages) > 0 && s.Trace == "" && s.Purpose == "" && s.TimeZone == "" {
		b := make([]byte, 0, 24+len(s.Messages)*4+len(s.Messages[0]))
		b = append(b, `{"messages":[`...)
		for i, m := range s.Messages {
			if i > 0 {
				b = append(b, ',')
			}
			b = plainjson.AppendText(b, m)
		}
		return string(append(b, "]}"...)), nil
	}
	body, err := json.Marshal(content{s.Trace, s.Messages, s.Call, s.Purpose, s.TimeZone})
	if err != nil {
		return "", fmt.Errorf("encode the content: %w", err)
	}
	return string(body), nil
}

// findDuplicates reads the holders of keys and marks the specs that came too
// late. Ids are ours alone, so that a spec without a key is always new.
func (p *part) findDuplicates(t *commit.Tx, list []Insertion, inserted int64) error {
	holders, unreadable, err := p.holders(t, list)
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
func (p *part) holders(t *commit.Tx, list []Insertion) (map[holderKey]weir.Contact, map[weir.Ref]bool, error) {
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
			rows, err := p.contacts.readContacts(t.Ctx, t, " WHERE c.channel_id = ? AND c.ckey IN "+columns.Marks(n), append([]any{int64(channel)}, names[:n]...))
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
			if err := p.contacts.resolve(t.Ctx, t, rows); err != nil {
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
