package conformance

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"weir"
	"weir/ops"
	"weir/persistence"
	"weir/persistence/storetest"
)

func testLeases(t *testing.T, backend Backend) {
	b := newBench(t, backend)
	c := b.channel("a")
	first := b.acquire(c.ID)
	second := b.acquire(c.ID)
	if first.Owner != b.Owner() || second.Epoch != first.Epoch+1 {
		t.Errorf("leases %+v, %+v", first, second)
	}
	same(t, "held", must[[]weir.ChannelID](t)(b.Renew(b.ctx)), []weir.ChannelID{c.ID})
	b.ok(b.Release(b.ctx, first)) // no longer the current lease: no effect
	same(t, "held", must[[]weir.ChannelID](t)(b.Renew(b.ctx)), []weir.ChannelID{c.ID})

	contact := b.accept(c.ID, sms("k"))[0]
	for name, l := range map[string]weir.Incarnation{
		"older epoch": first, "other owner": {Channel: c.ID, Owner: "x", Epoch: second.Epoch},
		"no such channel": {Channel: 999, Owner: b.Owner(), Epoch: 1},
	} {
		tr := claim(contact, now())
		tr.Contact.Channel = l.Channel
		if r := b.commit(weir.Change{By: l, Transitions: []weir.Transition{tr}}); !errors.Is(r.Err, weir.ErrSuperseded) {
			t.Errorf("%s: %+v", name, r)
		}
	}
	b.commitAll(second, claim(contact, now()))
	b.ok(b.Release(b.ctx, second))
	if held := must[[]weir.ChannelID](t)(b.Renew(b.ctx)); len(held) != 0 {
		t.Errorf("still held: %v", held)
	}
	if r := b.commit(weir.Change{By: second}); !errors.Is(r.Err, weir.ErrSuperseded) {
		t.Errorf("after the release: %+v", r)
	}
	// It was released with an open contact: another process has to take the channel.
	same(t, "orphans", must[[]weir.ChannelID](t)(b.Orphans(b.ctx)), []weir.ChannelID{c.ID})
	if _, _, err := b.Acquire(b.ctx, 999); weir.CodeOf(err) != weir.CodeNotFound {
		t.Errorf("lease of no channel: %v", err)
	}
}

// testFencing lets a second process take over.
func testFencing(t *testing.T, backend Backend) {
	if backend.Members {
		testTakeOver(t, backend)
		testHeld(t, backend)
		testLook(t, backend)
		testRolesTogether(t, backend)
		return
	}
	url := backend.URL(t)
	b := benchOn(t, url, persistence.Options{Owner: "same name"})
	id, old := b.owned("a")
	c := b.accept(id, sms("k"))[0]
	if url != memoryURL {
		next := storetest.OpenOnly(t, url, persistence.Options{Owner: "same name"})
		short, cancel := context.WithTimeout(b.ctx, 200*time.Millisecond)
		defer cancel()
		if err := next.Join(short); err == nil {
			t.Fatal("two processes are members")
		}
		b.ok(b.Close(b.ctx)) // without releasing the lease
		b = &bench{Store: next, t: t, ctx: b.ctx}
		b.ok(b.Join(b.ctx))
		same(t, "orphans", must[[]weir.ChannelID](t)(b.Orphans(b.ctx)), []weir.ChannelID{id})
	}
	lease := b.acquire(id)
	if r := b.commit(weir.Change{By: old, Transitions: []weir.Transition{claim(c, now())}}); !errors.Is(r.Err, weir.ErrSuperseded) {
		t.Errorf("the former owner wrote: %+v", r)
	}
	b.commitAll(lease, claim(c, now()))
}

// testHeld checks that a cached list of leases is not returned after one lease was
// lost and another was acquired.
func testHeld(t *testing.T, backend Backend) {
	url := backend.URL(t)
	a := benchOn(t, url, persistence.Options{Owner: "a", LeaseTTL: time.Millisecond})
	b := benchOn(t, url, persistence.Options{Owner: "b", LeaseTTL: time.Hour})
	lost, kept, won := a.channel("lost"), a.channel("kept"), a.channel("won")
	a.acquire(lost.ID)
	a.acquire(kept.ID)
	for range 2 {
		same(t, "held", must[[]weir.ChannelID](t)(a.Renew(a.ctx)), []weir.ChannelID{lost.ID, kept.ID})
	}
	for taken := false; !taken; { // its lease expires within a moment
		var err error
		_, taken, err = b.Acquire(b.ctx, lost.ID)
		b.ok(err)
	}
	a.acquire(won.ID)
	same(t, "held", must[[]weir.ChannelID](t)(a.Renew(a.ctx)), []weir.ChannelID{kept.ID, won.ID})
	same(t, "held by the other", must[[]weir.ChannelID](t)(b.Renew(b.ctx)), []weir.ChannelID{lost.ID})
}

