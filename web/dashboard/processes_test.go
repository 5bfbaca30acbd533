package dashboard_test

import (
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"weir/web/dashboard"
)

// overviewWith returns the overview of a Weir that answers a list of processes.
func overviewWith(t *testing.T, path, processes string) string {
	t.Helper()
	r := newRig(t) // without tokens
	d, err := dashboard.New(dashboard.Options{Logger: slog.New(slog.DiscardHandler), Ending: func() bool { return false }, API: http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if req.URL.Path == "/v1/processes" {
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, processes)
			return
		}
		r.handler.ServeHTTP(w, req)
	})})
	if err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	for pattern, h := range d.Routes() {
		mux.Handle(pattern, h)
	}
	w := httptest.NewRecorder()
	mux.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), "GET", "http://localhost"+path, nil))
	if w.Code != 200 {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	return w.Body.String()
}

const (
	ownerProcess   = `{"start":5,"address":"10.0.0.5:1","version":"1.1.0","schema":31,"owner":true,"owner_since":"2026-01-01T11:00:00Z","cannot_reach":[{"start":2,"address":"10.0.0.2:1","reason":"dial <tcp>: refused"}]}`
	standbyProcess = `{"start":2,"address":"10.0.0.2:1","version":"<b>1.0</b>","schema":30,"heartbeat_age_seconds":0.4,"successor":true,"differing_settings":["PUBLIC_URL","version"],"may_take_over":true,"take_over_trouble":"the owner cannot reach it, so it is the last to take over"}`
)

// The overview lists the processes of the database if there is more than one, but not on the
// wall, which has no room for a table.
func TestProcesses_AreListedOnTheOverview(t *testing.T) {
	t.Parallel()
	body := overviewWith(t, "/", `{"processes":[`+ownerProcess+`,`+standbyProcess+`]}`)
	for _, want := range []string{
		`<h2 id="processes-head">Processes</h2>`, `<th scope="col">Last heartbeat</th>`, ">10.0.0.5:1</td>", `<span class="badge state-running">owner</span>`, `datetime="2026-01-01T11:00:00Z"`,
		"Cannot reach 10.0.0.2:1: dial &lt;tcp&gt;: refused", "&lt;b&gt;1.0&lt;/b&gt;", "standby, next", "<td>1 s</td>", "the owner cannot reach it, so it is the last to take over", "Differs from the owner: PUBLIC_URL, version",
	} {
		if !strings.Contains(body, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	if t.Failed() {
		t.Log(body[strings.Index(body, `<div id="processes">`):])
	}
	for path, processes := range map[string]string{"/": `{"processes":[` + ownerProcess + `]}`, "/?wall=1": `{"processes":[` + ownerProcess + `,` + standbyProcess + `]}`} {
		if body := overviewWith(t, path, processes); !strings.Contains(body, `<div id="processes"></div>`) {
			t.Errorf("%s shows the processes", path)
		}
	}
}
