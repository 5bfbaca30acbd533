package scenarios_test

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
)

// Scenario 257: the process that delivers to a webhook dies in the middle of calls to the
// receiver, and before it has stored what was delivered last. The next one takes over.
func TestWebhooks_DeliveryFailsOver(t *testing.T) {
	t.Parallel()
	dead, r := hookWorld(t)
	dead.channel("one", 100)
	dead.channel("two", 100)
	dead.hook("hook", "weir.contact.*")
	r.change(func() { r.dieAt = 40 })
	ids := dead.accept("one", many("a", 20)...)
	maps.Copy(ids, dead.accept("two", many("b", 20)...))
	for _, key := range []string{"a-0001", "b-0001"} {
		dead.speaks(key)
		dead.finish(key)
		dead.done(ids[key])
	}
	dead.inTime("the process that delivers dies", func() (dies bool) {
		r.change(func() { dies = r.hung > 0 })
		return dies
	})
	for _, id := range ids {
		if s := fmt.Sprint(dead.contact(id)["state"]); s != "done" {
			dead.becomes(id, "active")
		}
	}
	dead.crash()
	alive := dead.successor()
	for key, id := range ids {
		if alive.contact(id)["state"] != "done" {
			alive.finish(key)
		}
	}
	maps.Copy(ids, alive.accept("one", many("c", 5)...))
	for i := range 5 {
		key := fmt.Sprintf("c-%04d", i+1)
		alive.speaks(key)
		alive.finish(key)
	}
	for _, id := range ids {
		alive.inTime("contact "+id+" is done", func() bool { return alive.contact(id)["state"] == "done" })
	}
	want := alive.contactEvents()
	if len(want) != len(ids) {
		t.Fatalf("the log has events of %d contacts, want %d", len(want), len(ids))
	}
	r.expect(alive, "hook", want)
	if _, again := r.got(t, "hook"); again == 0 {
		t.Error("no event came again: the process died at no bad moment")
	}
}