const memoryURL = "sqlite://:memory:"

func testTakeOver(t *testing.T, backend Backend) {
	url := backend.URL(t)
	a := benchOn(t, url, persistence.Options{Owner: "a", LeaseTTL: time.Hour})
	b := benchOn(t, url, persistence.Options{Owner: "b", LeaseTTL: time.Hour})
	id, old := a.owned("a")
	c := b.accept(id, sms("k"))[0]
	// b is not the owner: it leaves an inbox item.
	items := a.inbox(10)
	if len(items) != 1 || items[0].Kind != weir.InboxWake || items[0].Channel != id {
		t.Errorf("inbox of the owner: %+v", items)
	}
	if items := b.inbox(10); len(items) != 0 {
		t.Errorf("inbox of the other: %+v", items)
	}
	// b does the same when it changes the channel, in the same transaction: it may die
	// before it can write anything more.
	for name, change := range map[string]func(weir.Channel) error{
		"update": func(c weir.Channel) error { _, err := b.UpdateChannel(b.ctx, c); return err },
		"put":    func(c weir.Channel) error { _, _, err := b.PutChannel(b.ctx, c); return err },
	} {
		row := must[weir.Channel](t)(b.ChannelByID(b.ctx, id))
		row.Capacity++
		b.ok(change(row))
		after := a.inbox(10)
		if len(after) != 1 || after[0].Kind != weir.InboxWake || after[0].ID == items[0].ID {
			t.Errorf("%s: inbox of the owner: %+v", name, after)
		}
		items = after
	}
	_ = must[weir.Channel](t)(a.UpdateChannel(a.ctx, must[weir.Channel](t)(a.ChannelByID(a.ctx, id))))
	same(t, "inbox after a change by the owner", a.inbox(10), items)
	if _, ok, err := b.Acquire(b.ctx, id); ok || err != nil {
		t.Fatalf("a lease was taken from a living owner (%v)", err)
	}
	if orphans := must[[]weir.ChannelID](t)(b.Orphans(b.ctx)); len(orphans) != 0 {
		t.Errorf("orphans: %v", orphans)
	}
	twin := storetest.OpenOnly(t, url, persistence.Options{Owner: "a"})
	short, cancel := context.WithTimeout(a.ctx, 100*time.Millisecond)
	defer cancel()
	if err := twin.Join(short); err == nil {
		t.Fatal("two processes run under one name")
	}
	a.ok(a.Close(a.ctx)) // its lock is free now, but its lease is not: perhaps only its connection ended
	if orphans := must[[]weir.ChannelID](t)(b.Orphans(b.ctx)); len(orphans) != 0 {
		t.Errorf("orphans while the lease is good: %v", orphans)
	}
	if _, ok, err := b.Acquire(b.ctx, id); ok || err != nil {
		t.Fatalf("a lease was taken from an owner whose connection ended (%v)", err)
	}
	again := benchOn(t, url, persistence.Options{Owner: "a"}) // joining under the same name ends the former leases
	a.ok(again.Close(a.ctx))
	same(t, "orphans", must[[]weir.ChannelID](t)(b.Orphans(b.ctx)), []weir.ChannelID{id})
	lease := b.acquire(id)
	if r := b.commit(weir.Change{By: old, Transitions: []weir.Transition{claim(c, now())}}); !errors.Is(r.Err, weir.ErrSuperseded) {
		t.Errorf("the former owner wrote: %+v", r)
	}
	b.commitAll(lease, claim(c, now()))
	b.ok(b.Release(b.ctx, old))
	same(t, "held", must[[]weir.ChannelID](t)(b.Renew(b.ctx)), []weir.ChannelID{id})
}

