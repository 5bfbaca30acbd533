package daemon_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"
)

// silent is a receiver that never answers.
func silent(t *testing.T) (url string) {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // only then does the server notice that the client left
		<-r.Context().Done()
	}))
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	return server.URL
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
func TestWebhooks_LoopbackTargetsMustBeNamed(t *testing.T) {
	t.Parallel()
	for allow, want := range map[string]int{"": 422, "private": 422, "loopback": 201} {
		env := environment(sqliteURL(t))
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
func TestReceivers_TimeLimitOfWebhooksIsTheSetting(t *testing.T) {
	t.Parallel()
	env := environment(sqliteURL(t))
	env["WEIR_SEND_TIMEOUT"] = "300ms"
	r := newRig(t, env)
	url := silent(t)
	var tried struct{ Result, Error string }
	begun := time.Now()
	if got := r.do("POST", "/v1/webhooks/"+r.webhook(url)+"/test", nil, &tried); got != 200 || tried.Error != "timeout" {
		t.Errorf("%d %+v", got, tried)
	}
	if took := time.Since(begun); took > 10*time.Second {
		t.Errorf("it took %v", took)
	}
}
