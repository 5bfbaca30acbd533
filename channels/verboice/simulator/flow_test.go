package simulator_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"weir/channels/verboice/simulator"

	"github.com/google/go-cmp/cmp"
)

const hangup = `<Response><Hangup/></Response>`

func flowOptions() simulator.Options {
	return simulator.Options{Ring: time.Second, Talk: time.Second}
}

// documents answers each flow request with the document for its path and
// records the request.
func documents(asked *[]string, byPath map[string]string) http.Handler {
	return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		query := r.URL.RawQuery
		body, _ := io.ReadAll(r.Body)
		*asked = append(*asked, strings.TrimSpace(fmt.Sprintf("%s %s?%s %s", r.Method, r.URL.Path, query, body)))
		rw.WriteHeader(http.StatusTeapot) // the simulator ignores the status
		_, _ = io.WriteString(rw, byPath[r.URL.Path])
	})
}

func TestFlow_FollowsItsDocuments(t *testing.T) {
	t.Parallel()
	gather := `<Response><Say language="en">Hi</Say><Gather action="/flow/answer" numDigits="1"><Play>x</Play></Gather><Redirect>/flow/none?d=1</Redirect></Response>`
	cases := []struct {
		name, digits string
		documents    map[string]string
		asked        []string
		last         string
	}{
		{"gather with digits", "4", map[string]string{"/flow": gather, "/flow/answer": hangup},
			[]string{"POST /flow?q=1 CallSid=1", "POST /flow/answer? CallSid=1&Digits=4"}, "completed   1"},
		{"gather falls through to redirect", "", map[string]string{"/flow": gather, "/flow/none": hangup},
			[]string{"POST /flow?q=1 CallSid=1", "POST /flow/none?d=1 CallSid=1"}, "completed   1"},
		{"get replaces the query", "", map[string]string{"/flow": `<Response><Redirect method="GET">/flow/b?gone=1</Redirect></Response>`, "/flow/b": `<Response/>`},
			[]string{"POST /flow?q=1 CallSid=1", "GET /flow/b?CallSid=1"}, "completed   1"},
		{"nothing to do", "", map[string]string{"/flow": `<Response><Pause length="1"/></Response>`}, []string{"POST /flow?q=1 CallSid=1"}, "completed   1"},
		{"bad document", "", map[string]string{"/flow": "Not TwiML"}, []string{"POST /flow?q=1 CallSid=1"}, "failed Invalid Flow  1"},
		{"unknown element", "", map[string]string{"/flow": `<Response><Sing/></Response>`}, []string{"POST /flow?q=1 CallSid=1"}, "failed unknown element Sing  1"},
		{"unknown attribute", "", map[string]string{"/flow": `<Response><Say voice="x">a</Say></Response>`}, []string{"POST /flow?q=1 CallSid=1"}, "failed unknown attribute voice of Say  1"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			o := flowOptions()
			o.Digits = c.digits
			run(t, o, func(w *world) {
				var asked []string
				w.flows = documents(&asked, c.documents)
				w.call("1", "callback_url", receiver+"/flow?q=1")
				w.pass(time.Minute)
				heard := w.callbacks()
				if d := cmp.Diff(c.asked, asked); d != "" {
					t.Errorf("flow requests (-want +got):\n%s", d)
				}
				if got := heard[len(heard)-1]; len(heard) != 3 || got != "/s/1 "+c.last {
					t.Errorf("callbacks %v, want the last to be %q", heard, c.last)
				}
			})
		})
	}
}

func TestFlow_EndlessRedirectsFailTheCall(t *testing.T) {
	run(t, flowOptions(), func(w *world) {
		var asked []string
		w.flows = documents(&asked, map[string]string{"/flow": `<Response><Redirect>/flow</Redirect></Response>`})
		id := w.call("1", "callback_url", receiver+"/flow")
		w.pass(time.Minute)
		if got := w.state(id); got != "failed" || len(asked) != 100 {
			t.Errorf("state %s after %d documents", got, len(asked))
		}
	})
}

func TestFlow_UnreachableOneFailsTheCall(t *testing.T) {
	run(t, flowOptions(), func(w *world) {
		w.call("1", "callback_url", "http://nowhere.test/flow")
		w.pass(time.Minute)
		heard := w.callbacks()
		if got := heard[len(heard)-1]; got != "/s/1 failed the flow cannot be fetched  1" {
			t.Errorf("callbacks %v", heard)
		}
	})
}

// On a POST the body is the flow, also an empty one.
func TestFlow_PostBodyBecomesFlow(t *testing.T) {
	run(t, flowOptions(), func(w *world) {
		var asked []string
		w.flows = documents(&asked, map[string]string{"/flow": hangup})
		post := func(body string) (callbacks []string) {
			w.mu.Lock()
			w.heard = nil
			w.mu.Unlock()
			if status, text := w.ask(http.MethodPost, callPath("1", "callback_url", receiver+"/flow"), strings.NewReader(body)); status != 200 {
				t.Fatalf("%d %s", status, text)
			}
			w.pass(time.Minute)
			return w.callbacks()
		}
		if heard := post(""); len(heard) != 0 || w.state(1) != "failed" {
			t.Errorf("an empty POST: %v, %s; want an invalid flow without a word", heard, w.state(1))
		}
		if heard := post(`<Response><Say>x</Say></Response>`); len(heard) != 3 || w.state(2) != "completed" || len(asked) != 0 {
			t.Errorf("inline TwiML: %v, %s, asked %v", heard, w.state(2), asked)
		}
		if heard := post(`<Response><Redirect>` + receiver + `/flow</Redirect></Response>`); len(heard) != 3 || len(asked) != 1 {
			t.Errorf("inline TwiML with a redirect: %v, asked %v", heard, asked)
		}
	})
}
