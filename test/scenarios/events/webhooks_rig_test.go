package events_test

import (
	"net/http"
	"testing"
	"time"

	"weir/internal/polling"
	"weir/persistence/testmysql"
	"weir/test/scenarios/world"
)

// hookWorld returns a world that delivers to webhooks.
func hookWorld(t *testing.T) (*world.World, *world.Receivers) {
	t.Helper()
	w, r := world.NewWorld(t, testmysql.URL(t)), &world.Receivers{}
	w.Hooks = &world.Hooks{Receivers: r}
	w.Begin()
	return w, r
}

// hook creates a webhook whose address names it.
func hook(w *world.World, name string, types ...string) (path string) {
	w.Helper()
	return w.Want(http.StatusCreated, "POST", "/v1/webhooks", world.Fields{"url": hookURL(name), "types": types}).Header.Get("Location")
}

func hookURL(name string) string { return "https://" + name + ".test/" }

// goes takes a contact from its acceptance to its end.
func goes(w *world.World, channel, key string) (id string) {
	w.Helper()
	ids := w.Accept(channel, world.SMS(key))
	goAll(w, ids)
	return ids[key]
}

// goAll takes accepted contacts to their end.
func goAll(w *world.World, ids map[string]string) {
	w.Helper()
	for _, id := range ids {
		w.Becomes(id, "active")
	}
	for key := range ids {
		w.Finish(key)
	}
	for _, id := range ids {
		w.Done(id)
	}
}

// inTime waits until a condition holds, at most a minute of real time: it may take a
// fail-over, and this machine may be busy.
func inTime(w *world.World, what string, cond func() bool) {
	w.Helper()
	if !polling.Until(time.Minute, 10*time.Millisecond, cond) {
		w.Fatalf("it never came to pass: %s", what)
	}
}
