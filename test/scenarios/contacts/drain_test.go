package contacts_test

import (
	"context"
	"net/http"
	"sync"
	"testing"

	"weir/channels"
	"weir/test/scenarios/world"
)

// While a drain waits for a provider, everything but dispatch goes on: requests and
// callbacks are answered and have their effect.
func TestDrain_AnswersWhileAProviderIsCalled(t *testing.T) {
	world.OnStores(t, func(w *world.World) {
		held := make(chan struct{})
		release := sync.OnceFunc(func() { close(held) })
		defer release()
		w.Channel("ch", 2)
		first := w.Accept("ch", world.SMS("first"))["first"]
		w.Becomes(first, "active")
		w.Lab.Behave(func(l *world.Lab) {
			l.OnSend = func(_ context.Context, a world.LabAttempt) channels.SendResult { <-held; return w.Lab.Take(a) }
		})
		second := w.Accept("ch", world.SMS("second"))["second"]
		w.Becomes(second, "sending")
		waiting := w.Accept("ch", world.SMS("waiting"))["waiting"]
		quiet := make(chan error, 1)
		go func() { quiet <- w.System.Quiet(w.Context()) }()
		w.Because(waiting, "stopping", "the process that runs the channel is shutting down")

		w.Finish("first")
		if got := w.Done(first); got != "completed" {
			t.Errorf("the contact whose callback came during the drain ended as %s", got)
		}
		late := w.Accept("ch", world.SMS("late"), world.SMS("canceled"))
		w.Want(http.StatusOK, "DELETE", "/v1/contacts/"+late["canceled"], nil)
		if got := w.Done(late["canceled"]); got != "canceled" {
			t.Errorf("it ended as %s", got)
		}
		w.Channel("new", 1) // its broker starts in the middle of the drain
		fresh := w.Accept("new", world.SMS("fresh"))["fresh"]
		w.Because(fresh, "stopping", "the process that runs the channel is shutting down")
		select {
		case err := <-quiet:
			t.Fatalf("it did not wait for the provider: %v", err)
		default:
		}
		release()
		if err := <-quiet; err != nil {
			t.Fatal(err)
		}
		w.Becomes(second, "active")
		for key, id := range map[string]string{"waiting": waiting, "late": late["late"], "fresh": fresh} {
			if state := w.Contact(id)["state"]; state != "queued" || w.Sends(key) > 0 {
				t.Errorf("%s is %v after the drain, sent %d times", key, state, w.Sends(key))
			}
		}
		w.Restart()
		w.Finish("second")
		for _, id := range []string{waiting, late["late"], fresh} {
			w.Becomes(id, "active")
		}
		w.ExpectNoDuplicates()
	})
}
