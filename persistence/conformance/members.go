package conformance

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"weir"
	"weir/internal/polling"
	"weir/persistence"
	"weir/persistence/database"
	"weir/persistence/dialect"
	"weir/persistence/storetest"
)

// testIncarnations checks that whatever an earlier incarnation of a broker submits is refused
// from when the next one has begun.
func testIncarnations(t *testing.T, backend Backend) {
	b := newBench(t, backend)
	id, first := b.owned("a")
	other, theirs := b.owned("b")
	list := b.accept(id, specs(3)...)
	before := b.later(weir.Change{By: first, Transitions: []weir.Transition{claim(list[0], now())}})
	second := b.acquire(id)
	if r := <-before; r.Err != nil || len(r.Stale) > 0 {
		t.Errorf("what was submitted before: %+v", r)
	}
	for name, by := range map[string]weir.Incarnation{
		"earlier": first, "none": {Channel: id}, "of another channel": {Channel: id, Number: theirs.Number}, "later": {Channel: id, Number: second.Number + 1},
	} {
		if r := b.commit(weir.Change{By: by, Transitions: []weir.Transition{claim(list[1], now())}}); !errors.Is(r.Err, weir.ErrSuperseded) {
			t.Errorf("%s: %+v", name, r)
		}
		got := must[[]weir.Accepted](t)(b.acceptClaimed(by, 1, sms("claimed "+name)))
		if got[0].Contact.State != weir.Queued {
			t.Errorf("%s: an accepted contact is %v", name, got[0].Contact.State)
		}
	}
	b.commitAll(second, claim(list[1], now()))
	b.commitAll(theirs, claim(b.accept(other, sms("k"))[0], now()))
}

const memoryURL = "sqlite://:memory:"

// testOneOwner lets a second process wait until the first has ended, which leaves it what is
// in flight.
func testOneOwner(t *testing.T, backend Backend) {
	url := backend.URL(t)
	if url == memoryURL {
		return // it is private to one process
	}
	a := benchOn(t, url, persistence.Options{LeaseTTL: time.Hour})
	id, old := a.owned("a")
	c := a.accept(id, sms("k"))[0]
	tr := claim(c, now())
	a.commitAll(old, tr)
	next := storetest.OpenOnly(t, url, persistence.Options{LeaseTTL: time.Hour})
	short, cancel := context.WithTimeout(a.whole, 200*time.Millisecond)
	defer cancel()
	if err := next.Join(short); err == nil {
		t.Fatal("two processes own the database")
	}
	if err := next.MigrateUp(a.ctx()); !errors.Is(err, dialect.ErrMember) {
		t.Errorf("the schema was migrated beside the owner: %v", err)
	}
	a.ok(a.Close(a.ctx()))
	b := &bench{Store: next, t: t, patience: a.patience}
	b.ok(b.Join(b.ctx()))
	same(t, "in flight", must[[]weir.Contact](t)(b.InFlight(b.ctx(), id)), []weir.Contact{tr.Contact})
	if r := b.commit(weir.Change{By: old, Transitions: []weir.Transition{finish(tr.Contact, now(), weir.Completed)}}); !errors.Is(r.Err, weir.ErrSuperseded) {
		t.Errorf("an incarnation of the former owner: %+v", r)
	}
	b.commitAll(b.acquire(id), finish(tr.Contact, now(), weir.Completed))
	if !b.Valid() || a.Valid() {
		t.Error("the owner does not own it, or the former one does")
	}
}

// testFormerOwner lets a process lose the database without knowing it: everything that it
// writes then is refused.
func testFormerOwner(t *testing.T, backend Backend) {
	if !backend.Leased {
		return // the lock of the file is lost with its process
	}
	url := backend.URL(t)
	a := benchOn(t, url, persistence.Options{LeaseTTL: time.Hour})
	id, by := a.owned("a")
	list := a.accept(id, specs(3)...)
	a.commitAll(by, claim(list[0], now())) // from now on its batches are optimistic
	storetest.Free(t, url)
	b := benchOn(t, url, persistence.Options{LeaseTTL: time.Hour})
	if !a.Valid() {
		t.Error("it knows too early")
	}
	if _, _, err := a.PutChannel(a.ctx(), weir.Channel{Name: "late", Type: "test", Capacity: 1}); !errors.Is(err, weir.ErrSuperseded) {
		t.Errorf("a channel: %v", err)
	}
	if r := a.commit(weir.Change{By: by, Transitions: []weir.Transition{claim(list[1], now())}}); !errors.Is(r.Err, weir.ErrSuperseded) {
		t.Errorf("a claim: %+v", r)
	}
	if _, err := a.Accept(a.ctx(), id, specs(1)); weir.CodeOf(err) != weir.CodeUnavailable {
		t.Errorf("a contact: %v", err)
	}
	select {
	case <-a.Lost():
	default:
		t.Error("it does not know that it has lost the database")
	}
	if a.Valid() {
		t.Error("it may still act")
	}
	mine := b.acquire(id)
	b.wantQueued(id, 2)
	b.commitAll(mine, claim(list[1], now()))
	a.ok(a.Close(a.ctx())) // releases nothing
	if !b.Valid() {
		t.Error("the owner was released by another")
	}
	b.commitAll(mine, claim(list[2], now()))
}

