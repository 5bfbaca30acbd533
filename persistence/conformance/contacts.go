package conformance

import (
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"weir"
	"weir/persistence"
	"weir/persistence/storetest"
)

func testAccept(t *testing.T, backend Backend) {
	b := newBench(t, backend)
	c := b.channel("a")
	full := weir.Spec{
		Key: "k1", To: "+15550001", Priority: weir.High, Survey: "s1", Labels: map[string]string{"a": "ü"},
		Messages: []string{"one", "zwei — 2\n"}, NotBefore: now().Add(time.Hour), NotAfter: now().Add(2 * time.Hour),
		Trace: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
	}
	call := weir.Spec{To: "1", Priority: weir.Reply, Call: &weir.Call{TwiML: "<Response>'\"\\</Response>"}}
	got := must[[]weir.Accepted](t)(b.Accept(b.ctx(), c.ID, []weir.Spec{full, call}))
	for i, spec := range []weir.Spec{full, call} {
		stored, attempts := b.read(got[i].Contact.Ref)
		same(t, "stored contact", stored, got[i].Contact)
		same(t, "stored spec", stored.Spec, spec)
		same(t, "attempts", attempts, []weir.Attempt{})
	}
	if got[0].Contact.State != weir.Delayed || got[1].Contact.State != weir.Queued {
		t.Errorf("states %v and %v", got[0].Contact.State, got[1].Contact.State)
	}
	b.wantQueued(c.ID, 2)

	t.Run("every field is kept", func(t *testing.T) {
		spec := storetest.Filled[weir.Spec]()
		r := must[[]weir.Accepted](t)(b.Accept(b.ctx(), b.channel("filled").ID, []weir.Spec{spec}))
		stored, _ := b.read(r[0].Contact.Ref)
		same(t, "stored spec", stored.Spec, spec)
	})
	t.Run("a known key is a duplicate", func(t *testing.T) {
		again := must[[]weir.Accepted](t)(b.Accept(b.ctx(), c.ID, []weir.Spec{sms("k2"), full, sms("k2"), sms("")}))
		if again[0].Duplicate || !again[1].Duplicate || !again[2].Duplicate || again[3].Duplicate {
			t.Errorf("duplicates: %+v", again)
		}
		same(t, "the contact that has the key", again[1].Contact, got[0].Contact)
		same(t, "the same key twice in one request", again[2].Contact, again[0].Contact)
		b.wantQueued(c.ID, 4)
	})
	t.Run("a trace is no content", func(t *testing.T) {
		elsewhere := full
		elsewhere.Trace = ""
		again := must[[]weir.Accepted](t)(b.Accept(b.ctx(), c.ID, []weir.Spec{elsewhere}))
		same(t, "the contact that has the key", again[0], weir.Accepted{Contact: got[0].Contact, Duplicate: true})
	})
	t.Run("keys belong to a channel", func(t *testing.T) {
		other := b.channel("b")
		if r := must[[]weir.Accepted](t)(b.Accept(b.ctx(), other.ID, []weir.Spec{full})); r[0].Duplicate {
			t.Error("a key of another channel counts")
		}
	})
	t.Run("order", func(t *testing.T) { testAcceptOrder(t, b) })
}

// testAcceptOrder lets concurrent callers compete for the same keys.
func testAcceptOrder(t *testing.T, b *bench) {
	c := b.channel("order")
	const callers, each = 8, 60
	var mu sync.Mutex
	var wg sync.WaitGroup
	fresh := map[string]weir.ContactID{}
	for range callers {
		wg.Go(func() {
			got, err := b.Accept(b.ctx(), c.ID, specs(each))
			if err != nil {
				t.Error(err)
				return
			}
			mu.Lock()
			defer mu.Unlock()
			var last weir.ContactID
			for _, a := range got {
				if known, ok := fresh[a.Contact.Key]; ok && known != a.Contact.ID {
					t.Errorf("key %s has two contacts", a.Contact.Key)
				}
				fresh[a.Contact.Key] = a.Contact.ID
				if !a.Duplicate && a.Contact.ID <= last {
					t.Error("ids do not grow with the order of acceptance")
				}
				last = a.Contact.ID
			}
		})
	}
	wg.Wait()
	b.wantQueued(c.ID, each)
}

