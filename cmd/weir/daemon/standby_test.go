package daemon_test

import (
	"encoding/json"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"weir/api"
	"weir/cmd/weir/daemon"
	"weir/internal/mariadb"
	"weir/internal/polling"
	"weir/persistence/testmysql"
	"weir/test/daemontest"
)

// ask makes a request of a daemon, and returns the status and the body.
func ask(t *testing.T, d *daemon.Daemon, method, path, body string, header ...string) (int, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, "http://"+d.Addr()+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	r.Close = true
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Error(err)
		return 0, ""
	}
	defer func() { _ = answer.Body.Close() }()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Error(err)
	}
	return answer.StatusCode, string(text)
}

func processOn(t *testing.T, database string, environ ...string) (d *daemon.Daemon, stop func()) {
	t.Helper()
	c := configuration(t, append([]string{"DATABASE_URL=" + database, "LISTEN_ADDR=127.0.0.1:0", "PUBLIC_URL=http://weir.example"}, environ...)...)
	return daemontest.Run(t, daemon.Options{Config: c, Version: "1.0.0", Logger: slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelWarn}))})
}

const aChannel = `{"type":"nuntium","paused":true,"settings":{"base_url":"http://127.0.0.1:9","account":"a","application":"b","password":"c","channel":"d"}}`

// Any process of a database serves every request. When the owner ends, another one takes the
// database, and no request is refused.
func TestStandby_ServesEveryRequestAndTakesOver(t *testing.T) {
	t.Parallel()
	url := testmysql.URL(t)
	first, stopFirst := processOn(t, url)
	second, _ := processOn(t, url)
	third, stopThird := processOn(t, url)
	ready := func(d *daemon.Daemon, path string) (status int, owner bool) {
		t.Helper()
		status, text := ask(t, d, "GET", path, "")
		var is struct {
			Owner    bool
			Database string
		}
		if err := json.Unmarshal([]byte(text), &is); err != nil || !strings.Contains(url, "@"+is.Database+"/") {
			t.Errorf("%s: %v %s", path, err, text)
		}
		return status, is.Owner
	}
	for i, d := range []*daemon.Daemon{first, second, third} {
		if status, owner := ready(d, "/readyz"); status != 200 || owner != (i == 0) {
			t.Errorf("process %d: %d, owner %v", i, status, owner)
		}
		if status, _ := ready(d, "/readyz/owner"); (status == 200) != (i == 0) {
			t.Errorf("process %d is ready as the owner: %d", i, status)
		}
		if status, text := ask(t, d, "GET", "/metrics", ""); status != 200 || strings.Contains(text, "weir_http_requests_total") != (i == 0) {
			t.Errorf("process %d: %d; the figures are not its own", i, status)
		} else if server := `weir_db_server{address="` + url[strings.Index(url, "@")+1:strings.LastIndex(url, "/")] + `"} 1`; !strings.Contains(text, server) {
			t.Errorf("process %d: no line %s", i, server)
		}
	}
	if status, text := ask(t, second, "PUT", "/v1/channels/a", aChannel); status != http.StatusCreated {
		t.Fatalf("%d %s", status, text)
	}
	if status, text := ask(t, third, "POST", "/v1/channels/a/contacts", `{"contacts":[{"key":"k","to":"+15550001","messages":["m"]}]}`); status != http.StatusAccepted {
		t.Errorf("%d %s", status, text)
	}
	for _, d := range []*daemon.Daemon{first, second} {
		if _, text := ask(t, d, "GET", "/v1/contacts?channel=a", ""); !strings.Contains(text, `"key":"k"`) {
			t.Errorf("it does not have the contact: %s", text)
		}
	}
	if status, _ := ask(t, second, "GET", "/v1/channels", "", "Host", "evil.example"); status != 200 { // net/http sets the host of the URL
		t.Errorf("%d", status)
	}
	stopThird() // a standby
	if status, text := ask(t, second, "GET", "/v1/channels/a", ""); status != 200 {
		t.Errorf("%d %s", status, text)
	}
	stopped := make(chan struct{})
	go func() { defer close(stopped); stopFirst() }()
	for i := 0; ; i++ {
		// A request that runs for longer than a hand-over waits may be interrupted, which happens on
		// a machine that is busy with other tests.
		began := time.Now()
		if status, text := ask(t, second, "PATCH", "/v1/channels/a", `{"capacity":`+[]string{"5", "6"}[i%2]+`}`); status != 200 && time.Since(began) < time.Second {
			t.Errorf("while the owner ends: %d %s", status, text)
		}
		if _, owner := ready(second, "/readyz"); owner {
			break
		}
	}
	<-stopped
	if status, _ := ready(second, "/readyz/owner"); status != 200 {
		t.Errorf("%d", status)
	}
	if _, text := ask(t, second, "GET", "/v1/contacts?channel=a", ""); !strings.Contains(text, `"key":"k"`) {
		t.Errorf("it does not have the contact: %s", text)
	}
}

