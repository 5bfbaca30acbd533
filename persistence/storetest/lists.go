package storetest

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"weir"
)

// allPages reads all pages of a list.
func (b *bench) allPages(f weir.ContactFilter) []weir.Contact {
	b.t.Helper()
	var all []weir.Contact
	for {
		list, next, err := b.Contacts(b.ctx, f)
		b.ok(err)
		if f.Limit > 0 && len(list) > f.Limit {
			b.t.Errorf("a page has %d contacts, want %d at most", len(list), f.Limit)
		}
		all = append(all, list...)
		if next == "" {
			return all
		}
		f.Cursor = next
	}
}

func testPaging(t *testing.T, backend Backend) {
	b := newBench(t, backend)
	var all []weir.Contact
	for _, name := range []string{"a", "empty", "b"} {
		id, lease := b.owned(name)
		if name == "empty" {
			continue
		}
		list := pagingSpecs()
		got := b.accept(id, list...)
		var changes []weir.Transition
		for i := range got {
			if i%4 == 0 {
				changes = append(changes, claim(got[i], now()))
				got[i] = changes[len(changes)-1].Contact
			}
		}
		b.commitAll(lease, changes...)
		all = append(all, got...)
	}
	for name, f := range map[string]weir.ContactFilter{
		"everything":    {},
		"channel":       {Channel: all[0].Channel},
		"state":         {States: []weir.State{weir.Sending}},
		"client queued": {States: []weir.State{weir.Delayed, weir.Queued}},
		"survey":        {Survey: "s2"},
		"all of it":     {Channel: all[len(all)-1].Channel, States: []weir.State{weir.Queued}, Survey: "s1"},
		"key":           {Key: "k3"},
		"key and state": {Key: "k4", States: []weir.State{weir.Queued}},
		"no such key":   {Key: "none"},
	} {
		for _, f.Limit = range []int{0, 1, 7, 1000} {
			checkList(t, b, name, f, all)
		}
	}
	checkCursors(t, b, all)
}

func pagingSpecs() []weir.Spec {
	var list []weir.Spec
	for i := range 30 {
		s := sms(fmt.Sprintf("k%d", i))
		s.Survey = fmt.Sprintf("s%d", i%3)
		if i%6 == 1 {
			s.NotBefore = now().Add(time.Duration(i) * time.Hour)
		}
		list = append(list, s)
	}
	return list
}

func checkList(t *testing.T, b *bench, name string, f weir.ContactFilter, all []weir.Contact) {
	t.Helper()
	want := map[weir.Ref]bool{}
	for i := range all {
		c := &all[i]
		state := len(f.States) == 0
		for _, s := range f.States {
			state = state || s == c.State
		}
		if state && (f.Channel == 0 || f.Channel == c.Channel) && (f.Survey == "" || f.Survey == c.Survey) && (f.Key == "" || f.Key == c.Key) {
			want[c.Ref] = true
		}
	}
	got := b.allPages(f)
	for i := range got {
		if !want[got[i].Ref] {
			t.Errorf("%s, limit %d: %v is wrong or there twice", name, f.Limit, got[i].Ref)
		}
		delete(want, got[i].Ref)
	}
	if len(want) > 0 {
		t.Errorf("%s, limit %d: %d are missing", name, f.Limit, len(want))
	}
}

func checkCursors(t *testing.T, b *bench, all []weir.Contact) {
	t.Helper()
	_, next, err := b.Contacts(b.ctx, weir.ContactFilter{Channel: all[0].Channel, Limit: 1})
	b.ok(err)
	for name, f := range map[string]weir.ContactFilter{
		"not a cursor":  {Cursor: "x y"},
		"not ours":      {Cursor: "e30"},
		"other filter":  {Cursor: next, States: []weir.State{weir.Queued}},
		"other channel": {Cursor: next, Channel: all[len(all)-1].Channel},
		"tail":          {Cursor: next + "A"},
	} {
		_, _, err := b.Contacts(b.ctx, f)
		wantCode(t, err, weir.CodeInvalid)
		if e, ok := errors.AsType[*weir.Error](err); !ok || len(e.Fields) != 1 || e.Fields[0].Pointer != "/cursor" {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func testPurge(t *testing.T, backend Backend) {
	b := newBench(t, backend)
	id, lease := b.owned("a")
	list := b.accept(id, specs(20)...)
	at := now()
	for i := range 15 {
		tr := claim(list[i], at)
		b.commitAll(lease, tr)
		tr = requeue(tr.Contact, at, time.Time{})
		b.commitAll(lease, tr)
		b.commitAll(lease, finish(tr.Contact, at.Add(time.Duration(i)*time.Minute), weir.Failed))
	}
	for i := range 4 {
		must[bool](t)(b.Receive(b.ctx, id, weir.Incoming{ReceivedAt: at.Add(time.Duration(i) * time.Minute)}))
	}
	before := at.Add(2 * time.Minute) // later than contacts 0 and 1, and messages 0 and 1
	if n := must[int](t)(b.Purge(b.ctx, before, 3)); n != 3 {
		t.Errorf("purged %d, want the limit 3", n)
	}
	if n := must[int](t)(b.Purge(b.ctx, before, 3)); n != 1 {
		t.Errorf("purged %d, want the last 1", n)
	}
	if left := b.allPages(weir.ContactFilter{}); len(left) != 18 || left[0].ID != list[2].ID {
		t.Errorf("%d contacts left", len(left))
	}
	if left := must[[]weir.Incoming](t)(b.IncomingSince(b.ctx, id, 0, 10)); len(left) != 2 {
		t.Errorf("%d messages left", len(left))
	}
	if _, attempts := b.read(list[2].Ref); len(attempts) != 1 {
		t.Error("attempts of a contact that stays are gone")
	}
	b.wantQueued(id, 5)
	if again := b.accept(id, sms("key-0")); again[0].ID == list[0].ID {
		t.Error("a purged contact still has its key")
	}
	testPurgeChannel(t, b)
}

func testPurgeChannel(t *testing.T, b *bench) {
	id, lease := b.owned("gone")
	c := b.accept(id, sms("k"))[0]
	tr := claim(c, now())
	b.commitAll(lease, tr)
	b.commitAll(lease, finish(tr.Contact, now(), weir.Failed))
	b.ok(b.DeleteChannel(b.ctx, id))
	must[int](t)(b.Purge(b.ctx, now().Add(-time.Hour), 100))
	must[weir.Channel](t)(b.ChannelByID(b.ctx, id))
	must[int](t)(b.Purge(b.ctx, now().Add(time.Hour), 100))
	_, err := b.ChannelByID(b.ctx, id)
	wantCode(t, err, weir.CodeNotFound)
	if next := b.channel("next"); next.ID <= id {
		t.Error("the id of a purged channel was given again")
	}
}
