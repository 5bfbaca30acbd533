package persistence

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"weir"
)

// insertion is a contact to be inserted.
type insertion struct {
	contact weir.Contact
	into    *weir.Accepted // the result
	from    *request       // is rejected if the key is in use for other content; nil: any holder of the key will do
	index   int            // of the contact in that request
}

// insert inserts the rows of contacts. An optimistic try fails if a key is taken.
func (t *transaction) insert(list []insertion) error {
	shape := shapeOf(list)
	args, bytes, begin := t.w.scratch[:0], 0, 0
	var inserted int64
	for i := range list {
		var err error
		if args, bytes, err = list[i].bind(shape, args, bytes); err != nil {
			return err
		}
		if n := i + 1 - begin; n < maxRows && bytes < maxBytes && i+1 < len(list) {
			continue
		}
		did, err := t.insertKeyed(shape, args, i+1-begin)
		if err != nil {
			return err
		}
		args, bytes, begin, inserted = args[:0], 0, i+1, inserted+did
	}
	t.w.keep(args)
	if t.optimistic || inserted == int64(len(list)) {
		return nil
	}
	return t.findDuplicates(list, inserted)
}

// insertKeyed inserts n rows of contacts. A pessimistic try leaves out those whose
// key is taken, and returns how many were inserted.
func (t *transaction) insertKeyed(shape shape, args []any, n int) (int64, error) {
	const into = "contacts (" + specColumns + ")"
	row, width := shape.row, shape.width
	if t.optimistic {
		return int64(n), t.insertSized(into, row, args, n)
	}
	var inserted int64
	for n > 0 {
		size := min(n, maxBound)
		result, err := t.tx.ExecContext(t.w.ctx, "INSERT INTO "+into+" VALUES "+row+strings.Repeat(", "+row, size-1)+t.w.s.text.keepContact, args[:size*width]...)
		if err != nil {
			return 0, err
		}
		did, err := result.RowsAffected()
		if err != nil {
			return 0, err
		}
		inserted, args, n = inserted+did, args[size*width:], n-size
	}
	return inserted, nil
}

// keep lets the next statement use the memory of arguments, without their values.
func (w *writer) keep(args []any) {
	clear(args)
	w.scratch = args[:0]
}

// shape is a row of contacts with its placeholders. That of contacts without survey,
// labels and window has fewer, which is worth 5 % of the writer's CPU on MariaDB.
type shape struct {
	row   string
	width int
}

func shapeOf(list []insertion) shape {
	for i := range list {
		c := &list[i].contact
		if c.Survey != "" || len(c.Labels) > 0 || !c.NotBefore.IsZero() || !c.NotAfter.IsZero() || c.For != (weir.Respondent{}) {
			return shape{marks(specWidth), specWidth}
		}
	}
	return shape{"(?, ?, ?, ?, ?, '', '', ?, 0, 0, ?, ?, ?, 0, 0, 0)", plainWidth}
}

const plainWidth = 9

// bind appends the values of a row of contacts, and adds their bytes up.
func (in *insertion) bind(shape shape, args []any, bytes int) ([]any, int, error) {
	c := &in.contact
	content, err := encodeContent(&c.Spec)
	if err != nil {
		return nil, 0, err
	}
	bytes += 200 + len(content) + len(c.To) + len(c.Key)
	if shape.width == plainWidth {
		return append(args, int64(c.Channel), int64(c.ID), textOrNull(c.Key), c.To, int64(c.Priority), content, int64(c.Size()), micros(c.QueuedAt), int64(c.Lane())), bytes, nil
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
		int64(c.Channel), int64(c.ID), textOrNull(c.Key), c.To, int64(c.Priority), c.Survey, labels, content,
		micros(c.NotBefore), micros(c.NotAfter), int64(c.Size()), micros(c.QueuedAt), int64(c.Lane()), c.For.Survey, c.For.ID, int64(c.For.Serial),
	), bytes + len(labels) + len(c.Survey), nil
}