// A standby that ends together with the owner passes what it has on to the next one, which it
// has not met.
func TestStandby_LeavesWithTheOwner(t *testing.T) {
	t.Parallel()
	url := mysqlURL(t)
	_, stopFirst := processOn(t, url)
	second, stopSecond := processOn(t, url)
	third, _ := processOn(t, url)
	for _, d := range []*daemon.Daemon{second, third} {
		if status, text := ask(t, d, "PUT", "/v1/channels/a", aChannel); status/100 != 2 {
			t.Fatalf("%d %s", status, text)
		}
	}
	var stopping sync.WaitGroup
	defer stopping.Wait()
	stopping.Go(stopSecond)
	stopping.Go(stopFirst)
	asked := 0
	for ; ; asked++ {
		r, err := http.NewRequestWithContext(t.Context(), "PATCH", "http://"+second.Addr()+"/v1/channels/a", strings.NewReader(`{"capacity":5}`))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", "application/json")
		r.Close = true
		answer, err := http.DefaultClient.Do(r)
		if err != nil { // it does not listen any more
			break
		}
		_ = answer.Body.Close()
		if answer.StatusCode != 200 {
			t.Errorf("request %d: %s", asked, answer.Status)
		}
	}
	if asked == 0 {
		t.Error("it has answered nothing")
	}
	if status, _ := ask(t, third, "GET", "/readyz/owner", ""); status != 200 {
		t.Errorf("the third is not the owner: %d", status)
	}
}

// Every process lists the same processes, and its figures say whom it reaches.
func TestStandby_EveryProcessListsTheSameProcesses(t *testing.T) {
	t.Parallel()
	url := mysqlURL(t)
	var all [3]*daemon.Daemon
	var stops [3]func()
	for i := range all {
		all[i], stops[i] = processOn(t, url)
	}
	var list api.ProcessesView
	read := func(d *daemon.Daemon) bool {
		t.Helper()
		status, text := ask(t, d, "GET", "/v1/processes", "")
		list = api.ProcessesView{}
		err := json.Unmarshal([]byte(text), &list)
		if err != nil || status != 200 {
			t.Errorf("%d %v %s", status, err, text)
		}
		return err == nil
	}
	for i, d := range all {
		if !polling.Until(20*time.Second, 10*time.Millisecond, func() bool { return read(d) && len(list.Processes) == 3 }) {
			t.Fatalf("process %d lists %+v", i, list.Processes)
		}
		owner := list.Processes[0]
		if !owner.Owner || owner.OwnerSince.IsZero() || time.Since(owner.OwnerSince) > time.Minute || owner.HeartbeatAge != nil || owner.Version != "1.0.0" || owner.Address == "" || owner.Successor {
			t.Errorf("owner: %+v", owner)
		}
		for j, p := range list.Processes[1:] {
			if p.Owner || !p.OwnerSince.IsZero() || p.HeartbeatAge == nil || *p.HeartbeatAge > 3 || p.Successor != (j == 0) || !p.MayTakeOver || p.TakeOverTrouble != "" || p.Schema != owner.Schema || p.Differing != nil {
				t.Errorf("standby: %+v", p)
			}
		}
	}
	figure := func(d *daemon.Daemon, name string) (sum float64, series int) {
		t.Helper()
		_, text := ask(t, d, "GET", "/metrics", "")
		for line := range strings.Lines(text) {
			if rest, ok := strings.CutPrefix(strings.TrimSpace(line), name); ok && strings.ContainsAny(rest[:1], " {") {
				value, err := strconv.ParseFloat(rest[strings.LastIndexByte(rest, ' ')+1:], 64)
				if err != nil {
					t.Error(err)
				}
				sum, series = sum+value, series+1
			}
		}
		return sum, series
	}
	for i, want := range []int{2, 1, 1} {
		if !polling.Until(20*time.Second, 50*time.Millisecond, func() bool { sum, n := figure(all[i], "weir_peer_up"); return int(sum) == want && n == want }) {
			t.Errorf("process %d does not reach %d others", i, want)
		}
		if n, _ := figure(all[i], "weir_owner_changes_total"); n != 0 {
			t.Errorf("process %d saw %v changes", i, n)
		}
		if _, n := figure(all[i], "weir_takeover_seconds"); (n == 4) != (i == 0) {
			t.Errorf("process %d has %d phases", i, n)
		}
	}
	stops[0]()
	for i, d := range all[1:] {
		if !polling.Until(20*time.Second, 10*time.Millisecond, func() bool { return read(d) && len(list.Processes) == 2 && list.Processes[1].Successor }) {
			t.Errorf("process %d lists %+v", i+1, list.Processes)
		}
		if n, _ := figure(d, "weir_owner_changes_total"); n != 1 {
			t.Errorf("process %d saw %v changes", i+1, n)
		}
		if !polling.Until(20*time.Second, 50*time.Millisecond, func() bool { sum, n := figure(d, "weir_peer_up"); return sum == 1 && n == 1 }) {
			t.Errorf("process %d does not reach the other one", i+1)
		}
	}
	if !polling.Until(20*time.Second, 50*time.Millisecond, func() bool { _, n := figure(all[1], "weir_takeover_seconds"); return n == 4 }) {
		t.Error("the successor does not say how long its take-over took")
	}
}

