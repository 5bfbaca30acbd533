package contacts_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	nuntium "weir/channels/nuntium/simulator"
	verboice "weir/channels/verboice/simulator"
	"weir/test/scenarios/world"
)

// Scenario 75, providers: a channel answer without a status counts as up; an answer
// with the status of a channel that is down does not.
func TestProviderAnswers_AnswerWithoutAStatusCountsAsUp(t *testing.T) {
	world.OnVirtualTime(t, func(w *world.World) {
		p := world.WithProviders(w, nuntium.Options{}, verboice.Options{})
		answers := map[string][2]string{
			"up":   {`{"name":"sms","enabled":true}`, `{"id":1,"name":"main"}`},
			"down": {`{"name":"sms","enabled":true,"connected":false}`, `{"id":1,"name":"main","status":{"ok":false}}`},
		}
		want := "up"
		var asked atomic.Int64 // both providers count
		p.Meddles(func(rw http.ResponseWriter, r *http.Request) bool {
			if r.Method != http.MethodGet || !strings.HasPrefix(r.URL.Path, "/api/channels/") {
				return false
			}
			asked.Add(1)
			body := answers[want][0]
			if r.Host == "verboice.test" {
				body = answers[want][1]
			}
			_, _ = fmt.Fprint(rw, body)
			return true
		})
		for _, want = range []string{"up", "down"} {
			asked.Store(0)
			texts, calls := "sms-"+want, "calls-"+want
			p.SmsChannel(texts, 1)
			p.CallChannel(calls, 1)
			later := world.Fields{"not_before": world.At(time.Hour)}
			w.Accept(texts, world.SMS("a", later))
			w.Accept(calls, world.Call("a", later))
			w.Pass(10 * time.Second)
			for _, name := range []string{texts, calls} {
				if s := w.State(name); s != want {
					t.Errorf("channel %s is %s", name, s)
				}
			}
			if n := asked.Load(); n < 2 {
				t.Errorf("the providers were asked %d times", n)
			}
		}
	})
}

// Scenario 136: an ack that arrives before the answer to its dispatch identifies the
// attempt, too: a Nuntium contact's name at the provider is Weir's own token.
func TestProviderAnswers_AckBeforeTheAnswerGivesTheReference(t *testing.T) {
	world.OnVirtualTime(t, func(w *world.World) {
		p := world.WithProviders(w, nuntium.Options{}, verboice.Options{})
		began := make(chan struct{}, 1)
		p.Meddles(func(rw http.ResponseWriter, r *http.Request) bool {
			if r.Method != http.MethodPost || !strings.HasSuffix(r.URL.Path, "/ao_messages.json") {
				return false
			}
			began <- struct{}{}
			time.Sleep(5 * time.Second)
			rw.WriteHeader(http.StatusOK)
			return true
		})
		p.SmsChannel("sms", 5)
		ch, err := w.Store.Channel(w.Context(), "sms")
		if err != nil {
			t.Fatal(err)
		}
		for key, parts := range map[string]int{"one": 1, "two": 2} {
			id := w.Accept("sms", world.SMS(key, world.Texts(key, parts)))[key]
			<-began
			for i := range parts {
				w.Want(http.StatusOK, "POST", fmt.Sprintf("/callbacks/sms/%s/ack?guid=%s.%d&state=delivered", ch.Secret, id, i), nil)
			}
			if o := w.Done(id); o != "completed" {
				t.Errorf("%s ended as %s", key, o)
			}
			w.Pass(10 * time.Second) // the answer arrives
			if ref := w.Attempts(id)[0]["provider_ref"]; ref != id {
				t.Errorf("%s has the provider_ref %v, want %s", key, ref, id)
			}
		}
	})
}