func testInbox(t *testing.T, backend Backend) {
	b := newBench(t, backend)
	id, lease := b.owned("a")
	foreign := b.channel("not ours")
	for _, item := range []weir.InboxItem{
		{Channel: id, Kind: weir.InboxReport, Payload: []byte(`[{"part":1}]`)},
		{Channel: id, Kind: weir.InboxWake},
		{Channel: foreign.ID, Kind: weir.InboxCancel, Payload: []byte("1-1")},
		{Channel: id, Kind: weir.InboxWake},
		{Channel: id, Kind: weir.InboxCancel, Payload: []byte("1-2")},
	} {
		b.ok(b.Deliver(b.ctx, item))
	}
	items := b.inbox(10)
	same(t, "a look", must[ops.Polled](t)(b.Poll(b.ctx, 10, true)).Items, items)
	var got []string
	for _, it := range items {
		got = append(got, it.Kind+" "+string(it.Payload))
	}
	same(t, "inbox", got, []string{`report [{"part":1}]`, "wake ", "cancel 1-2"})
	if one := b.inbox(1); len(one) != 1 || one[0].ID != items[0].ID {
		t.Errorf("the oldest: %+v", one)
	}
	// A wake that arrives while the last one is being processed is not lost.
	b.ok(b.Deliver(b.ctx, weir.InboxItem{Channel: id, Kind: weir.InboxWake}))
	if r := b.commit(weir.Change{By: lease, InboxDone: []int64{items[0].ID, items[1].ID, items[2].ID}}); r.Err != nil {
		t.Fatal(r.Err)
	}
	left := b.inbox(10)
	if len(left) != 1 || left[0].Kind != weir.InboxWake || left[0].ID == items[1].ID {
		t.Errorf("left: %+v", left)
	}
	// Some process has to take a channel without an owner that has inbox items, but not a
	// deleted channel.
	gone := b.channel("gone")
	b.ok(b.Deliver(b.ctx, weir.InboxItem{Channel: gone.ID, Kind: weir.InboxWake}))
	same(t, "open", must[[]weir.ChannelID](t)(b.OpenChannels(b.ctx)), []weir.ChannelID{id, foreign.ID, gone.ID})
	b.ok(b.DeleteChannel(b.ctx, gone.ID))
	same(t, "open", must[[]weir.ChannelID](t)(b.OpenChannels(b.ctx)), []weir.ChannelID{id, foreign.ID})
	// A channel that processes no items does not hide the items of another.
	next, _ := b.owned("b")
	for range 10 {
		b.ok(b.Deliver(b.ctx, weir.InboxItem{Channel: id, Kind: weir.InboxCancel, Payload: []byte("1-3")}))
	}
	b.ok(b.Deliver(b.ctx, weir.InboxItem{Channel: next, Kind: weir.InboxCancel, Payload: []byte("2-1")}))
	found := b.inbox(5)
	if len(found) != 5 || !slices.ContainsFunc(found, func(i weir.InboxItem) bool { return i.Channel == next }) {
		t.Errorf("the first five: %+v", found)
	}
}

func testIncoming(t *testing.T, backend Backend) {
	b := newBench(t, backend)
	c, other := b.channel("a"), b.channel("b")
	var want []weir.Incoming
	for i, guid := range []string{"g1", "g2", "", "g1", ""} {
		m := weir.Incoming{
			From: "+1555", To: "123", Body: "hé\n" + string(rune('a'+i)), GUID: guid,
			ReceivedAt: now(), Fields: map[string]string{"n": string(rune('a' + i))},
		}
		dup := must[bool](t)(b.Receive(b.ctx, c.ID, m))
		if dup != (i == 3) {
			t.Errorf("message %d: duplicate %v", i, dup)
		}
		if !dup {
			want = append(want, m)
		}
	}
	if must[bool](t)(b.Receive(b.ctx, other.ID, weir.Incoming{GUID: "g1"})) {
		t.Error("a guid of another channel counts")
	}
	got := must[[]weir.Incoming](t)(b.IncomingSince(b.ctx, c.ID, 0, 10))
	rest := must[[]weir.Incoming](t)(b.IncomingSince(b.ctx, c.ID, got[1].ID, 1))
	same(t, "the third", rest, got[2:3])
	for i := range got {
		if i > 0 && got[i].ID <= got[i-1].ID {
			t.Error("ids do not grow")
		}
		want[i].ID = got[i].ID
	}
	same(t, "messages", got, want)
	_, err := b.Receive(b.ctx, 999, weir.Incoming{})
	wantCode(t, err, weir.CodeNotFound)
}

