package events_test

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"path"
	"slices"
	"testing"

	"weir"
	"weir/events"
	"weir/test/scenarios/world"
)

// Scenario 257: the process that delivers to a webhook dies in the middle of calls to the
// receiver, and before it has stored what was delivered last. The next one takes over.
func TestWebhooks_DeliveryFailsOver(t *testing.T) {
	t.Parallel()
	dead, r := hookWorld(t)
	dead.Channel("one", 100)
	dead.Channel("two", 100)
	hook(dead, "hook", "weir.contact.*")
	change(r, func() { r.DieAt = 40 })
	ids := dead.Accept("one", world.Many("a", 20)...)
	maps.Copy(ids, dead.Accept("two", world.Many("b", 20)...))
	for _, key := range []string{"a-0001", "b-0001"} {
		dead.Speaks(key)
		dead.Finish(key)
		dead.Done(ids[key])
	}
	inTime(dead, "the process that delivers dies", func() (dies bool) {
		change(r, func() { dies = r.Hung > 0 })
		return dies
	})
	for _, id := range ids {
		if s := fmt.Sprint(dead.Contact(id)["state"]); s != "done" {
			dead.Becomes(id, "active")
		}
	}
	dead.Crash()
	alive := dead.Successor()
	for key, id := range ids {
		if alive.Contact(id)["state"] != "done" {
			alive.Finish(key)
		}
	}
	maps.Copy(ids, alive.Accept("one", world.Many("c", 5)...))
	for i := range 5 {
		key := fmt.Sprintf("c-%04d", i+1)
		alive.Speaks(key)
		alive.Finish(key)
	}
	for _, id := range ids {
		inTime(alive, "contact "+id+" is done", func() bool { return alive.Contact(id)["state"] == "done" })
	}
	want := alive.ContactEvents()
	if len(want) != len(ids) {
		t.Fatalf("the log has events of %d contacts, want %d", len(want), len(ids))
	}
	expect(r, alive, "hook", want)
	if _, again := got(r, t, "hook"); again == 0 {
		t.Error("no event came again: the process died at no bad moment")
	}
}

