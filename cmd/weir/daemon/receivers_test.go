package daemon_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"testing"
	"time"
)

// silent is a receiver of which requests are never answered, or with a switch to another
// protocol that keeps the connection.
func silent(t *testing.T) (url string, arrived <-chan string) {
	t.Helper()
	got := make(chan string, 100)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // only then does the server notice that the client left
		got <- r.URL.Path
		if r.URL.Path != "/switch" {
			<-r.Context().Done()
			return
		}
		conn, in, err := w.(http.Hijacker).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer func() { _ = conn.Close() }()
		_, _ = io.WriteString(conn, "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n")
		_, _ = io.Copy(io.Discard, in) // until the caller closes it
	}))
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	return server.URL, got
}

func (r *rig) webhook(url string) (id string) {
	r.t.Helper()
	var made struct{ ID string }
	if got := r.do("POST", "/v1/webhooks", map[string]any{"url": url, "types": []string{"weir.contact.*"}}, &made); got != 201 {
		r.t.Fatal(url, got)
	}
	return made.ID
}

// Beyond a development setup, loopback addresses are targets only if the setting names them.
func TestWebhooks_LoopbackTargets(t *testing.T) {
	t.Parallel()
	for allow, want := range map[string]int{"": 422, "private": 422, "loopback": 201} {
		env := environment("sqlite://" + filepath.Join(t.TempDir(), "weir.db"))
		env["PUBLIC_URL"], env["WEIR_OUTBOUND_ALLOW"] = "https://weir.example", allow
		r := newRig(t, env)
		for _, url := range []string{"http://127.0.0.1:9/in", "https://localhost/in", "https://[::ffff:127.0.0.1]/in"} {
			if got := r.do("POST", "/v1/webhooks", map[string]any{"url": url, "types": []string{"weir.contact.*"}}, nil); got != want {
				t.Errorf("%s with %q: %d, want %d", url, allow, got, want)
			}
		}
		r.stop()
	}
}

// WEIR_SEND_TIMEOUT bounds a request to a webhook, as the documents say.
func TestTimeLimitOfWebhooksIsTheSetting(t *testing.T) {
	t.Parallel()
	env := environment("sqlite://" + filepath.Join(t.TempDir(), "weir.db"))
	env["WEIR_SEND_TIMEOUT"] = "300ms"
	r := newRig(t, env)
	url, _ := silent(t)
	var tried struct{ Result, Error string }
	begun := time.Now()
	if got := r.do("POST", "/v1/webhooks/"+r.webhook(url)+"/test", nil, &tried); got != 200 || tried.Error != "timeout" {
		t.Errorf("%d %+v", got, tried)
	}
	if took := time.Since(begun); took > 10*time.Second {
		t.Errorf("it took %v", took)
	}
}

// Receivers that never answer, or switch to another protocol, hold up no end of the
// process.
func TestReceiversDelayNoShutdown(t *testing.T) {
	t.Parallel()
	env := environment("sqlite://" + filepath.Join(t.TempDir(), "weir.db"))
	env["WEIR_SEND_TIMEOUT"] = "5m"
	r := newRig(t, env)
	url, arrived := silent(t)
	r.webhook(url + "/hang")
	r.webhook(url + "/switch")
	r.do("PUT", "/v1/channels/sms", map[string]any{"type": "nuntium", "capacity": 7, "settings": map[string]any{
		"base_url": r.smsURL, "account": "demo", "application": "weir", "token": "token", "channel": "sms",
	}}, nil)
	r.do("POST", "/v1/channels/sms/contacts", map[string]any{"contacts": []map[string]any{{"to": "+15550001", "messages": []string{"hello"}}}}, nil)
	for seen := map[string]bool{}; len(seen) < 2; {
		select {
		case path := <-arrived:
			seen[path] = true
		case <-time.After(30 * time.Second):
			t.Fatalf("only %v got an event", seen)
		}
	}
	begun := time.Now()
	r.stop() // which fails the test unless the end is orderly
	if took := time.Since(begun); took > 10*time.Second {
		t.Errorf("the end took %v", took)
	}
}
