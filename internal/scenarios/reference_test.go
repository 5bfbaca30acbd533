package scenarios_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	nuntium "weir/channels/nuntium/simulator"
	verboice "weir/channels/verboice/simulator"
)

// Scenario 136: an ack that overtakes the answer to the dispatch names the
// attempt, too: a Nuntium contact's name at the provider is Weir's own token.
func TestScenario136_AckBeforeTheAnswerGivesTheReference(t *testing.T) {
	onVirtualTime(t, func(w *world) {
		p := withProviders(w, nuntium.Options{}, verboice.Options{})
		early := w.early(p, func() { time.Sleep(5 * time.Second) })
		p.smsChannel("sms", 5)
		for _, c := range []fields{sms("one"), sms("two", texts("two", 2))} {
			key := c["key"].(string)
			id := w.accept("sms", c)[key]
			early(id, len(c["messages"].([]string)))
			if o := w.done(id); o != "completed" {
				t.Errorf("%s ended as %s", key, o)
			}
			w.pass(10 * time.Second) // the answer comes
			if ref := w.attempts(id)[0]["provider_ref"]; ref != id {
				t.Errorf("%s has the provider_ref %v, want %s", key, ref, id)
			}
		}
	})
}

// early has Nuntium take each batch and answer later. What it returns
// acknowledges the messages of a contact before that.
func (w *world) early(p *providers, answerTakes func()) (ack func(id string, parts int)) {
	began := make(chan struct{}, 10)
	p.meddles(func(rw http.ResponseWriter, r *http.Request) bool {
		if r.Method != http.MethodPost || !strings.HasSuffix(r.URL.Path, "/ao_messages.json") {
			return false
		}
		began <- struct{}{}
		answerTakes()
		rw.WriteHeader(http.StatusOK)
		return true
	})
	return func(id string, parts int) {
		<-began
		ch, err := w.store.Channel(w.Context(), "sms")
		if err != nil {
			w.Fatal(err)
		}
		for i := range parts {
			w.want(http.StatusOK, "POST", fmt.Sprintf("/callbacks/sms/%s/ack?guid=%s.%d&state=delivered", ch.Secret, id, i), nil)
		}
	}
}
