package daemon_test

import (
	"encoding/base64"
	"net/http"
	"testing"
	"time"

	"weir/internal/hmacsign"
)

// A proxy passes Host on, and no token is configured: a request signed with an access
// key needs no other check, whatever the public name of this Weir is.
// Scenario 147.
func TestProxy_SignedRequestsWorkUnderAnyHost(t *testing.T) {
	t.Parallel()
	text := base64.StdEncoding.EncodeToString([]byte("an access key of thirty-two bytes"))
	key, err := hmacsign.ParseKey(text)
	if err != nil {
		t.Fatal(err)
	}
	env := environment(sqliteURL(t))
	env["JOB_ROUTER_ACCESS_KEYS"] = text
	r := newRig(t, env)
	for _, c := range []struct {
		path   string
		signed bool
		want   int
	}{
		{"/routing/queues?api-version=2023-11-01", true, 200}, {"/routing/queues?api-version=2023-11-01", false, 401},
		{"/v1/channels", true, 403}, {"/v1/channels", false, 403},
	} {
		req, err := http.NewRequestWithContext(t.Context(), "GET", r.url+c.path, nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Host = "weir.example"
		if c.signed {
			key.Sign(req, nil, time.Now())
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		if resp.StatusCode != c.want {
			t.Errorf("%s, signed %v: %d, want %d", c.path, c.signed, resp.StatusCode, c.want)
		}
	}
}