// insertWaiting inserts the rows of contacts that are queued or delayed.
func (t *transaction) insertWaiting(list []*weir.Contact) error {
	var queued, delayed, expiring []any
	for _, c := range list {
		var progress any
		if p := encodeWaiting(&c.Progress); p != nil {
			progress = p
		}
		if c.State == weir.Queued {
			queued = append(queued, int64(c.Channel), int64(c.Lane()), int64(c.ID), c.Rev, int64(c.Size()), progress)
		} else {
			delayed = append(delayed, int64(c.Channel), int64(c.ID), micros(c.DueAt), c.Rev, progress)
		}
		if !c.NotAfter.IsZero() {
			expiring = append(expiring, int64(c.Channel), micros(c.NotAfter), int64(c.ID))
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
		if err := t.insertSized(in.into, marks(in.width), in.args, len(in.args)/in.width); err != nil {
			return err
		}
	}
	return nil
}

// encodeContent returns the part of a contact that the store does not look into.
func encodeContent(s *weir.Spec) (string, error) {
	if s.Call == nil && len(s.Messages) > 0 {
		b := make([]byte, 0, 24+len(s.Messages)*4+len(s.Messages[0]))
		b = append(b, `{"messages":[`...)
		for i, m := range s.Messages {
			if i > 0 {
				b = append(b, ',')
			}
			b = appendText(b, m)
		}
		return string(append(b, "]}"...)), nil
	}
	body, err := json.Marshal(content{s.Messages, s.Call})
	if err != nil {
		return "", fmt.Errorf("encode the content: %w", err)
	}
	return string(body), nil
}

// errReused reports that a try found keys in use for other contacts: the
// transaction is repeated without the requests that have them.
var errReused = errors.New("a key is in use for another contact")

// findDuplicates reads the holders of keys and marks the specs that came too
// late. Ids are ours alone, so that a spec without a key is always new.
func (t *transaction) findDuplicates(list []insertion, inserted int64) error {
	holders, unreadable, err := t.holders(list)
	if err != nil {
		return err
	}
	fresh := int64(0)
	for _, in := range list {
		holder, ok := holders[holderKey{in.contact.Channel, in.contact.Key}]
		if in.contact.Key == "" || ok && holder.ID == in.contact.ID {
			fresh++
			continue
		}
		if !ok {
			return fmt.Errorf("a contact of channel %d was rejected and its key is free", in.contact.Channel)
		}
		*in.into = weir.Accepted{Contact: holder, Duplicate: true}
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
func (t *transaction) holders(list []insertion) (map[holderKey]weir.Contact, map[weir.Ref]bool, error) {
	keys := map[weir.ChannelID][]any{}
	for _, in := range list {
		if in.contact.Key != "" {
			keys[in.contact.Channel] = append(keys[in.contact.Channel], in.contact.Key)
		}
	}
	own := map[weir.Ref]*weir.Contact{} // inserted by this batch, whose queue has no row yet
	for i := range list {
		own[list[i].contact.Ref] = &list[i].contact
	}
	holders, unreadable := map[holderKey]weir.Contact{}, map[weir.Ref]bool{}
	for channel, names := range keys {
		for len(names) > 0 {
			n := min(len(names), someAtATime)
			rows, err := t.w.s.readContacts(t.w.ctx, t.tx, " WHERE c.channel_id = ? AND c.ckey IN "+marks(n), append([]any{int64(channel)}, names[:n]...))
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
			if err := t.w.s.resolve(t.w.ctx, t.tx, rows); err != nil {
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
func refuseReused(list []insertion, unreadable map[weir.Ref]bool) error {
	owners := make(map[weir.Ref]*request, len(list))
	for i := range list {
		owners[list[i].contact.Ref] = list[i].from
	}
	var err error
	for _, ofThisBatch := range []bool{false, true} {
		for i := range list {
			in := &list[i]
			holder := &in.into.Contact
			owner, inBatch := owners[holder.Ref]
			if !in.into.Duplicate || in.from == nil || inBatch != ofThisBatch || unreadable[holder.Ref] || owner != nil && owner.refusal != nil {
				continue
			}
			if names := holder.Differences(&in.contact.Spec); len(names) > 0 {
				in.from.refuse(in.index, holder.Ref, names)
				err = errReused
			}
		}
	}
	return err
}

// refuse records that a key of a request belongs to a contact with other content.
func (r *request) refuse(index int, holder weir.Ref, names []string) {
	if r.refusal == nil {
		r.refusal = &weir.Error{Code: weir.CodeKeyReused, Message: "a key is in use for a contact with other content; nothing was queued"}
	}
	r.refusal.Fields = append(r.refusal.Fields, weir.FieldError{
		Pointer: fmt.Sprintf("/contacts/%d/key", index), Code: string(weir.CodeKeyReused),
		Detail: fmt.Sprintf("contact %s has this key and differs in %s", holder, strings.Join(names, ", ")),
	})
}