func testAcceptRefusals(t *testing.T, backend Backend) {
	b := newBench(t, backend)
	c := b.channel("a")
	long := sms("long")
	long.To = strings.Repeat("1", 300)
	_, err := b.Accept(b.ctx(), c.ID, []weir.Spec{sms("good"), long})
	wantCode(t, err, weir.CodeInvalid)
	b.wantQueued(c.ID, 0)
	_, err = b.Accept(b.ctx(), 999, specs(1))
	wantCode(t, err, weir.CodeNotFound)
	if got := must[[]weir.Accepted](t)(b.Accept(b.ctx(), c.ID, nil)); len(got) != 0 {
		t.Error("nothing became something")
	}
	big := specs(1500)
	for i := range big {
		big[i].Messages = []string{strings.Repeat("x", 2000)}
	}
	must[[]weir.Accepted](t)(b.Accept(b.ctx(), c.ID, big))
	b.wantQueued(c.ID, 1500)
}

func testTransitions(t *testing.T, backend Backend) {
	b := newBench(t, backend)
	id, lease := b.owned("a")
	c := b.accept(id, weir.Spec{To: "1", Survey: "s", NotAfter: now().Add(time.Hour), Messages: []string{"1", "2"}})[0]
	at := now()
	// Each step is written, read back and compared.
	apply := func(tr weir.Transition) {
		t.Helper()
		b.commitAll(lease, tr)
		c, _ = b.read(c.Ref)
		same(t, "contact", c, tr.Contact)
	}
	apply(claim(c, at))
	b.wantQueued(id, 0)
	p, err := c.MarkUnknown("quote \" and \\ and ü and \x01")
	apply(to(c, p, err))
	p, err = c.Progress.Accept(at.Add(time.Second), "ref-'1'")
	apply(to(c, p, err))
	p, _, err = c.ReportPart(at.Add(2*time.Second), 2, 1, weir.PartDelivered)
	apply(to(c, p, err))
	p, err = c.RequestCancel()
	apply(to(c, p, err))
	apply(requeue(c, at.Add(3*time.Second), at.Add(time.Minute)))
	b.wantQueued(id, 1)
	p, err = c.Ready()
	apply(to(c, p, err))
	b.wantQueued(id, 1)
	apply(claim(c, at.Add(4*time.Second)))
	apply(finish(c, at.Add(5*time.Second), weir.Completed))
	b.wantQueued(id, 0)
	_, attempts := b.read(c.Ref)
	same(t, "ended attempts", attempts, []weir.Attempt{{
		Number: 1, ClaimedAt: at, SentAt: at.Add(time.Second), HeardAt: at.Add(2 * time.Second),
		FinishedAt: at.Add(3 * time.Second), ProviderRef: "ref-'1'", Reason: "try_again",
	}})
	if open := must[[]weir.ChannelID](t)(b.OpenChannels(b.ctx())); len(open) != 0 {
		t.Errorf("open channels: %v", open)
	}
}

func testStaleness(t *testing.T, backend Backend) {
	b := newBench(t, backend)
	id, lease := b.owned("a")
	list := b.accept(id, specs(3)...)
	b.commitAll(lease, claim(list[1], now()))

	missing := list[0]
	missing.ID += 1 << 40
	bad := requeue(claim(list[1], now()).Contact, now(), time.Time{})
	bad.From, bad.Was = 0, weir.Queued
	r := b.commit(weir.Change{
		By:          lease,
		Transitions: []weir.Transition{claim(list[0], now()), bad, claim(list[2], now()), claim(missing, now())},
	})
	if r.Err != nil {
		t.Fatal(r.Err)
	}
	same(t, "stale", r.Stale, []weir.ContactID{list[1].ID, missing.ID})
	for i, want := range []weir.State{weir.Sending, weir.Sending, weir.Sending} {
		if c, attempts := b.read(list[i].Ref); c.State != want || len(attempts) != 0 {
			t.Errorf("contact %d is %v with %d attempts", i, c.State, len(attempts))
		}
	}
	b.wantQueued(id, 0)
}

