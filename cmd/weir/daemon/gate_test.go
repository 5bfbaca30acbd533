package daemon_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"weir/channels/nuntium/simulator"
	"weir/cmd/weir/daemon"
	"weir/config"
	"weir/operators"
	"weir/persistence"
	"weir/persistence/storetest"
	"weir/test/daemontest"
)

// makeToken makes a token as weir token create does: outside the daemon.
func makeToken(t *testing.T, database string, scopes ...operators.Scope) (id, text string) {
	t.Helper()
	s := storetest.OpenOnly(t, database, persistence.Options{})
	if pending, err := s.Pending(t.Context()); err != nil {
		t.Fatal(err)
	} else if pending > 0 {
		if err := s.MigrateUp(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	token, text := operators.NewToken("n", scopes, time.Now(), time.Time{})
	if err := s.AddToken(t.Context(), token, time.Now()); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	return token.ID, text
}

// The daemon refuses an address that other machines can reach while the API is
// open to everyone. The address in this test belongs to no machine, so the daemon
// never listens.
func TestGate_ReachableAddressNeedsAToken(t *testing.T) {
	t.Parallel()
	start := func(database string, environ ...string) error {
		c := configuration(t, append(environ, "DATABASE_URL="+database, "LISTEN_ADDR=192.0.2.1:0")...)
		_, err := daemon.New(t.Context(), daemon.Options{Config: c})
		return err
	}
	database := sqliteURL(t)
	wrong := (*config.Error)(nil)
	if err := start(database); !errors.As(err, &wrong) || len(wrong.Invalid) != 1 || wrong.Invalid[0].Variable != "LISTEN_ADDR" || !strings.Contains(err.Error(), "weir token create") {
		t.Errorf("without a token: %v", err)
	}
	for what, err := range map[string]error{
		"configured": start(database, "WEIR_API_TOKENS=a-token-that-is-long"),
		"in the store": func() error {
			other := "sqlite://" + filepath.Join(t.TempDir(), "weir.db") // an empty one
			makeToken(t, other, operators.ScopeRouter)
			return start(other)
		}(),
	} {
		if err == nil || errors.As(err, &wrong) || !strings.Contains(err.Error(), "listen") {
			t.Errorf("with a token %s it did not get as far as the address: %v", what, err)
		}
	}
}

// status sends a request with a token and returns the status.
func (r *rig) status(path, token string) int {
	r.t.Helper()
	req, err := http.NewRequestWithContext(r.t.Context(), "GET", r.url+path, nil)
	if err != nil {
		r.t.Fatal(err)
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		r.t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	_, _ = io.Copy(io.Discard, resp.Body)
	return resp.StatusCode
}

// The first token closes a running daemon to requests without a token, and admits
// its bearer; the same holds for the router's API. A revoked token is refused.
func TestGate_ATokenMadeBesideIsHeardOf(t *testing.T) {
	t.Parallel()
	database := sqliteURL(t)
	r := newRig(t, environment(database))
	const router = "/routing/queues?api-version=2023-11-01"
	if got := r.status("/v1/channels", ""); got != 200 {
		t.Fatal(got)
	}
	id, text := makeToken(t, database, operators.ScopeChannelsAdmin)
	_, both := makeToken(t, database, operators.ScopeRouter, operators.ScopePIIRead)
	_, one := makeToken(t, database, operators.ScopeRouter)
	r.eventually("a request without a token is refused", func() bool { return r.status("/v1/channels", "") == 401 })
	r.eventually("the tokens are known", func() bool { return r.status(router, one) == 403 })
	for _, x := range []struct {
		path, token string
		want        int
	}{
		{"/v1/channels", text, 200},
		{"/v1/contacts", text, 403}, {"/metrics", text, 403}, {router, text, 403}, {router, both, 200}, {router, "wrong", 401}, {router, "", 401},
		{"/livez", "", 200}, {"/readyz", "", 200},
	} {
		if got := r.status(x.path, x.token); got != x.want {
			t.Errorf("%s: %d, want %d", x.path, got, x.want)
		}
	}
	s := storetest.OpenOnly(t, database, persistence.Options{})
	if err := s.RevokeToken(t.Context(), id, time.Now()); err != nil {
		t.Fatal(err)
	}
	r.eventually("the revoked token is refused", func() bool { return r.status("/v1/channels", text) == 401 })
}

// TestGate_SecretsAndNumbersLeakNowhere puts secrets and phone numbers into every input, invalid input
// included, and finds them in no log line at debug level, in no metric, and in no
// URL that Weir returns or calls of its own accord.
func TestGate_SecretsAndNumbersLeakNowhere(t *testing.T) {
	t.Parallel()
	const number, channelSecret, applicationSecret, configured = "15559871234", "CANARY-channel-secret", "CANARY-application-secret", "CANARY-configured-token"
	database := sqliteURL(t)
	_, made := makeToken(t, database, operators.Scopes()...)
	log, r := &daemontest.Log{}, &rig{t: t}
	var urls daemontest.Log
	note := func(h http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			_, _ = urls.Write([]byte(r.URL.String() + "\n"))
			h.ServeHTTP(w, r)
		})
	}
	r.sms = must(simulator.New(simulator.Options{
		Applications: []simulator.Application{{Name: "weir", Password: "p", Tokens: []string{channelSecret}}},
		Channels:     []simulator.Channel{{Name: "sms", Application: "weir", Enabled: true}},
		DeliverTime:  time.Millisecond, ConfirmTime: time.Millisecond,
	}))
	ctx, end := context.WithCancel(t.Context())
	go r.sms.Run(ctx)
	provider := httptest.NewServer(r.sms)
	application := httptest.NewServer(note(http.NotFoundHandler()))
	t.Cleanup(func() { end(); provider.Close(); application.Close() })
	c := configuration(t, "DATABASE_URL="+database, "LISTEN_ADDR=127.0.0.1:0", "WEIR_API_TOKENS="+configured, "LOG_LEVEL=debug")
	d, err := daemon.New(ctx, daemon.Options{Config: c, Logger: slog.New(slog.NewJSONHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug}))})
	if err != nil {
		t.Fatal(err)
	}
	r.url = "http://" + d.Addr()
	ended := make(chan error, 1)
	go func() { ended <- d.Run(ctx) }()

	settings := `"settings":{"base_url":"` + provider.URL + `","account":"demo","application":"weir","token":"` + channelSecret + `","channel":"sms"}`
	for _, x := range [][3]string{
		{"PUT", "/v1/channels/sms", `{"type":"nuntium","capacity":3,` + settings + `}`},
		{"PUT", "/v1/channels/bad", `{"type":"nuntium","capacity":3,` + strings.Replace(settings, channelSecret, channelSecret+"-wrong", 1) + `}`},
		{"PUT", "/v1/channels/worse", `{"type":"` + channelSecret + `","token":"` + channelSecret + `"}`},
		{"POST", "/v1/channels/sms/contacts", `{"contacts":[{"key":"k","to":"+` + number + `","messages":["call +` + number + `"]}]}`},
		{"POST", "/v1/channels/bad/contacts", `{"contacts":[{"key":"+` + number + `","to":"` + number + `","messages":["x"]}]}`},
		{"POST", "/v1/channels/bad/contacts", `{"contacts":[{"to":"+` + number + number + `","messages":[]}]}`},
		{"GET", "/v1/contacts?key=%2B" + number, ""}, {"GET", "/v1/contacts/" + number, ""}, {"GET", "/" + number + "/" + made, ""},
		{"PUT", "/v1/surveys/s", `{"application":{"url":"` + application.URL + `/a","secret":"` + applicationSecret + `"},"schedule":{"time_zone":"UTC","weekdays":["mon","tue","wed","thu","fri","sat","sun"],"windows":[{"from":"00:00","to":"24:00"}]},` +
			`"modes":{"sms":{"channel":"sms"}},"arms":[{"modes":["sms"]}],"questionnaires":{"main":{"sms":[{"messages":["Hello"]}]}}}`},
		{"POST", "/v1/surveys/s/respondents", `{"respondents":[{"phone":"+` + number + `"},{"phone":"+` + number + `"}]}`},
		{"POST", "/v1/surveys/s/respondents", `{"respondents":[{"phone":"+9` + number + `00"}]}`},
		{"GET", "/v1/surveys/s/respondents?phone=%2B" + number, ""},
		{"POST", "/v1/surveys/s:launch", ""}, {"GET", "/v1/events", ""}, {"GET", "/v1/surveys/s/results.csv", ""},
	} {
		r.send(t, x[0], x[1], x[2], made)
	}
	for _, wrong := range []string{made + "x", configured + "x", applicationSecret} {
		r.send(t, "GET", "/v1/channels", "", wrong)
	}
	r.eventually("the survey's contact is done", func() bool {
		return strings.Contains(r.send(t, "GET", "/v1/contacts?channel=sms&state=done&limit=10", "", configured), `"survey":"s"`)
	})
	if _, _, err := r.sms.Receive(simulator.Incoming{Channel: "sms", From: "+" + number, To: "4000", Body: "yes " + number}); err != nil {
		t.Fatal(err)
	}
	r.eventually("the application hears of the message", func() bool { return urls.String() != "" })
	figures := r.send(t, "GET", "/metrics", "", configured)
	end()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	texts := map[string]string{"log": log.String(), "figures": figures, "addresses of applications": urls.String()}
	_, secret, _ := strings.Cut(strings.TrimPrefix(made, "weir_"), "_")
	for where, text := range texts {
		for _, canary := range []string{number, url.QueryEscape("+" + number), "CANARY", secret} {
			if i := strings.Index(text, canary); i >= 0 {
				t.Errorf("%s: %q is in the %s", canary, text[max(0, i-200):min(len(text), i+100)], where)
			}
		}
	}
	if !strings.Contains(texts["log"], `"token":"configured-1"`) || !strings.Contains(figures, "weir_http_refusals_total") {
		t.Error("the log or the figures lack what they should hold")
	}
}

// send sends a request and returns the body of the response.
func (r *rig) send(t *testing.T, method, path, body, token string) string {
	t.Helper()
	req, err := http.NewRequestWithContext(context.WithoutCancel(t.Context()), method, r.url+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+token)
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	for _, where := range resp.Header.Values("Location") {
		if strings.Contains(where, "CANARY") {
			t.Errorf("Location %s", where)
		}
	}
	return string(text)
}