// Scenario 258: the process that delivers stalls in the middle of calls and of a write of
// its progress, until another one owns the database and has delivered everything. What
// it does when it goes on is refused: the progress stays as the successor left it.
func TestWebhooks_StalledDeliveryChangesNothing(t *testing.T) {
	t.Parallel()
	slow, r := hookWorld(t)
	slow.Channel("ch", 100)
	slow.Channel("held", 1, world.Fields{"paused": true})
	refused, refuses := slow.Accept("held", world.SMS("refused"))["refused"], true
	hook := hook(slow, "hook", "weir.contact.*")
	change(r, func() {
		r.Judge = func(c world.HookCall) int {
			if refuses && c.Contact == refused {
				return http.StatusInternalServerError
			}
			return http.StatusNoContent
		}
	})
	goes(slow, "ch", "before")
	expect(r, slow, "hook", slow.ContactEvents())

	stall(r, slow.Hooks.Now)
	slow.Pause("held", false)
	slow.Becomes(refused, "active")
	ids := slow.Accept("ch", world.Many("c", 10)...)
	for _, id := range ids {
		slow.Becomes(id, "active")
	}
	inTime(slow, "it stalls in a call and in a write", func() bool {
		r.Mu.Lock()
		defer r.Mu.Unlock()
		return r.Stuck > 0 && r.Writing > 0
	})
	quick := slow.Successor()
	ids["refused"] = refused
	goAll(quick, ids)
	stored := func() (cursor int64, waiting []string) {
		p, err := quick.Store.Progress(t.Context(), events.WebhookReceiver(path.Base(hook)))
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range p.Deferred {
			waiting = append(waiting, fmt.Sprint(d.Event, " ", d.Order))
		}
		return p.Cursor, waiting
	}
	latest, err := quick.Store.LatestEvent(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	inTime(quick, "the successor has delivered all but what is refused", func() bool {
		cursor, waiting := stored()
		return cursor == latest && len(waiting) == 3
	})
	_, before := stored()

	r.GoOn()
	inTime(slow, "its writes are answered", func() bool {
		r.Mu.Lock()
		defer r.Mu.Unlock()
		return len(r.Late) == r.Writing
	})
	for _, late := range r.Late {
		if !errors.Is(late.Err, weir.ErrSuperseded) || late.Wrote >= latest || late.Left != latest {
			t.Errorf("it wrote the position %d, with the result: %v; the position was %d, and was %d then", late.Wrote, late.Err, latest, late.Left)
		}
	}
	if cursor, waiting := stored(); cursor != latest || !slices.Equal(waiting, before) {
		t.Errorf("the progress was %d %q, and is %d %q", latest, before, cursor, waiting)
	}

	// What is stored is enough for the next one: it sends what was refused, and nothing else.
	want := quick.ContactEvents()
	quick.Crash()
	calls := len(tried(r, "hook"))
	change(r, func() { refuses = false })
	next := quick.Successor()
	expect(r, next, "hook", want)
	for _, c := range tried(r, "hook")[calls:] {
		if c.Contact != refused {
			t.Errorf("%s %s came again", c.Contact, c.Text)
		}
	}
}

// Scenario 259: a webhook is created, changed, paused, resumed and deleted while Weir delivers.
func TestWebhooks_ChangesReachTheDelivery(t *testing.T) {
	t.Parallel()
	a, r := hookWorld(t)
	a.Channel("ch", 100)
	hook(a, "all", "weir.contact.*")
	whole := []string{"dispatched 1", "accepted 1", "done 1 completed"}
	all, want := map[string][]string{}, map[string][]string{}
	contact := func(texts ...string) (id string) {
		t.Helper()
		id = goes(a, "ch", fmt.Sprint("c", len(all)))
		if all[id] = whole; texts != nil {
			want[id] = texts
		}
		expect(r, a, "all", all)
		return id
	}
	contact()

	hook := hook(a, "hook", "weir.contact.done")
	stored := func(holds func(*events.Webhook) bool) func([]events.Webhook) bool {
		return func(list []events.Webhook) bool {
			return slices.ContainsFunc(list, func(w events.Webhook) bool { return w.ID == path.Base(hook) && holds(&w) })
		}
	}
	contact("done 1 completed")
	expect(r, a, "hook", want)

	a.Want(http.StatusOK, "PATCH", hook, world.Fields{"types": []string{"weir.contact.accepted"}})
	learns(r, a, "the types", stored(func(w *events.Webhook) bool { return w.Types[0] == "weir.contact.accepted" }))
	contact("accepted 1")
	expect(r, a, "hook", want)

	paused := stored(func(w *events.Webhook) bool { return !w.Enabled })
	a.Want(http.StatusOK, "PATCH", hook, world.Fields{"enabled": false})
	learns(r, a, "the pause", paused)
	sent := len(tried(r, "hook"))
	contact("accepted 1")
	learns(r, a, "the pause still", paused)
	if n := len(tried(r, "hook")); n != sent {
		t.Fatalf("%d events were sent while it was paused", n-sent)
	}

	a.Want(http.StatusOK, "PATCH", hook, world.Fields{"enabled": true})
	expect(r, a, "hook", want) // with what came in between

	change(r, func() {
		r.Judge = func(c world.HookCall) int {
			if c.URL == hookURL("hook") {
				return http.StatusInternalServerError
			}
			return http.StatusNoContent
		}
	})
	contact()
	sent = len(tried(r, "hook"))
	inTime(a, "the event is retried", func() bool { return len(tried(r, "hook")) > sent+2 })
	a.Want(http.StatusNoContent, "DELETE", hook, nil)
	deleted := func(list []events.Webhook) bool { return !stored(func(*events.Webhook) bool { return true })(list) }
	learns(r, a, "the deletion", deleted)
	sent = len(tried(r, "hook"))
	contact()
	learns(r, a, "the deletion still", deleted)
	if n := len(tried(r, "hook")); n != sent {
		t.Errorf("%d calls after the deletion was known", n-sent)
	}
	expect(r, a, "hook", want)
	if p, err := a.Store.Progress(t.Context(), events.WebhookReceiver(path.Base(hook))); err != nil || p.Cursor != 0 || len(p.Deferred) > 0 {
		t.Errorf("a deleted webhook has the progress %+v (%v)", p, err)
	}
}