// Scenario 258: the process that delivers stalls in the middle of calls and of a write of
// its progress, until another one owns the database and has delivered everything. What
// it does when it goes on is refused: the progress stays as the successor left it.
func TestWebhooks_StalledDeliveryChangesNothing(t *testing.T) {
	t.Parallel()
	slow, r := hookWorld(t)
	slow.channel("ch", 100)
	slow.channel("held", 1, fields{"paused": true})
	refused, refuses := slow.accept("held", sms("refused"))["refused"], true
	hook := slow.hook("hook", "weir.contact.*")
	r.change(func() {
		r.judge = func(c hookCall) int {
			if refuses && c.contact == refused {
				return http.StatusInternalServerError
			}
			return http.StatusNoContent
		}
	})
	slow.goes("ch", "before")
	r.expect(slow, "hook", slow.contactEvents())

	r.stall(slow.hooks.now)
	slow.pause("held", false)
	slow.becomes(refused, "active")
	ids := slow.accept("ch", many("c", 10)...)
	for _, id := range ids {
		slow.becomes(id, "active")
	}
	slow.inTime("it stalls in a call and in a write", func() bool {
		r.mu.Lock()
		defer r.mu.Unlock()
		return r.stuck > 0 && r.writing > 0
	})
	quick := slow.successor()
	ids["refused"] = refused
	quick.goAll(ids)
	stored := func() (cursor int64, waiting []string) {
		p, err := quick.store.Progress(t.Context(), events.WebhookReceiver(path.Base(hook)))
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range p.Deferred {
			waiting = append(waiting, fmt.Sprint(d.Event, " ", d.Order))
		}
		return p.Cursor, waiting
	}
	latest, err := quick.store.LatestEvent(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	quick.inTime("the successor has delivered all but what is refused", func() bool {
		cursor, waiting := stored()
		return cursor == latest && len(waiting) == 3
	})
	_, before := stored()

	r.goOn()
	slow.inTime("its writes are answered", func() bool {
		r.mu.Lock()
		defer r.mu.Unlock()
		return len(r.late) == r.writing
	})
	for _, late := range r.late {
		if !errors.Is(late.err, weir.ErrSuperseded) || late.wrote >= latest || late.left != latest {
			t.Errorf("it wrote the position %d, with the result: %v; the position was %d, and was %d then", late.wrote, late.err, latest, late.left)
		}
	}
	if cursor, waiting := stored(); cursor != latest || !slices.Equal(waiting, before) {
		t.Errorf("the progress was %d %q, and is %d %q", latest, before, cursor, waiting)
	}

	// What is stored is enough for the next one: it sends what was refused, and nothing else.
	want := quick.contactEvents()
	quick.crash()
	calls := len(r.tried("hook"))
	r.change(func() { refuses = false })
	next := quick.successor()
	r.expect(next, "hook", want)
	for _, c := range r.tried("hook")[calls:] {
		if c.contact != refused {
			t.Errorf("%s %s came again", c.contact, c.text)
		}
	}
}

// Scenario 259: a webhook is created, changed, paused, resumed and deleted while Weir delivers.
func TestWebhooks_ChangesReachTheDelivery(t *testing.T) {
	t.Parallel()
	a, r := hookWorld(t)
	a.channel("ch", 100)
	a.hook("all", "weir.contact.*")
	whole := []string{"dispatched 1", "accepted 1", "done 1 completed"}
	all, want := map[string][]string{}, map[string][]string{}
	contact := func(texts ...string) (id string) {
		t.Helper()
		id = a.goes("ch", fmt.Sprint("c", len(all)))
		if all[id] = whole; texts != nil {
			want[id] = texts
		}
		r.expect(a, "all", all)
		return id
	}
	contact()

	hook := a.hook("hook", "weir.contact.done")
	stored := func(holds func(*events.Webhook) bool) func([]events.Webhook) bool {
		return func(list []events.Webhook) bool {
			return slices.ContainsFunc(list, func(w events.Webhook) bool { return w.ID == path.Base(hook) && holds(&w) })
		}
	}
	contact("done 1 completed")
	r.expect(a, "hook", want)

	a.want(http.StatusOK, "PATCH", hook, fields{"types": []string{"weir.contact.accepted"}})
	r.learns(a, "the types", stored(func(w *events.Webhook) bool { return w.Types[0] == "weir.contact.accepted" }))
	contact("accepted 1")
	r.expect(a, "hook", want)

	paused := stored(func(w *events.Webhook) bool { return !w.Enabled })
	a.want(http.StatusOK, "PATCH", hook, fields{"enabled": false})
	r.learns(a, "the pause", paused)
	sent := len(r.tried("hook"))
	contact("accepted 1")
	r.learns(a, "the pause still", paused)
	if n := len(r.tried("hook")); n != sent {
		t.Fatalf("%d events were sent while it was paused", n-sent)
	}

	a.want(http.StatusOK, "PATCH", hook, fields{"enabled": true})
	r.expect(a, "hook", want) // with what came in between

	r.change(func() {
		r.judge = func(c hookCall) int {
			if c.url == hookURL("hook") {
				return http.StatusInternalServerError
			}
			return http.StatusNoContent
		}
	})
	contact()
	sent = len(r.tried("hook"))
	a.inTime("the event is retried", func() bool { return len(r.tried("hook")) > sent+2 })
	a.want(http.StatusNoContent, "DELETE", hook, nil)
	deleted := func(list []events.Webhook) bool { return !stored(func(*events.Webhook) bool { return true })(list) }
	r.learns(a, "the deletion", deleted)
	sent = len(r.tried("hook"))
	contact()
	r.learns(a, "the deletion still", deleted)
	if n := len(r.tried("hook")); n != sent {
		t.Errorf("%d calls after the deletion was known", n-sent)
	}
	r.expect(a, "hook", want)
	if p, err := a.store.Progress(t.Context(), events.WebhookReceiver(path.Base(hook))); err != nil || p.Cursor != 0 || len(p.Deferred) > 0 {
		t.Errorf("a deleted webhook has the progress %+v (%v)", p, err)
	}
}
