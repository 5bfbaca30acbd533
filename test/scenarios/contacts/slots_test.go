package contacts_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"weir/channels"
	nuntium "weir/channels/nuntium/simulator"
	verboice "weir/channels/verboice/simulator"
	"weir/test/scenarios/world"
)

// strangeAnswers returns answers of a provider to a question about a contact, and the
// time within which the contact must be done: 0 means a day. GUID stands for the name
// that Weir gave the message.
func strangeAnswers() map[string]struct {
	status int
	body   string
	within time.Duration
} {
	type x = struct {
		status int
		body   string
		within time.Duration
	}
	const lost = time.Hour
	return map[string]x{
		"null":     {200, `[{"guid":"GUID","state":null}]`, lost},
		"none":     {200, `[{"guid":"GUID"}]`, lost},
		"unheard":  {200, `[{"guid":"GUID","state":"teleported"}]`, lost},
		"number":   {200, `[{"guid":"GUID","state":7}]`, lost},
		"pending":  {200, `[{"guid":"GUID","state":"pending"}]`, 0},
		"copies":   {200, `[{"guid":"GUID","state":"broadcasted"}]`, 0},
		"empty":    {200, `[]`, lost},
		"others":   {200, `[{"guid":"1-zzz.0","state":"delivered"}]`, lost},
		"notfound": {404, `not found`, 0},
		"error":    {500, `oops`, 0},
		"refused":  {401, ``, 0},
		"garbage":  {200, `<html>`, 0},
		"nothing":  {200, ``, 0},
		"nulls":    {200, `null`, 0},
	}
}

// Scenario 133: whatever a provider answers to a question about a contact, every slot
// is freed in bounded time, in each state that holds one.
func TestSlots_EverySlotHasAnEnd(t *testing.T) {
	world.OnVirtualTime(t, func(w *world.World) {
		w.Core.LostAfter, w.Core.ReconcileEvery = time.Hour, 10*time.Minute // some questions less in a day
		p := world.WithProviders(w, nuntium.Options{}, verboice.Options{})
		var mu sync.Mutex
		kinds := map[string]string{} // by contact id
		calls := map[string]string{} // by call number
		p.Meddles(func(rw http.ResponseWriter, r *http.Request) bool {
			mu.Lock()
			defer mu.Unlock()
			answer := func(kind, guid string) bool {
				x := strangeAnswers()[kind]
				rw.WriteHeader(x.status)
				_, _ = fmt.Fprint(rw, strings.ReplaceAll(x.body, "GUID", guid))
				return true
			}
			switch {
			case r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/ao_messages.json"):
				rw.WriteHeader(http.StatusOK)
			case strings.HasSuffix(r.URL.Path, "/ao_messages.json"):
				token := r.URL.Query().Get("token")
				return answer(kinds[token], token+".0")
			case strings.HasSuffix(r.URL.Path, "/api/call"):
				n := fmt.Sprint(1000 + len(calls))
				calls[n] = strings.TrimPrefix(r.FormValue("callback_url"), world.CallURL(""))
				_, _ = fmt.Fprintf(rw, `{"call_id":%s,"state":"queued"}`, n)
			case strings.HasSuffix(r.URL.Path, "/state.json"):
				parts := strings.Split(r.URL.Path, "/")
				n := parts[len(parts)-2]
				state := map[string]string{"null": "null", "unheard": `"teleported"`, "pending": `"queued"`, "copies": `"active"`, "number": "7"}
				if s, ok := state[calls[n]]; ok {
					_, _ = fmt.Fprintf(rw, `{"call_id":%s,"state":%s}`, n, s)
					return true
				}
				return answer(calls[n], n)
			default:
				return false
			}
			return true
		})
		p.SmsChannel("sms", 100)
		p.CallChannel("calls", 100)
		begun := time.Now()
		due := map[string]time.Duration{}
		for kind, x := range strangeAnswers() {
			for _, how := range []string{"", " canceled"} {
				id := w.Accept("sms", world.SMS(kind+how))[kind+how]
				mu.Lock()
				kinds[id] = kind
				mu.Unlock()
				due[id] = x.within
				id = w.Accept("calls", world.Call(kind, world.Fields{"key": kind + how}))[kind+how]
				due[id] = 0
				if how != "" {
					w.Until("it is active", func() bool { return w.Contact(id)["state"] == "active" })
					w.Want(http.StatusAccepted, "DELETE", "/v1/contacts/"+id, nil)
				}
			}
		}
		ends(w, begun, due)
		w.InFlight("sms", 0)
		w.InFlight("calls", 0)
	})
}

