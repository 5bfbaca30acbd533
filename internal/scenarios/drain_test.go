package scenarios_test

import (
	"context"
	"net/http"
	"sync"
	"testing"

	"weir/channels"
)

// While a drain waits for a provider, everything but dispatch goes on: requests and
// callbacks are answered and have their effect.
func TestDrain_AnswersWhileAProviderIsCalled(t *testing.T) {
	onStores(t, func(w *world) {
		held := make(chan struct{})
		release := sync.OnceFunc(func() { close(held) })
		defer release()
		w.channel("ch", 2)
		first := w.accept("ch", sms("first"))["first"]
		w.becomes(first, "active")
		w.lab.behave(func(l *lab) {
			l.onSend = func(_ context.Context, a labAttempt) channels.SendResult { <-held; return w.lab.take(a) }
		})
		second := w.accept("ch", sms("second"))["second"]
		w.becomes(second, "sending")
		waiting := w.accept("ch", sms("waiting"))["waiting"]
		quiet := make(chan error, 1)
		go func() { quiet <- w.system.Quiet(w.Context()) }()
		w.because(waiting, "stopping", "the process that runs the channel is shutting down")

		w.finish("first")
		if got := w.done(first); got != "completed" {
			t.Errorf("the contact whose callback came during the drain ended as %s", got)
		}
		late := w.accept("ch", sms("late"), sms("canceled"))
		w.want(http.StatusOK, "DELETE", "/v1/contacts/"+late["canceled"], nil)
		if got := w.done(late["canceled"]); got != "canceled" {
			t.Errorf("it ended as %s", got)
		}
		w.channel("new", 1) // its broker starts in the middle of the drain
		fresh := w.accept("new", sms("fresh"))["fresh"]
		w.because(fresh, "stopping", "the process that runs the channel is shutting down")
		select {
		case err := <-quiet:
			t.Fatalf("it did not wait for the provider: %v", err)
		default:
		}
		release()
		if err := <-quiet; err != nil {
			t.Fatal(err)
		}
		w.becomes(second, "active")
		for key, id := range map[string]string{"waiting": waiting, "late": late["late"], "fresh": fresh} {
			if state := w.contact(id)["state"]; state != "queued" || w.sends(key) > 0 {
				t.Errorf("%s is %v after the drain, sent %d times", key, state, w.sends(key))
			}
		}
		w.restart()
		w.finish("second")
		for _, id := range []string{waiting, late["late"], fresh} {
			w.becomes(id, "active")
		}
		w.expectNoDuplicates()
	})
}
