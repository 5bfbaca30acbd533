// Package judge lets the official Go and Node libraries of Standard Webhooks verify what
// Weir sends to webhooks: make test-webhooks runs it.
package judge

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"weir/cmd/weir/daemon"
	"weir/config"
	"weir/test/daemontest"
)

// request is a request that a receiver got.
type request struct {
	Secret  string            `json:"secret"`
	Headers map[string]string `json:"headers"`
	Body    []byte            `json:"body"`
}

func (r request) header() http.Header {
	h := http.Header{}
	for name, value := range r.Headers {
		h.Set(name, value)
	}
	return h
}

// verified returns the verdict of the Go library.
func (r request) verified(t *testing.T) bool {
	t.Helper()
	w, err := standardwebhooks.NewWebhook(r.Secret)
	if err != nil {
		t.Fatal(err)
	}
	return w.Verify(r.Body, r.header()) == nil
}

// sent has a daemon send the test event, before a rotation and after it, and returns the
// requests and the two secrets.
func sent(t *testing.T) (list []request, first, second string) {
	t.Helper()
	arrived := make(chan request, 10)
	receiver := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		headers := map[string]string{}
		for _, name := range []string{"webhook-id", "webhook-timestamp", "webhook-signature"} {
			headers[name] = r.Header.Get(name)
		}
		arrived <- request{Headers: headers, Body: body}
	}))
	t.Cleanup(receiver.Close)
	cfg, _, err := config.Load([]string{"DATABASE_URL=sqlite://" + filepath.Join(t.TempDir(), "weir.db"), "LISTEN_ADDR=127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	d, _ := daemontest.Run(t, daemon.Options{Config: cfg, Logger: slog.New(slog.NewTextHandler(t.Output(), nil))})
	call := func(method, path, body string) map[string]any {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), method, "http://"+d.Addr()+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", "application/json")
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer answer.Body.Close()
		var v map[string]any
		if err := json.NewDecoder(answer.Body).Decode(&v); err != nil || answer.StatusCode > 299 {
			t.Fatalf("%s %s: %d %v (%v)", method, path, answer.StatusCode, v, err)
		}
		return v
	}
	hook := call("POST", "/v1/webhooks", fmt.Sprintf(`{"url":%q,"types":["weir.*"]}`, receiver.URL))
	path := "/v1/webhooks/" + hook["id"].(string)
	first = hook["secret"].(string)
	for _, step := range []string{"", "/rotate"} {
		if step != "" {
			second = call("POST", path+step, `{}`)["secret"].(string)
		}
		if v := call("POST", path+"/test", ""); v["result"] != "delivered" {
			t.Fatalf("the test event: %v", v)
		}
		select {
		case r := <-arrived:
			list = append(list, r)
		case <-time.After(10 * time.Second):
			t.Fatal("nothing arrived")
		}
	}
	return list, first, second
}

// variants returns copies of a request that each have one byte changed: of the body, and of
// each header.
func variants(r request) (list []request) {
	for i := range r.Body {
		v := r
		v.Body = bytes.Clone(r.Body)
		v.Body[i] ^= 1
		list = append(list, v)
	}
	for name, value := range r.Headers {
		for i := range value {
			if name == "webhook-signature" && i < len("v1,") {
				continue // then it is of no known version
			}
			v, changed := r, []byte(value)
			if changed[i] ^= 1; name == "webhook-signature" && changed[i] == '=' || value[i] == '=' {
				continue // padding
			}
			v.Headers = map[string]string{}
			for n, x := range r.Headers {
				v.Headers[n] = x
			}
			v.Headers[name] = string(changed)
			list = append(list, v)
		}
	}
	return list
}

func TestWebhooks_AreVerifiedByTheOfficialLibraries(t *testing.T) {
	list, first, second := sent(t)
	var asked []request
	var want []bool
	add := func(r request, secret string, good bool) {
		r.Secret = secret
		asked, want = append(asked, r), append(want, good)
	}
	add(list[0], first, true)
	add(list[0], second, false)
	add(list[1], first, true) // both sign after a rotation
	add(list[1], second, true)
	for _, v := range variants(list[0]) {
		add(v, first, false)
	}
	if len(asked) < 200 {
		t.Errorf("only %d requests", len(asked))
	}
	node := exec.CommandContext(t.Context(), "node", "verify.mjs")
	var in bytes.Buffer
	for _, r := range asked {
		if err := json.NewEncoder(&in).Encode(r); err != nil {
			t.Fatal(err)
		}
	}
	node.Stdin = &in
	out, err := node.Output()
	if err != nil {
		t.Fatal(err)
	}
	verdicts := strings.Fields(string(out))
	if len(verdicts) != len(asked) {
		t.Fatalf("%d verdicts of %d requests", len(verdicts), len(asked))
	}
	for i, r := range asked {
		if got := r.verified(t); got != want[i] {
			t.Errorf("request %d: the Go library says %v, want %v: %v %s", i, got, want[i], r.Headers, r.Body)
		}
		if got := verdicts[i] == "ok"; got != want[i] {
			t.Errorf("request %d: the Node library says %v, want %v: %v %s", i, got, want[i], r.Headers, r.Body)
		}
	}
}
