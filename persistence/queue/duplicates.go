package queue

import (
	"fmt"
	"slices"
	"strings"

	"weir"
	"weir/persistence/commit"
	"weir/persistence/values"
)

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
			n := min(len(names), values.KeysPerList)
			rows, err := p.s.readContacts(t.Ctx, t, " WHERE c.channel_id = ? AND c.ckey IN "+values.Marks(n), append([]any{int64(channel)}, names[:n]...))
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
			if err := p.s.resolve(t.Ctx, t, rows); err != nil {
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
