package scenarios_test

import (
	"fmt"
	"io"
	"maps"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"weir"
	"weir/channels"
	"weir/channels/nuntium"
	"weir/channels/verboice"
)

// wiretap answers every request of a driver and records which secret goes to which host.
type wiretap struct {
	mu   sync.Mutex
	sent map[string]bool // host and secret
}

func (w *wiretap) RoundTrip(r *http.Request) (*http.Response, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	_, password, _ := r.BasicAuth()
	for _, secret := range []string{"old", "new"} {
		if password == secret || strings.HasSuffix(r.Header.Get("Authorization"), " "+secret) {
			w.sent[r.URL.Host+" "+secret] = true
		}
	}
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: io.NopCloser(strings.NewReader("{}")), Request: r}, nil
}

// Scenario 135: a stored secret is not sent to a new address: a change of the address
// must include the secrets, for every channel type.
func TestSecrets_AreNotSentToANewPlace(t *testing.T) {
	for _, typ := range []channels.Type{nuntium.Type(), verboice.Type()} {
		for _, kind := range []string{"token", "password"} {
			t.Run(typ.Name+" "+kind, func(t *testing.T) {
				onVirtualTime(t, func(w *world) {
					tap := &wiretap{sent: map[string]bool{}}
					w.transport = func(weir.Channel) http.RoundTripper { return tap }
					w.restart()
					settings := fields{}
					for _, s := range typ.Settings {
						switch {
						case s.Kind == channels.URL:
							settings[s.Key] = "http://good.test"
						case s.Secret && s.Key == kind:
							settings[s.Key] = "old"
						case s.Required, s.Key == "channel", s.Place && (kind == "password" || typ.Name == "nuntium"):
							settings[s.Key] = "x"
						}
					}
					w.channel("ch", 1, fields{"type": typ.Name, "settings": settings})
					w.pass(time.Minute)
					places := 0
					for _, s := range typ.Settings {
						if _, has := settings[s.Key]; !s.Place || !has {
							continue
						}
						places++
						change := fields{s.Key: "http://evil.test"}
						w.refusedAt("/settings/"+kind, "PATCH", "/v1/channels/ch", fields{"settings": change})
						w.refusedAt("/settings/"+kind, "PATCH", "/v1/channels/ch?force=true", fields{"settings": change})
						replaced := maps.Clone(settings)
						delete(replaced, kind)
						replaced[s.Key] = "http://evil.test"
						if a := w.call("PUT", "/v1/channels/ch", fields{"type": typ.Name, "settings": replaced}); a.Status != http.StatusUnprocessableEntity {
							t.Errorf("PUT with another %s and without %s: %d", s.Key, kind, a.Status)
						}
						w.pass(6 * time.Minute)
					}
					if places == 0 {
						t.Fatal("no setting is a place")
					}
					w.patch("ch", fields{"settings": fields{"channel": "y"}}) // not an address: the secret stays
					w.patch("ch", fields{"settings": fields{"base_url": "http://evil.test", kind: "new"}})
					contact := sms("a")
					if typ.Content == channels.Voice {
						contact = call("a")
					}
					w.accept("ch", contact)
					w.pass(6 * time.Minute)
					if !tap.sent["good.test old"] || tap.sent["evil.test old"] || !tap.sent["evil.test new"] {
						t.Errorf("secrets went to %v", tap.sent)
					}
				})
			})
		}
	}
}

// Scenario 135, the router: the credential of a function stays with its address.
func TestSecrets_CredentialsStayWithTheirAddress(t *testing.T) {
	t.Parallel()
	w := program(t)
	const version = "?api-version=2023-11-01"
	rule := func(uri string, more ...fields) fields {
		f := fields{"kind": "function", "functionUri": uri}
		for _, m := range more {
			maps.Copy(f, m)
		}
		return f
	}
	for path, in := range map[string]func(fields) fields{
		"/routing/distributionPolicies/d":   func(f fields) fields { return fields{"mode": fields{"kind": "bestWorker", "scoringRule": f}} },
		"/routing/classificationPolicies/c": func(f fields) fields { return fields{"prioritizationRule": f} },
	} {
		key := fields{"credential": fields{"functionKey": "hush"}}
		w.want(http.StatusCreated, "PATCH", path+version, in(rule("https://good.example/f", key)))
		w.want(http.StatusOK, "PATCH", path+version, in(rule("https://good.example/f")))
		bare := rule("https://evil.example/f")
		delete(bare, "kind")
		for _, change := range []fields{rule("https://evil.example/f"), bare} {
			if a := w.call("PATCH", path+version, in(change)); a.Status != http.StatusBadRequest || !strings.Contains(a.Text, "credential") {
				t.Errorf("%s: %d %s", path, a.Status, a.Text)
			}
		}
		w.want(http.StatusOK, "PATCH", path+version, in(rule("https://evil.example/f", fields{"credential": nil})))
		w.want(http.StatusOK, "PATCH", path+version, in(rule("https://other.example/f", key)))
		if text := fmt.Sprint(w.want(http.StatusOK, "GET", path+version, nil).Text); strings.Contains(text, "hush") {
			t.Errorf("%s shows the key: %s", path, text)
		}
	}
}