func testChannels(t *testing.T, backend Backend) {
	b := newBench(t, backend)
	in := weir.Channel{Name: "b", Type: "verboice", Title: "Bé", Capacity: 3, Settings: weir.Settings{"url": "http://x", "n": 1.5, "on": true}}
	stored, created, err := b.PutChannel(b.ctx, in)
	b.ok(err)
	if !created || stored.ID == 0 || len(stored.Secret) < 40 || stored.Version == 0 || stored.Created.IsZero() {
		t.Errorf("created %v: %+v", created, stored)
	}
	read := must[weir.Channel](t)(b.Channel(b.ctx, "b"))
	same(t, "channel", read, stored)
	want := in
	want.ID, want.Secret, want.Version, want.Created, want.Updated = stored.ID, stored.Secret, stored.Version, stored.Created, stored.Updated
	same(t, "channel", stored, want)

	in.Capacity, in.Paused = 7, true
	again, created, err := b.PutChannel(b.ctx, in)
	b.ok(err)
	if created || again.ID != stored.ID || again.Secret != stored.Secret || again.Version != stored.Version+1 || again.Capacity != 7 || !again.Paused {
		t.Errorf("created %v: %+v", created, again)
	}
	other := in
	other.Type = "nuntium" // contacts in the queue were not accepted for this type
	_, _, err = b.PutChannel(b.ctx, other)
	wantCode(t, err, weir.CodeConflict)
	same(t, "channel", must[weir.Channel](t)(b.Channel(b.ctx, "b")), again)
	stale := stored
	stale.Title = "stale"
	_, err = b.UpdateChannel(b.ctx, stale)
	wantCode(t, err, weir.CodeConflict)
	again.Deleting = true
	changed := must[weir.Channel](t)(b.UpdateChannel(b.ctx, again))
	same(t, "changed", must[weir.Channel](t)(b.ChannelByID(b.ctx, stored.ID)), changed)
	_, err = b.Accept(b.ctx, stored.ID, specs(1))
	wantCode(t, err, weir.CodeConflict)
	_, _, err = b.PutChannel(b.ctx, in)
	wantCode(t, err, weir.CodeConflict)

	a := b.channel("a")
	if a.ID != stored.ID+1 {
		t.Errorf("ids %d and %d are not small and in sequence", stored.ID, a.ID)
	}
	list := must[[]weir.Channel](t)(b.Channels(b.ctx, "", 10))
	if len(list) != 2 || list[0].Name != "a" || list[1].Name != "b" {
		t.Errorf("channels: %+v", list)
	}
	if list := must[[]weir.Channel](t)(b.Channels(b.ctx, "a", 10)); len(list) != 1 || list[0].Name != "b" {
		t.Errorf("channels after a: %+v", list)
	}
	_, err = b.Channel(b.ctx, "none")
	wantCode(t, err, weir.CodeNotFound)
	_, err = b.ChannelByID(b.ctx, 999)
	wantCode(t, err, weir.CodeNotFound)
}

func testDelete(t *testing.T, backend Backend) {
	b := newBench(t, backend)
	id, lease := b.owned("a")
	c := b.accept(id, sms("k"))[0]
	wantCode(t, b.DeleteChannel(b.ctx, id), weir.CodeConflict)
	b.commitAll(lease, claim(c, now()))
	c, _ = b.read(c.Ref)
	wantCode(t, b.DeleteChannel(b.ctx, id), weir.CodeConflict)
	b.commitAll(lease, finish(c, now(), weir.Completed))
	b.ok(b.DeleteChannel(b.ctx, id))
	wantCode(t, b.DeleteChannel(b.ctx, id), weir.CodeNotFound)
	_, err := b.Channel(b.ctx, "a")
	wantCode(t, err, weir.CodeNotFound)
	_, err = b.Accept(b.ctx, id, specs(1))
	wantCode(t, err, weir.CodeNotFound)
	gone := must[weir.Channel](t)(b.ChannelByID(b.ctx, id))
	if !gone.Deleted || gone.Name != "a" {
		t.Errorf("deleted: %+v", gone)
	}
	if c, _ := b.read(c.Ref); c.Outcome != weir.Completed {
		t.Error("its contact cannot be read")
	}
	next := b.channel("a")
	if next.ID == id || next.Secret == gone.Secret {
		t.Errorf("the new channel is the old one: %+v", next)
	}
	list := must[[]weir.Channel](t)(b.CallbackChannels(b.ctx, "a"))
	if len(list) != 2 || list[0].ID != next.ID || list[1].ID != id {
		t.Errorf("channels for callbacks: %+v", list)
	}
}

// testUnownedChange accepts contacts into a channel that no process runs, and requires that
// a change of it counts at once: nothing is assumed of channels that are not this process's.
func testUnownedChange(t *testing.T, backend Backend) {
	url := backend.URL(t)
	a := benchOn(t, url, persistence.Options{Owner: "a"})
	b := a
	if backend.Members {
		b = benchOn(t, url, persistence.Options{Owner: "b"})
	}
	_, lease := a.owned("own") // so that a batch may assume that its own channels are as they were
	a.end(lease, weir.Completed, "", a.accept(lease.Channel, sms("own"))...)
	c := a.channel("unowned")
	a.accept(c.ID, sms("1"), sms("2"))
	c.Deleting = true
	_, _, err := b.PutChannel(b.ctx, c)
	b.ok(err)
	_, err = a.Accept(a.ctx, c.ID, specs(1))
	wantCode(t, err, weir.CodeConflict)
}