// testClockWentBack lets the server's clock go back by an hour: the lease of an owner that has
// ended is void, and one that lives keeps the database.
func testClockWentBack(t *testing.T, backend Backend) {
	if !backend.Leased {
		return
	}
	const lease = time.Second
	url := backend.URL(t)
	a := benchOn(t, url, persistence.Options{LeaseTTL: lease})
	set := func(what string) {
		if _, err := a.db.Pools().Write.ExecContext(a.ctx(), "UPDATE owner SET "+what); err != nil { //nolint:gosec // a text of this test
			t.Fatal(err)
		}
	}
	hour := strconv.FormatInt(time.Hour.Microseconds(), 10)
	set("expires_at = expires_at + " + hour)
	b := storetest.OpenOnly(t, url, persistence.Options{LeaseTTL: lease})
	if err := b.TryOwn(a.ctx()); !errors.Is(err, dialect.ErrMember) || !a.Valid() {
		t.Errorf("beside an owner that lives: %v", err)
	}
	set("start_number = 12345, expires_at = expires_at + " + hour) // it has ended
	begun := time.Now()
	a.ok(b.TryOwn(a.ctx()))
	if took := time.Since(begun); took < lease || took > lease+30*time.Second {
		t.Errorf("it was taken after %v", took)
	}
	if !b.Valid() || b.Epoch() != a.Epoch()+1 {
		t.Errorf("epoch %d after %d", b.Epoch(), a.Epoch())
	}
}

// testDeafOwner lets an owner not answer its own requests: it gives up the database.
func testDeafOwner(t *testing.T, backend Backend) {
	if !backend.Leased {
		return
	}
	const lease = 300 * time.Millisecond
	url := backend.URL(t)
	storetest.Migrate(t, url)
	s := storetest.OpenOnly(t, url, persistence.Options{LeaseTTL: lease})
	begun := time.Now()
	s.SetUnresponsive(func(now time.Time) time.Duration { return now.Sub(begun) })
	if err := s.Join(t.Context()); err != nil {
		t.Fatal(err)
	}
	select {
	case <-s.Lost():
	case <-time.After(time.Minute):
		t.Fatal("it goes on for ever")
	}
	if took := time.Since(begun); took < 3*lease {
		t.Errorf("it gave up after %v", took)
	}
}

// testLostAnswerToTaking lets a process own the database without knowing it, for a time that
// is almost over: it takes it again, since it may act for a lease that it has asked for.
func testLostAnswerToTaking(t *testing.T, backend Backend) {
	if !backend.Leased {
		return
	}
	const lease = time.Minute
	url := backend.URL(t)
	a := benchOn(t, url, persistence.Options{LeaseTTL: time.Hour})
	b := storetest.OpenOnly(t, url, persistence.Options{LeaseTTL: lease})
	owned := make(chan error, 1)
	go func() { owned <- b.Own(a.whole) }()
	if !polling.Until(time.Minute, time.Millisecond, func() bool { return b.Start() != 0 }) {
		t.Fatal("it does not register")
	}
	_, err := a.db.Pools().Write.ExecContext(a.ctx(), "UPDATE owner SET start_number = ?, epoch = epoch + 1, expires_at = expires_at - ?", b.Start(), (time.Hour - time.Second).Microseconds())
	a.ok(err)
	a.ok(<-owned)
	var left int64
	a.ok(a.db.Pools().Write.QueryRowContext(a.ctx(), "SELECT expires_at - CAST(UNIX_TIMESTAMP(NOW(6)) * 1000000 AS SIGNED) FROM owner").Scan(&left))
	if b.Epoch() != a.Epoch()+2 || !b.Valid() || time.Duration(left)*time.Microsecond < lease*4/5 {
		t.Errorf("epoch %d after %d; it may act: %v, and its lease ends in %v", b.Epoch(), a.Epoch(), b.Valid(), time.Duration(left)*time.Microsecond)
	}
}