// A standby that has a token in the database alone may listen, and one without may not: it
// reads them before.
func TestStandby_NeedsATokenToBeReachable(t *testing.T) {
	t.Parallel()
	url := mysqlURL(t)
	processOn(t, url)
	c := configuration(t, "DATABASE_URL="+url, "LISTEN_ADDR=192.0.2.1:0")
	if _, err := daemon.New(t.Context(), daemon.Options{Config: c}); err == nil || !strings.Contains(err.Error(), "LISTEN_ADDR") {
		t.Errorf("%v", err)
	}
}

// An address for peers that is taken ends the process with a line that names it.
func TestStandby_PeerAddressIsTaken(t *testing.T) {
	t.Parallel()
	taken, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = taken.Close() }()
	c := configuration(t, "DATABASE_URL="+mysqlURL(t), "LISTEN_ADDR=127.0.0.1:0", "WEIR_PEER_ADDR="+taken.Addr().String())
	if _, err := daemon.New(t.Context(), daemon.Options{Config: c}); err == nil || !strings.Contains(err.Error(), "WEIR_PEER_ADDR") || strings.Contains(err.Error(), "\n") {
		t.Errorf("%v", err)
	}
}

// Processes whose settings differ say so, at both ends.
func TestStandby_DifferingSettingsAreLoggedAtBothEnds(t *testing.T) {
	t.Parallel()
	url := mysqlURL(t)
	var logs [2]daemontest.Log
	for i, prefix := range []string{"/a", "/b"} {
		c := configuration(t, "DATABASE_URL="+url, "LISTEN_ADDR=127.0.0.1:0", "PUBLIC_URL=http://weir.example", "WEIR_PATH_PREFIX="+prefix)
		daemontest.Run(t, daemon.Options{Config: c, Logger: slog.New(slog.NewTextHandler(&logs[i], nil))})
	}
	for i := range logs {
		if !polling.Until(20*time.Second, 10*time.Millisecond, func() bool {
			return strings.Contains(logs[i].String(), "other settings") && strings.Contains(logs[i].String(), "differing=[WEIR_PATH_PREFIX]")
		}) {
			t.Errorf("process %d does not name what differs: %s", i, logs[i].String())
		}
	}
}

