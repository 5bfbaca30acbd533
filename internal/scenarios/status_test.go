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

// Scenario 75, providers: an answer about a channel without a status counts as up, and
// one with the status of a channel that is down does not.
func TestScenario75_AnswerWithoutAStatusCountsAsUp(t *testing.T) {
	onVirtualTime(t, func(w *world) {
		p := withProviders(w, nuntium.Options{}, verboice.Options{})
		answers := map[string][2]string{
			"up":   {`{"name":"sms","enabled":true}`, `{"id":1,"name":"main"}`},
			"down": {`{"name":"sms","enabled":true,"connected":false}`, `{"id":1,"name":"main","status":{"ok":false}}`},
		}
		want, asked := "up", 0
		p.meddles(func(rw http.ResponseWriter, r *http.Request) bool {
			if r.Method != http.MethodGet || !strings.HasPrefix(r.URL.Path, "/api/channels/") {
				return false
			}
			asked++
			body := answers[want][0]
			if r.Host == "verboice.test" {
				body = answers[want][1]
			}
			_, _ = fmt.Fprint(rw, body)
			return true
		})
		for _, want = range []string{"up", "down"} {
			asked = 0
			texts, calls := "sms-"+want, "calls-"+want
			p.smsChannel(texts, 1)
			p.callChannel(calls, 1)
			later := fields{"not_before": at(time.Hour)}
			w.accept(texts, sms("a", later))
			w.accept(calls, call("a", later))
			w.pass(10 * time.Second)
			for _, name := range []string{texts, calls} {
				if s := w.state(name); s != want {
					t.Errorf("channel %s is %s", name, s)
				}
			}
			if asked < 2 {
				t.Errorf("the providers were asked %d times", asked)
			}
		}
	})
}