// testProgramTooOld gives a program a schema that only newer ones can run on: it never owns
// the database, and says what it needs.
func testProgramTooOld(t *testing.T, backend Backend) {
	url := backend.URL(t)
	if url == memoryURL {
		return // it is new each time
	}
	a := benchOn(t, url, persistence.Options{})
	_, err := a.db.Pools().Write.ExecContext(a.ctx(), "UPDATE meta SET value = 1000 WHERE name = 'oldest_step'")
	a.ok(err)
	a.ok(a.Close(a.ctx()))
	for range 2 {
		s := storetest.OpenOnly(t, url, persistence.Options{})
		err = s.TryOwn(t.Context())
		if old, ok := errors.AsType[*database.TooOldError](err); !ok || old.Needs != 1000 || s.Owns() || s.Valid() {
			t.Errorf("%v; it owns the database: %v", err, s.Owns())
		}
		if err := s.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}
}

// testMissingCommits takes a confirmed batch away from the database, as a replica lacks it that
// was promoted before it had caught up: the owner ends, and says since when.
func testMissingCommits(t *testing.T, backend Backend) {
	if !backend.Leased {
		return
	}
	a := benchOn(t, backend.URL(t), persistence.Options{})
	id, _ := a.owned("a")
	begun := time.Now()
	a.accept(id, specs(1)...)
	a.db.Disconnect() // a new connection to a database that has everything
	a.accept(id, specs(1)...)
	if a.Missing() != nil {
		t.Fatal(a.Missing())
	}
	_, err := a.db.Pools().Write.ExecContext(a.ctx(), "DELETE FROM contacts_in_flight ORDER BY id DESC LIMIT 1")
	a.ok(err)
	a.db.Disconnect()
	if _, err := a.Accept(a.ctx(), id, specs(1)); weir.CodeOf(err) != weir.CodeUnavailable {
		t.Errorf("a contact: %v", err)
	}
	select {
	case <-a.Lost():
	case <-a.whole.Done():
		t.Fatal("it goes on for ever")
	}
	var since time.Time
	if _, after, ok := strings.Cut(fmt.Sprint(a.Missing()), "commits are missing since "); ok {
		text, _, _ := strings.Cut(after, ": ")
		since, _ = time.Parse(time.RFC3339Nano, text)
	}
	if since.Before(begun.Add(-time.Second)) || since.After(time.Now()) {
		t.Errorf("it says %v, want an instant after %v", a.Missing(), begun)
	}
	if a.Valid() {
		t.Error("it may still act")
	}
}

// testStuckOwner keeps an owner from writing while it can renew its lease: it gives up the
// database, so that another process can try.
func testStuckOwner(t *testing.T, backend Backend) {
	if !backend.Leased {
		return
	}
	const lease = 500 * time.Millisecond
	url := backend.URL(t)
	a := benchOn(t, url, persistence.Options{LeaseTTL: lease})
	id, _ := a.owned("a")
	tx, err := a.db.Pools().Write.BeginTx(a.whole, nil)
	a.ok(err)
	defer func() { _ = tx.Rollback() }()
	_, err = tx.ExecContext(a.ctx(), "UPDATE writers SET fence = fence")
	a.ok(err)
	begun := time.Now()
	go func() { _, _ = a.Accept(a.whole, id, specs(1)) }()
	select {
	case <-a.Lost():
	case <-a.whole.Done():
		t.Fatal("it goes on for ever")
	}
	if took := time.Since(begun); took < 2*lease {
		t.Errorf("it gave up after %v", took)
	}
	if a.Valid() {
		t.Error("it may still act")
	}
}

func testIncoming(t *testing.T, backend Backend) {
	b := newBench(t, backend)
	c, other := b.channel("a"), b.channel("b")
	var want []weir.Incoming
	for i, guid := range []string{"g1", "g2", "", "g1", ""} {
		m := weir.Incoming{
			From: "+1555", To: "123", Body: "hé\n" + guid, GUID: guid,
			ReceivedAt: now(), Fields: map[string]string{"n": string(rune('a' + i))},
		}
		dup := must[bool](t)(b.Receive(b.ctx(), c.ID, m))
		if dup != (i == 3) {
			t.Errorf("message %d: duplicate %v", i, dup)
		}
		if !dup {
			want = append(want, m)
		}
	}
	if must[bool](t)(b.Receive(b.ctx(), other.ID, weir.Incoming{GUID: "g1"})) {
		t.Error("a guid of another channel counts")
	}
	got := must[[]weir.Incoming](t)(b.IncomingSince(b.ctx(), c.ID, 0, 10))
	rest := must[[]weir.Incoming](t)(b.IncomingSince(b.ctx(), c.ID, got[1].ID, 1))
	same(t, "the third", rest, got[2:3])
	for i := range got {
		if i > 0 && got[i].ID <= got[i-1].ID {
			t.Error("ids do not grow")
		}
		want[i].ID = got[i].ID
	}
	same(t, "messages", got, want)
	_, err := b.Receive(b.ctx(), 999, weir.Incoming{})
	wantCode(t, err, weir.CodeNotFound)
}