// ends requires that each contact is done within its time: 0 means a day.
func ends(w *world.World, begun time.Time, due map[string]time.Duration) {
	w.Helper()
	slack := w.Core.IdleAfter + 2*w.Core.ReconcileEvery + 5*time.Minute
	for _, limit := range []time.Duration{time.Hour, 24 * time.Hour} {
		w.Pass(time.Until(begun.Add(limit + slack)))
		for id, within := range due {
			if within == 0 {
				within = 24 * time.Hour
			}
			if c := w.Contact(id); within <= limit && c["state"] != "done" {
				w.Errorf("after %v %v is %v: %v", limit+slack, c["key"], c["state"], c["reason"])
			}
		}
	}
}

// Scenario 133, any driver: every state that holds slots, with everything that a
// driver can find out.
func TestSlots_EveryStateHasAnEnd(t *testing.T) {
	world.OnVirtualTime(t, func(w *world.World) {
		knowledge := map[string]channels.Answer{
			"underway": {Status: channels.Underway}, "silent": {Status: channels.Underway, Silent: true}, "over": {Status: channels.Finished},
			"absent": {Status: channels.Absent}, "cannot": {Status: channels.CannotTell}, "failed": {Status: channels.QueryFailed},
		}
		w.Lab.Behave(func(l *world.Lab) {
			l.Repeats = true
			l.OnSend = func(ctx context.Context, a world.LabAttempt) channels.SendResult {
				switch s := l.Take(a); {
				case strings.Contains(a.Key, "unknown"):
					return channels.SendResult{Status: channels.Unclear, Reason: "timeout"}
				case strings.Contains(a.Key, "sending"): // the provider never answers
					<-ctx.Done()
					return channels.SendResult{Status: channels.Unclear, Reason: "timeout"}
				default:
					return s
				}
			}
			l.OnAsk = func(_ context.Context, a world.LabAttempt) channels.Answer {
				kind, _, _ := strings.Cut(a.Key, " ")
				if kind == "absent" || kind == "over" {
					l.End(a, "all", "failed")
				}
				return knowledge[kind]
			}
			l.OnCancel = func(_ context.Context, a world.LabAttempt) channels.Cancellation {
				return channels.Cancellation{Failed: strings.Contains(a.Key, "failing")}
			}
		})
		w.Core.ReconcileEvery = 10 * time.Minute
		w.Restart()
		w.Channel("ch", 100)
		begun := time.Now()
		due := map[string]time.Duration{}
		for kind := range knowledge {
			for _, state := range []string{"active", "unknown", "sending", "active canceled", "active canceled failing", "unknown canceled"} {
				key := kind + " " + state
				body := world.SMS(key)
				if kind == "absent" { // it is queued and dispatched again
					body["not_after"] = world.At(2 * time.Hour)
				}
				id := w.Accept("ch", body)[key]
				due[id] = 0
				if kind == "silent" || kind == "cannot" {
					due[id] = w.Core.LostAfter
				}
				if strings.Contains(state, "canceled") {
					w.Until("it is out", func() bool { s := w.Contact(id)["state"]; return s == "active" || s == "unknown" || s == "done" })
					w.Call("DELETE", "/v1/contacts/"+id, nil)
				}
			}
		}
		ends(w, begun, due)
		w.InFlight("ch", 0)
	})
}
