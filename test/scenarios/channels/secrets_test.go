package channels_test

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
	"weir/test/scenarios/world"
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
				world.OnVirtualTime(t, func(w *world.World) {
					tap := &wiretap{sent: map[string]bool{}}
					w.Transport = func(weir.Channel) http.RoundTripper { return tap }
					w.Restart()
					settings := world.Fields{}
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
					w.Channel("ch", 1, world.Fields{"type": typ.Name, "settings": settings})
					w.Pass(time.Minute)
					places := 0
					for _, s := range typ.Settings {
						if _, has := settings[s.Key]; !s.Place || !has {
							continue
						}
						places++
						change := world.Fields{s.Key: "http://evil.test"}
						w.RefusedAt("/settings/"+kind, "PATCH", "/v1/channels/ch", world.Fields{"settings": change})
						w.RefusedAt("/settings/"+kind, "PATCH", "/v1/channels/ch?force=true", world.Fields{"settings": change})
						replaced := maps.Clone(settings)
						delete(replaced, kind)
						replaced[s.Key] = "http://evil.test"
						if a := w.Call("PUT", "/v1/channels/ch", world.Fields{"type": typ.Name, "settings": replaced}); a.Status != http.StatusUnprocessableEntity {
							t.Errorf("PUT with another %s and without %s: %d", s.Key, kind, a.Status)
						}
						w.Pass(6 * time.Minute)
					}
					if places == 0 {
						t.Fatal("no setting is a place")
					}
					w.Patch("ch", world.Fields{"settings": world.Fields{"channel": "y"}}) // not an address: the secret stays
					w.Patch("ch", world.Fields{"settings": world.Fields{"base_url": "http://evil.test", kind: "new"}})
					contact := world.SMS("a")
					if typ.Content == channels.Voice {
						contact = world.Call("a")
					}
					w.Accept("ch", contact)
					w.Pass(6 * time.Minute)
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
	w := world.Program(t)
	const version = "?api-version=2023-11-01"
	rule := func(uri string, more ...world.Fields) world.Fields {
		f := world.Fields{"kind": "function", "functionUri": uri}
		for _, m := range more {
			maps.Copy(f, m)
		}
		return f
	}
	for path, in := range map[string]func(world.Fields) world.Fields{
		"/routing/distributionPolicies/d": func(f world.Fields) world.Fields {
			return world.Fields{"mode": world.Fields{"kind": "bestWorker", "scoringRule": f}}
		},
		"/routing/classificationPolicies/c": func(f world.Fields) world.Fields { return world.Fields{"prioritizationRule": f} },
	} {
		key := world.Fields{"credential": world.Fields{"functionKey": "hush"}}
		w.Want(http.StatusCreated, "PATCH", path+version, in(rule("https://good.example/f", key)))
		w.Want(http.StatusOK, "PATCH", path+version, in(rule("https://good.example/f")))
		bare := rule("https://evil.example/f")
		delete(bare, "kind")
		for _, change := range []world.Fields{rule("https://evil.example/f"), bare} {
			if a := w.Call("PATCH", path+version, in(change)); a.Status != http.StatusBadRequest || !strings.Contains(a.Text, "credential") {
				t.Errorf("%s: %d %s", path, a.Status, a.Text)
			}
		}
		w.Want(http.StatusOK, "PATCH", path+version, in(rule("https://evil.example/f", world.Fields{"credential": nil})))
		w.Want(http.StatusOK, "PATCH", path+version, in(rule("https://other.example/f", key)))
		if text := fmt.Sprint(w.Want(http.StatusOK, "GET", path+version, nil).Text); strings.Contains(text, "hush") {
			t.Errorf("%s shows the key: %s", path, text)
		}
	}
}
