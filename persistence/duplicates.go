package persistence

import (
	"errors"
	"fmt"
	"strings"

	"weir"
)

// errReused says that a try found keys in use for other contacts: the
// transaction is repeated without the requests that have them.
var errReused = errors.New("a key is in use for another contact")

// findDuplicates looks up who has the keys and marks the specs that came too
// late. Ids are ours alone, so that a spec without a key is always new.
func (t *transaction) findDuplicates(list []insertion, inserted int64) error {
	keys := map[weir.ChannelID][]any{}
	for _, in := range list {
		if in.contact.Key != "" {
			keys[in.contact.Channel] = append(keys[in.contact.Channel], in.contact.Key)
		}
	}
	type key struct {
		channel weir.ChannelID
		key     string
	}
	holders, unreadable := map[key]weir.Contact{}, map[weir.Ref]bool{}
	for channel, names := range keys {
		for len(names) > 0 {
			n := min(len(names), 500)
			var rows []contactRow
			err := t.tx.SelectContext(t.w.ctx, &rows, "SELECT "+contactColumns+" FROM contacts WHERE channel_id = ? AND ckey IN "+marks(n),
				append([]any{int64(channel)}, names[:n]...)...)
			if err != nil {
				return err
			}
			for i := range rows {
				c, wrong := rows[i].readable()
				if wrong != nil {
					unreadable[c.Ref] = true
				}
				if e, ok := t.w.journal.entries[c.Ref]; ok && e.progress.Rev > c.Rev {
					c.Progress = e.progress
				}
				holders[key{channel, c.Key}] = c
			}
			names = names[n:]
		}
	}
	fresh := int64(0)
	for _, in := range list {
		holder, ok := holders[key{in.contact.Channel, in.contact.Key}]
		if in.contact.Key == "" || ok && holder.ID == in.contact.ID {
			fresh++
			continue
		}
		if !ok {
			return fmt.Errorf("a contact of channel %d was refused and its key is free", in.contact.Channel)
		}
		*in.into = weir.Accepted{Contact: holder, Duplicate: true}
	}
	if fresh != inserted {
		return fmt.Errorf("%d contacts went in, %d were found", inserted, fresh)
	}
	return refuseReused(list, unreadable)
}

// refuseReused refuses the requests of duplicates whose content is not that of
// the contact that has the key. First those whose key was in the store before:
// what a refused request inserted is no reason to refuse another.
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

// refuse notes that a key of a request belongs to a contact with other content.
func (r *request) refuse(index int, holder weir.Ref, names []string) {
	if r.refusal == nil {
		r.refusal = &weir.Error{Code: weir.CodeKeyReused, Message: "a key is in use for a contact with other content; nothing was queued"}
	}
	r.refusal.Fields = append(r.refusal.Fields, weir.FieldError{
		Pointer: fmt.Sprintf("/contacts/%d/key", index), Code: string(weir.CodeKeyReused),
		Detail: fmt.Sprintf("contact %s has this key and differs in %s", holder, strings.Join(names, ", ")),
	})
}