func testChannels(t *testing.T, backend Backend) {
	b := newBench(t, backend)
	in := weir.Channel{Name: "b", Type: "verboice", Title: "Bé", Capacity: 3, Settings: weir.Settings{"url": "http://x", "n": json.Number("1.10"), "ids": []any{json.Number("12345678901234567890")}, "on": true}}
	stored, created, err := b.PutChannel(b.ctx(), in)
	b.ok(err)
	if !created || stored.ID == 0 || len(stored.Secret) < 40 || stored.Version == 0 || stored.Created.IsZero() {
		t.Errorf("created %v: %+v", created, stored)
	}
	read := must[weir.Channel](t)(b.Channel(b.ctx(), "b"))
	same(t, "channel", read, stored)
	want := in
	want.ID, want.Secret, want.Version, want.Created, want.Updated = stored.ID, stored.Secret, stored.Version, stored.Created, stored.Updated
	same(t, "channel", stored, want)

	in.Capacity, in.Paused, in.Type = 7, true, "nuntium"
	wantKept := func(what string, want weir.Channel) {
		t.Helper()
		is, created, err := b.PutChannel(b.ctx(), in)
		b.ok(err)
		if created {
			t.Errorf("%s was created again: %+v", what, is)
		}
		same(t, what, is, want)
		same(t, what+" as read", must[weir.Channel](t)(b.Channel(b.ctx(), "b")), want)
	}
	wantKept("a channel", stored)
	again := stored
	again.Capacity, again.Paused = 7, true
	again = must[weir.Channel](t)(b.UpdateChannel(b.ctx(), again))
	if again.ID != stored.ID || again.Secret != stored.Secret || again.Version != stored.Version+1 || again.Capacity != 7 || !again.Paused {
		t.Errorf("changed: %+v", again)
	}
	stale := stored
	stale.Title = "stale"
	_, err = b.UpdateChannel(b.ctx(), stale)
	wantCode(t, err, weir.CodeConflict)
	again.Deleting = true
	changed := must[weir.Channel](t)(b.UpdateChannel(b.ctx(), again))
	same(t, "changed", must[weir.Channel](t)(b.ChannelByID(b.ctx(), stored.ID)), changed)
	_, err = b.Accept(b.ctx(), stored.ID, specs(1))
	wantCode(t, err, weir.CodeConflict)
	wantKept("a channel that is being deleted", changed)

	a := b.channel("a")
	if a.ID != stored.ID+1 {
		t.Errorf("ids %d and %d are not small and in sequence", stored.ID, a.ID)
	}
	list := must[[]weir.Channel](t)(b.Channels(b.ctx(), "", 10))
	if len(list) != 2 || list[0].Name != "a" || list[1].Name != "b" {
		t.Errorf("channels: %+v", list)
	}
	if list := must[[]weir.Channel](t)(b.Channels(b.ctx(), "a", 10)); len(list) != 1 || list[0].Name != "b" {
		t.Errorf("channels after a: %+v", list)
	}
	_, err = b.Channel(b.ctx(), "none")
	wantCode(t, err, weir.CodeNotFound)
	_, err = b.ChannelByID(b.ctx(), 999)
	wantCode(t, err, weir.CodeNotFound)
}

func testDelete(t *testing.T, backend Backend) {
	b := newBench(t, backend)
	id, lease := b.owned("a")
	c := b.accept(id, sms("k"))[0]
	wantCode(t, b.DeleteChannel(b.ctx(), id), weir.CodeConflict)
	b.commitAll(lease, claim(c, now()))
	c, _ = b.read(c.Ref)
	wantCode(t, b.DeleteChannel(b.ctx(), id), weir.CodeConflict)
	b.commitAll(lease, finish(c, now(), weir.Completed))
	b.ok(b.DeleteChannel(b.ctx(), id))
	wantCode(t, b.DeleteChannel(b.ctx(), id), weir.CodeNotFound)
	_, err := b.Channel(b.ctx(), "a")
	wantCode(t, err, weir.CodeNotFound)
	_, err = b.Accept(b.ctx(), id, specs(1))
	wantCode(t, err, weir.CodeNotFound)
	gone := must[weir.Channel](t)(b.ChannelByID(b.ctx(), id))
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
	list := must[[]weir.Channel](t)(b.CallbackChannels(b.ctx(), "a"))
	if len(list) != 2 || list[0].ID != next.ID || list[1].ID != id {
		t.Errorf("channels for callbacks: %+v", list)
	}
}

// testChannelChange requires that a change of a channel counts at once, though the writer
// remembers channels.
func testChannelChange(t *testing.T, backend Backend) {
	b := newBench(t, backend)
	c := b.channel("a")
	b.accept(c.ID, sms("1"), sms("2"))
	c.Deleting = true
	_, err := b.UpdateChannel(b.ctx(), c)
	b.ok(err)
	_, err = b.Accept(b.ctx(), c.ID, specs(1))
	wantCode(t, err, weir.CodeConflict)
}
