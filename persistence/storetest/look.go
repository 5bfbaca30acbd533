package storetest

import (
	"testing"
	"time"

	"weir"
	"weir/events"
	"weir/ops"
	"weir/persistence"
)

// testLook checks that one process finds work left by another, and that listeners for
// its events and tokens are called.
func testLook(t *testing.T, backend Backend) {
	url := backend.URL(t)
	a := benchOn(t, url, persistence.Options{Owner: "a", LeaseTTL: time.Hour})
	b := benchOn(t, url, persistence.Options{Owner: "b", LeaseTTL: time.Hour})
	events0, tokens0 := 0, 0
	defer a.OnEvents(func() { events0++ })()
	defer a.OnTokens(func() { tokens0++ })()
	look := func(orphans bool) ops.Polled { return must[ops.Polled](t)(a.Poll(a.ctx, 10, orphans)) }
	if found := look(true); found.News || len(found.Items)+len(found.Orphans) > 0 {
		t.Errorf("nothing was left, and there is %+v", found)
	}
	id, _ := a.owned("a")
	b.accept(id, sms("k")) // b is not the owner: it leaves an inbox item
	found := look(false)
	same(t, "items", found.Items, must[[]weir.InboxItem](t)(a.Inbox(a.ctx, 10)))
	if len(found.Items) != 1 || found.News {
		t.Errorf("word of contacts: %+v", found)
	}
	events0, tokens0 = 0, 0
	b.ok(b.Emit(b.ctx, events.Event{Type: "t", Source: "s", Subject: "u", Data: []byte("{}")}))
	if found = look(false); !found.News || events0 != 1 || tokens0 != 0 {
		t.Errorf("an event: %+v, told of events %d times, of tokens %d times", found, events0, tokens0)
	}
	token, _ := ops.NewToken("n", []ops.Scope{ops.ScopeMetricsRead}, now(), time.Time{})
	for i, change := range []func() error{
		func() error { return b.AddToken(b.ctx, token, now()) },
		func() error { return b.RevokeToken(b.ctx, token.ID, now()) },
	} {
		b.ok(change())
		if found = look(false); !found.News || tokens0 != i+1 || events0 != 1 {
			t.Errorf("change %d of a token: %+v, told %d times", i, found, tokens0)
		}
	}
	if found = look(false); found.News || tokens0 != 2 || events0 != 1 {
		t.Errorf("nothing new: %+v", found)
	}
	other, _ := b.owned("b")
	b.accept(other, sms("k"))
	if found = look(true); len(found.Orphans) > 0 {
		t.Errorf("of a living process: %+v", found)
	}
	b.ok(b.Close(b.ctx))
	if found = look(true); len(found.Orphans) > 0 {
		t.Errorf("of one whose lease is good: %+v", found)
	}
	again := benchOn(t, url, persistence.Options{Owner: "b"}) // joining under the same name ends the former leases
	b.ok(again.Close(b.ctx))
	if found = look(true); len(found.Orphans) != 1 || found.Orphans[0] != other || len(found.Items) != 1 {
		t.Errorf("of one that is gone: %+v", found)
	}
}
