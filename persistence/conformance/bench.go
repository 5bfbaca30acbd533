package conformance

import (
	"bytes"
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"weir"
	"weir/operators"
	"weir/persistence"
	"weir/persistence/dialect"
	"weir/persistence/fill"
	"weir/persistence/storetest"
)

// Backend is a kind of database that the suite runs on.
type Backend struct {
	// URL returns the URL of a new, empty database.
	URL func(t testing.TB) string
	// Leased is set if a lease says which process owns the database.
	Leased bool
}

// bench is a store with the helper methods of the suite.
type bench struct {
	*persistence.Store
	patience
	t  testing.TB
	db dialect.Database
}

// patience bounds a topic, and each call of it.
type patience struct{ whole context.Context }

func newPatience(t testing.TB) patience {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute) // for one that hangs
	t.Cleanup(cancel)
	return patience{ctx}
}

// ctx returns the context of a call. How many calls a topic makes does not count, on a busy machine.
func (p patience) ctx() context.Context {
	ctx, cancel := context.WithTimeout(p.whole, 10*time.Second)
	context.AfterFunc(ctx, cancel)
	return ctx
}

func newBench(t testing.TB, b Backend) *bench {
	t.Helper()
	return benchOn(t, b.URL(t), persistence.Options{})
}

func benchOn(t testing.TB, url string, o persistence.Options) *bench {
	t.Helper()
	s, db := storetest.OpenWithDatabase(t, url, o)
	return &bench{Store: s, patience: newPatience(t), t: t, db: db}
}

// fill inserts rows past the store, all in one transaction: a thousand transactions of the
// store take a minute on a server that is busy with other tests. Values are SQL expressions
// of n, the row's number from 1 on; the id is n itself.
func (b *bench) fill(table string, rows int, values map[string]string) {
	b.t.Helper()
	columns := []fill.Column{{Name: "id", Value: "n"}}
	for name, value := range values {
		columns = append(columns, fill.Column{Name: name, Value: value})
	}
	b.ok(fill.Rows(b.whole, b.db.Pools().Write, table, columns, 1, rows))
}

// must fails the test on an error.
func must[T any](t testing.TB) func(T, error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func (b *bench) ok(err error) {
	b.t.Helper()
	if err != nil {
		b.t.Fatal(err)
	}
}

func (b *bench) channel(name string) weir.Channel {
	b.t.Helper()
	c, _, err := b.PutChannel(b.ctx(), weir.Channel{Name: name, Type: "test", Capacity: 10})
	b.ok(err)
	return c
}

// owned makes a channel and begins an incarnation of its broker.
func (b *bench) owned(name string) (weir.ChannelID, weir.Incarnation) {
	b.t.Helper()
	c := b.channel(name)
	return c.ID, b.acquire(c.ID)
}

func (b *bench) acquire(id weir.ChannelID) weir.Incarnation {
	b.t.Helper()
	return must[weir.Incarnation](b.t)(b.Incarnate(b.ctx(), id))
}

func (b *bench) accept(id weir.ChannelID, specs ...weir.Spec) []weir.Contact {
	b.t.Helper()
	got, err := b.Accept(b.ctx(), id, specs)
	b.ok(err)
	list := make([]weir.Contact, len(got))
	for i := range got {
		list[i] = got[i].Contact
	}
	return list
}

// commit waits for the result of a change.
func (b *bench) commit(c weir.Change) weir.CommitResult {
	b.t.Helper()
	return <-b.later(c)
}

func (b *bench) later(c weir.Change) <-chan weir.CommitResult {
	done := make(chan weir.CommitResult, 1)
	b.Commit(c, func(r weir.CommitResult) { done <- r })
	return done
}

// commitAll commits and requires that there is no error and no stale transition.
func (b *bench) commitAll(l weir.Incarnation, list ...weir.Transition) {
	b.t.Helper()
	if r := b.commit(weir.Change{By: l, Transitions: list}); r.Err != nil || len(r.Stale) > 0 {
		b.t.Fatalf("commit: %+v", r)
	}
}

func (b *bench) read(ref weir.Ref) (weir.Contact, []weir.Attempt) {
	b.t.Helper()
	c, attempts, err := b.Contact(b.ctx(), ref)
	b.ok(err)
	return c, attempts
}

func (b *bench) wantQueued(id weir.ChannelID, want int64) {
	b.t.Helper()
	if got := must[int64](b.t)(b.QueuedCount(b.ctx(), id)); got != want {
		b.t.Errorf("%d contacts are counted as queued, want %d", got, want)
	}
}

// to returns the transition of a contact to a progress.
func to(c weir.Contact, p weir.Progress, err error) weir.Transition {
	if err != nil {
		panic(err)
	}
	t := weir.Transition{From: c.Rev, Was: c.State, Contact: c}
	t.Contact.Progress = p
	return t
}

func claim(c weir.Contact, now time.Time) weir.Transition {
	p, err := c.Claim(now)
	return to(c, p, err)
}

func finish(c weir.Contact, now time.Time, o weir.Outcome) weir.Transition {
	p, err := c.Finish(now, o, "said so")
	return to(c, p, err)
}

func requeue(c weir.Contact, now, due time.Time) weir.Transition {
	p, ended, err := c.Requeue(now, due, "try_again")
	t := to(c, p, err)
	t.Ended = &ended
	return t
}

// sms returns a spec with one message.
func sms(key string) weir.Spec {
	return weir.Spec{Key: key, To: "+15550001", Priority: weir.Normal, Messages: []string{"hello"}}
}

func specs(n int) []weir.Spec {
	list := make([]weir.Spec, n)
	for i := range list {
		list[i] = sms(fmt.Sprintf("key-%d", i))
	}
	return list
}

// now returns the current instant with the store's precision, microseconds.
func now() time.Time { return time.Now().UTC().Truncate(time.Microsecond) }

func ids(list []weir.Contact) []weir.ContactID {
	out := make([]weir.ContactID, len(list))
	for i := range list {
		out[i] = list[i].ID
	}
	return out
}

func same(t testing.TB, what string, got, want any) {
	t.Helper()
	// Byte by byte, cmp takes half a minute for slices that bytes.Equal compares instantly.
	quick := cmp.FilterValues(func(a, b []byte) bool { return len(a)+len(b) > 0 }, cmp.Comparer(bytes.Equal))
	if d := cmp.Diff(want, got, cmpopts.EquateEmpty(), quick); d != "" {
		t.Errorf("%s (-want +got):\n%s", what, d)
	}
}

func wantCode(t testing.TB, err error, want weir.Code) {
	t.Helper()
	if got := weir.CodeOf(err); got != want {
		t.Errorf("error %v has code %q, want %q", err, got, want)
	}
}

// end finishes contacts with an outcome and a reason.
func (b *bench) end(lease weir.Incarnation, o weir.Outcome, reason string, list ...weir.Contact) []weir.Contact {
	b.t.Helper()
	var claims, ends []weir.Transition
	for i := range list {
		tr := claim(list[i], now())
		claims = append(claims, tr)
		p, err := tr.Contact.Finish(now(), o, reason)
		ends = append(ends, to(tr.Contact, p, err))
		list[i] = ends[i].Contact
	}
	b.commitAll(lease, claims...)
	b.commitAll(lease, ends...)
	return list
}

// oldestQueued returns when the oldest queued contact of a channel was accepted.
func (b *bench) oldestQueued(channel weir.ChannelID) time.Time {
	b.t.Helper()
	return must[map[weir.ChannelID]operators.Backlog](b.t)(b.Backlogs(b.ctx(), []weir.ChannelID{channel}))[channel].OldestQueuedAt
}
