package twilio_test

import (
	"context"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"weir"
	"weir/channels"
	"weir/channels/simulation/memnet"
	"weir/channels/twilio/simulator"
	"weir/internal/httponce"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	secret     = "s3cr3tpath"
	token      = "t0k3nofaccount"
	number     = "+15550001234"
	publicURL  = "https://weir.example/prefix"
	callbacks  = publicURL + "/callbacks/sms/" + secret
	callbackOf = "/callbacks/sms/" + secret + "/"
)

// world is a simulated Twilio and the two ends that talk to it, in one synctest
// bubble, so that time is exact. Between Twilio and our endpoint is a proxy that
// ends TLS and rewrites host, scheme and prefix.
type world struct {
	t      *testing.T
	sim    *simulator.Server
	driver channels.Driver

	mu      sync.Mutex
	status  func(n int) int // of the n-th callback, from 1; nil: as the result determines
	heard   int
	results []channels.CallbackResult
	forged  int
}

func textSettings(more ...weir.Settings) weir.Settings {
	return with(weir.Settings{"base_url": "http://twilio.test", "account_sid": simulator.AccountSID, "auth_token": token, "from": "+15559990000"}, more...)
}

func voiceSettings(more ...weir.Settings) weir.Settings { return textSettings(more...) }

func with(s weir.Settings, more ...weir.Settings) weir.Settings {
	for _, m := range more {
		for k, v := range m {
			s[k] = v
			if v == nil {
				delete(s, k)
			}
		}
	}
	return s
}

func inWorld(t *testing.T, typ channels.Type, o simulator.Options, settings weir.Settings, test func(w *world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := &world{t: t}
		var network memnet.Network
		transport := httponce.New(httponce.Options{Dial: network.Dial})
		o.Client, o.AuthToken, o.IncomingURL = &http.Client{Transport: toProxy{transport}}, token, callbacks+"/incoming"
		var err error
		if w.sim, err = simulator.New(o); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(transport.CloseIdleConnections)
		t.Cleanup(network.Serve("weir.test", http.HandlerFunc(w.callback)))
		t.Cleanup(network.Host("twilio.test", w.sim, w.sim.Run))
		if errs := typ.CheckSettings(settings, 10); len(errs) > 0 {
			t.Fatal(errs)
		}
		w.driver, err = typ.New(channels.Config{Settings: settings, CallbackURL: callbacks, HTTP: &http.Client{Transport: transport}})
		if err != nil {
			t.Fatal(err)
		}
		test(w)
	})
}

// toProxy rewrites a request as a proxy in front of Weir does.
type toProxy struct{ http.RoundTripper }

func (p toProxy) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.URL.Scheme, r.URL.Host, r.Host = "http", "weir.test", "weir.test"
	r.URL.Path = strings.TrimPrefix(r.URL.Path, "/prefix")
	return p.RoundTripper.RoundTrip(r)
}

// callback is our endpoint, as the web package implements it.
func (w *world) callback(rw http.ResponseWriter, r *http.Request) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.heard++
	if w.status != nil {
		if status := w.status(w.heard); status != 0 {
			rw.WriteHeader(status)
			return
		}
	}
	result, err := w.driver.ParseCallback(callbackFrom(r))
	switch {
	case err == channels.ErrForged: //nolint:errorlint // as returned
		w.forged++
		rw.WriteHeader(http.StatusForbidden)
	case err != nil:
		rw.WriteHeader(http.StatusBadRequest)
	default:
		w.results = append(w.results, result)
	}
}

func callbackFrom(r *http.Request) channels.Callback {
	body, _ := io.ReadAll(r.Body)
	form, _ := url.ParseQuery(string(body))
	return channels.Callback{
		Method: r.Method, Path: strings.TrimPrefix(r.URL.Path, callbackOf), Query: r.URL.Query(), Form: form, Body: body,
		Header: r.Header, PublicURL: publicURL, Target: r.URL.RequestURI(), At: time.Now(),
	}
}

func (w *world) after(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

func (w *world) send(a channels.Attempt) channels.SendResult {
	ctx, cancel := context.WithTimeout(w.t.Context(), 10*time.Second)
	defer cancel()
	return w.driver.Send(ctx, a)
}

func (w *world) ask(a channels.Attempt) channels.Answer {
	ctx, cancel := context.WithTimeout(w.t.Context(), 10*time.Second)
	defer cancel()
	answer := w.driver.Query(ctx, a)
	for i := range answer.Reports {
		answer.Reports[i].At = time.Time{}
	}
	return answer
}

func (w *world) reports() []weir.Report {
	w.mu.Lock()
	defer w.mu.Unlock()
	var out []weir.Report
	for _, r := range w.results {
		out = append(out, r.Reports...)
	}
	return out
}

func (w *world) outcomes() string {
	var out []string
	for _, r := range w.reports() {
		o := string(r.Outcome)
		if o == "" {
			o = "-"
		}
		out = append(out, o)
	}
	return strings.Join(out, " ")
}

func attempt(messages ...string) channels.Attempt {
	return channels.Attempt{
		ID: weir.AttemptRef{Ref: weir.Ref{Channel: 7, ID: 71}, Number: 2}, To: number, Messages: messages, ClaimedAt: time.Now(),
	}
}

func callAttempt() channels.Attempt {
	a := attempt()
	a.Call = &weir.Call{TwiML: "<Response><Say>hello</Say></Response>"}
	return a
}

func keepsSecrets(t testing.TB, text string) {
	t.Helper()
	for _, s := range []string{secret, token, number, number[1:], "hello", simulator.AccountSID} {
		if strings.Contains(text, s) {
			t.Errorf("%q shows %q", text, s)
		}
	}
}