// testCoalescing commits changes while the writer is busy, so that many share a
// transaction.
func testCoalescing(t *testing.T, backend Backend) {
	b := newBench(t, backend)
	id, lease := b.owned("a")
	other, otherLease := b.owned("b")
	list := b.accept(id, specs(20)...)
	foreign := b.accept(other, specs(1)...)[0]
	lost := otherLease
	lost.Number--
	var results []<-chan weir.CommitResult
	send := func(l weir.Incarnation, tr ...weir.Transition) {
		results = append(results, b.later(weir.Change{By: l, Transitions: tr}))
	}
	for i := range list {
		c := &list[i]
		for _, step := range []func(weir.Contact) weir.Transition{
			func(c weir.Contact) weir.Transition { return claim(c, now()) },
			func(c weir.Contact) weir.Transition { return requeue(c, now(), time.Time{}) },
			func(c weir.Contact) weir.Transition { return claim(c, now()) },
			func(c weir.Contact) weir.Transition { return finish(c, now(), weir.Busy) },
		} {
			tr := step(*c)
			send(lease, tr)
			*c = tr.Contact
		}
	}
	send(lost, claim(foreign, now()))
	send(otherLease, claim(foreign, now()))
	send(otherLease, claim(foreign, now())) // the same again is stale
	for i, r := range results {
		got := <-r
		switch i {
		case len(results) - 3:
			if !errors.Is(got.Err, weir.ErrSuperseded) {
				t.Errorf("a lost lease: %+v", got)
			}
		case len(results) - 1:
			same(t, "stale", got.Stale, []weir.ContactID{foreign.ID})
		default:
			if got.Err != nil || len(got.Stale) > 0 {
				t.Errorf("change %d: %+v", i, got)
			}
		}
	}
	for i := range list {
		stored, attempts := b.read(list[i].Ref)
		same(t, "contact", stored, list[i])
		if len(attempts) != 1 || attempts[0].Number != 1 {
			t.Errorf("attempts: %+v", attempts)
		}
	}
	b.wantQueued(id, 0)
	b.wantQueued(other, 0)
}

func testGuilty(t *testing.T, backend Backend) {
	b := newBench(t, backend)
	id, lease := b.owned("a")
	list := b.accept(id, specs(30)...)
	// An attempt that is recorded twice violates a unique key: the second one is at fault.
	twice := requeue(claim(list[0], now()).Contact, now(), time.Time{})
	twice.From, twice.Was, twice.Contact.Rev = 0, weir.Queued, 1
	b.commitAll(lease, twice)
	again := claim(twice.Contact, now())
	again.Ended = twice.Ended
	var results []<-chan weir.CommitResult
	for i := range list[1:] {
		results = append(results, b.later(weir.Change{By: lease, Transitions: []weir.Transition{claim(list[i+1], now())}}))
		if i == 10 {
			results = append(results, b.later(weir.Change{By: lease, Transitions: []weir.Transition{again}}))
		}
	}
	failed := 0
	for i, r := range results {
		if got := <-r; got.Err != nil {
			failed++
			if i != 11 {
				t.Errorf("change %d failed: %v", i, got.Err)
			}
		}
	}
	if failed != 1 {
		t.Errorf("%d changes failed, want the guilty one", failed)
	}
	b.wantQueued(id, 1)
}

func testClosing(t *testing.T, backend Backend) {
	url := backend.URL(t)
	b := benchOn(t, url, persistence.Options{})
	id, lease := b.owned("a")
	list := b.accept(id, specs(200)...)
	var results []<-chan weir.CommitResult
	for i := range list {
		results = append(results, b.later(weir.Change{By: lease, Transitions: []weir.Transition{claim(list[i], now())}}))
	}
	b.ok(b.Close(b.ctx()))
	for i, r := range results {
		if got := <-r; got.Err != nil {
			t.Fatalf("change %d was not written: %v", i, got.Err)
		}
	}
	if r := b.commit(weir.Change{By: lease}); r.Err == nil {
		t.Error("a closed store took a change")
	}
	_, err := b.Accept(b.ctx(), id, specs(1))
	wantCode(t, err, weir.CodeUnavailable)
}

func testIdentifiers(t *testing.T, backend Backend) {
	b := newBench(t, backend)
	c := b.channel("a")
	var list []weir.Spec
	for _, key := range []string{"k", "K", "k ", " k", "é", "e\u0301", "É", "ß", "ss", "k\x00"} {
		list = append(list, sms(key))
	}
	for i, a := range must[[]weir.Accepted](t)(b.Accept(b.ctx(), c.ID, list)) {
		if a.Duplicate {
			t.Errorf("key %q is taken for another", list[i].Key)
		}
		found := must2(t)(b.Contacts(b.ctx(), weir.ContactFilter{Channel: c.ID, Key: list[i].Key}))
		if len(found) != 1 || found[0].ID != a.Contact.ID {
			t.Errorf("key %q finds %d contacts", list[i].Key, len(found))
		}
	}
	for _, guid := range []string{"g", "G", "g "} {
		if dup := must[bool](t)(b.Receive(b.ctx(), c.ID, weir.Incoming{GUID: guid})); dup {
			t.Errorf("guid %q is taken for another", guid)
		}
	}
	if _, err := b.Channel(b.ctx(), "A"); weir.CodeOf(err) != weir.CodeNotFound {
		t.Error("channel names do not mind case")
	}
}

func must2(t testing.TB) func([]weir.Contact, string, error) []weir.Contact {
	return func(list []weir.Contact, _ string, err error) []weir.Contact {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return list
	}
}