// A program that the schema is too new for never owns the database: it passes requests on, and
// says what it needs.
func TestStandby_ProgramTooOldPassesRequestsOn(t *testing.T) {
	t.Parallel()
	url := mysqlURL(t)
	first, stopFirst := processOn(t, url)
	db, err := mariadb.Open(url)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	if _, err := db.ExecContext(t.Context(), "UPDATE "+url[strings.LastIndexByte(url, '/')+1:]+".meta SET value = 1000 WHERE name = 'oldest_step'"); err != nil {
		t.Fatal(err)
	}
	var log daemontest.Log
	c := configuration(t, "DATABASE_URL="+url, "LISTEN_ADDR=127.0.0.1:0", "PUBLIC_URL=http://weir.example")
	second, _ := daemontest.Run(t, daemon.Options{Config: c, Version: "1.0.0", Logger: slog.New(slog.NewTextHandler(&log, nil))})
	if status, text := ask(t, second, "PUT", "/v1/channels/a", aChannel); status != http.StatusCreated {
		t.Errorf("%d %s", status, text)
	}
	if status, _ := ask(t, first, "GET", "/v1/channels/a", ""); status != 200 {
		t.Errorf("%d", status)
	}
	stopFirst()
	if !polling.Until(20*time.Second, 10*time.Millisecond, func() bool { return strings.Contains(log.String(), "the schema needs one that knows step 1000") }) {
		t.Errorf("it does not say what it needs: %s", log.String())
	}
	if status, _ := ask(t, second, "GET", "/readyz/owner", ""); status != 503 {
		t.Errorf("it is the owner: %d", status)
	}
}

// What the owner refuses it refuses through a standby: names of other sites while there is no
// token, and the header Idempotency-Key.
func TestStandby_RefusesWhatTheOwnerRefuses(t *testing.T) {
	t.Parallel()
	url := mysqlURL(t)
	first, _ := processOn(t, url)
	second, _ := processOn(t, url)
	if status, text := ask(t, first, "PUT", "/v1/channels/a", aChannel); status != http.StatusCreated {
		t.Fatalf("%d %s", status, text)
	}
	for _, d := range []*daemon.Daemon{first, second} {
		for _, path := range []string{"/metrics", "/v1/channels"} {
			w := httptest.NewRecorder()
			d.Handler().ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), "GET", "http://other.example"+path, nil))
			if w.Code != http.StatusForbidden {
				t.Errorf("%s under another name: %d", path, w.Code)
			}
		}
		if status, text := ask(t, d, "POST", "/v1/channels/a/contacts", `{"contacts":[]}`, "Idempotency-Key", "k"); status != http.StatusUnprocessableEntity || !strings.Contains(text, "Idempotency-Key") {
			t.Errorf("with a key: %d %s", status, text)
		}
	}
}

// A process that ends closes a connection that its client keeps with an answer, not between
// two requests: a balancer may not send a POST again.
func TestStandby_ClosesKeptConnectionsWithAnAnswer(t *testing.T) {
	t.Parallel()
	url := mysqlURL(t)
	owner, stopOwner := processOn(t, url)
	standby, stopStandby := processOn(t, url)
	for _, c := range []struct {
		d    *daemon.Daemon
		stop func()
	}{{standby, stopStandby}, {owner, stopOwner}} {
		if c.d == owner {
			_, _ = processOn(t, url) // that takes the database
			if !polling.Until(10*time.Second, 10*time.Millisecond, func() bool {
				_, text := ask(t, owner, "GET", "/v1/processes", "")
				return strings.Count(text, `"start"`) == 2
			}) {
				t.Fatal("the owner knows no other process")
			}
		}
		client := &http.Client{Transport: &http.Transport{MaxConnsPerHost: 1}}
		post := func() (closed bool) {
			t.Helper()
			r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+c.d.Addr()+"/v1/channels/none/contacts", strings.NewReader("{}"))
			if err != nil {
				t.Fatal(err)
			}
			answer, err := client.Do(r)
			if err != nil {
				t.Fatalf("owner %v: %v", c.d == owner, err)
			}
			_, _ = io.Copy(io.Discard, answer.Body)
			_ = answer.Body.Close()
			return answer.Close
		}
		if post() {
			t.Error("the connection is not kept")
		}
		ended := make(chan struct{})
		go func() { defer close(ended); c.stop() }()
		for !post() { // as long as it is kept, a request on it is answered
		}
		<-ended
		client.CloseIdleConnections()
	}
}
