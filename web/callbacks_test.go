package web_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"weir"
	"weir/web"
)

// callbackPath returns the URL path of a channel's callback.
func callbackPath(ch weir.Channel, rest string) string {
	return "/callbacks/" + ch.Name + "/" + ch.Secret + "/" + rest
}

// results returns the callback counters of a type that are not 0.
func (r *rig) results(typ string) map[string]float64 {
	r.t.Helper()
	out := map[string]float64{}
	known := []string{"unauthorised", "unavailable"}
	if typ != "none" {
		known = append(known, "applied", "duplicate", "late", "unknown", "invalid", "forged", "deleted", "ignored")
	}
	for _, result := range known {
		if n := r.counter("weir_callbacks_total", "type", typ, "result", result); n > 0 {
			out[result] = n
		}
	}
	return out
}

func TestCallbacks_AreAnsweredAndCountedByResult(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, method, path, body string
		contentType              string
		status                   int
		answer                   string // Body of a success response
		results                  map[string]float64
	}{
		{name: "report", path: "status/1-1-1/completed", status: 200, results: map[string]float64{"applied": 1}},
		{name: "report by POST", method: "POST", path: "status/1-1-1/completed", status: 200, results: map[string]float64{"applied": 1}},
		{name: "form", method: "POST", path: "form", body: "attempt=1-1-1&outcome=busy", contentType: "application/x-www-form-urlencoded; charset=utf-8", status: 200, results: map[string]float64{"applied": 1}},
		{name: "unknown attempt", path: "status/1-99-1/completed", status: 200, results: map[string]float64{"unknown": 1}},
		{name: "another channel's contact", path: "status/2-2-1/completed", status: 200, results: map[string]float64{"unknown": 1}},
		{name: "message", path: "incoming?guid=g&from=%2B15559998877&body=CANARY-text", status: 200, answer: "[]", results: map[string]float64{"applied": 1}},
		{name: "nothing in it", path: "ping", status: 200, results: map[string]float64{"ignored": 1}},
		{name: "not the provider's", path: "nonsense", status: 400, results: map[string]float64{"invalid": 1}},
		{name: "bare", path: "", status: 400, results: map[string]float64{"invalid": 1}},
		{name: "query not well-formed", path: "ping?a=%zz", status: 400, results: map[string]float64{"invalid": 1}},
		{name: "form not well-formed", method: "POST", path: "form", body: "a=%zz", contentType: "application/x-www-form-urlencoded", status: 400, results: map[string]float64{"invalid": 1}},
		{name: "too large", method: "POST", path: "ping", body: strings.Repeat("x", 64<<10+1), status: 400, results: map[string]float64{"invalid": 1}},
		{name: "as large as may be", method: "POST", path: "ping", body: strings.Repeat("x", 64<<10), status: 200, results: map[string]float64{"ignored": 1}},
		{name: "driver breaks", path: "panic", status: 500, results: map[string]float64{}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			ch := r.channel("a", "texts")
			r.contact(ch, weir.Progress{State: weir.Active, Attempt: 1})
			r.contact(r.channel("b", "texts"), weir.Progress{State: weir.Active, Attempt: 1})
			g := r.call(tc.method, callbackPath(ch, tc.path), tc.body, tc.contentType)
			if g.status != tc.status || g.status == 200 && g.body != tc.answer {
				t.Errorf("%d %q", g.status, g.body)
			}
			if d := cmp.Diff(tc.results, r.results("texts")); d != "" {
				t.Errorf("counted (-want +got):\n%s", d)
			}
			if len(r.reports) > 0 && r.reports[0].Attempt.Channel != ch.ID {
				t.Error("a report on another channel's contact went through")
			}
		})
	}
}

// call sends a provider's request.
func (r *rig) call(method, path, body, contentType string) got {
	r.t.Helper()
	if method == "" {
		method = "GET"
	}
	req := httptest.NewRequest(method, path, strings.NewReader(body))
	if contentType != "" {
		req.Header.Set("Content-Type", contentType)
	}
	g := r.serve(req)
	if g.status != 500 { // the documentation of callbacks has no 500
		r.holds(req, g)
	}
	return g
}

func TestCallbacks_RepeatsAreCountedAsDuplicates(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	ch := r.channel("a", "texts")
	r.contact(ch, weir.Progress{State: weir.Active, Attempt: 1})
	for range 3 {
		r.call("", callbackPath(ch, "status/1-1-1/completed"), "", "")
		r.call("", callbackPath(ch, "incoming?guid=g&body=x"), "", "")
	}
	if d := cmp.Diff(map[string]float64{"applied": 2, "duplicate": 4}, r.results("texts")); d != "" {
		t.Error(d)
	}
	if n := r.counter("weir_incoming_messages_total", "channel", "a"); n != 1 || len(r.incoming[ch.ID]) != 1 {
		t.Errorf("%v messages", n)
	}
}

func TestCallbacks_WithoutTheSecretChangeNothing(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	a, b := r.channel("a", "texts"), r.channel("b", "texts")
	r.contact(a, weir.Progress{State: weir.Active, Attempt: 1})
	writes := r.writes
	var bodies []string
	for _, path := range []string{
		"/callbacks/a/wrong/status/1-1-1/completed",
		"/callbacks/a/" + b.Secret + "/status/1-1-1/completed",
		"/callbacks/a/" + a.Secret + "x/status/1-1-1/completed",
		"/callbacks/a/" + a.Secret[1:] + "/status/1-1-1/completed",
		"/callbacks/a/" + strings.ToLower(a.Secret) + "/status/1-1-1/completed",
		"/callbacks/a/%20/status/1-1-1/completed",
		"/callbacks/nobody/" + a.Secret + "/status/1-1-1/completed",
		"/callbacks/A/" + a.Secret + "/status/1-1-1/completed",
		"/callbacks/a/wrong",
	} {
		g := r.call("", path, "", "")
		if g.status != 404 {
			t.Errorf("%s: %d", path, g.status)
		}
		bodies = append(bodies, g.body)
	}
	for _, body := range bodies {
		if body != bodies[0] {
			t.Errorf("answers differ: %s %s", body, bodies[0])
		}
	}
	if r.writes != writes {
		t.Error("something was written")
	}
	if n := r.results("none")["unauthorised"]; n != float64(len(bodies)) {
		t.Errorf("counted %v of %d", n, len(bodies))
	}
}

func TestCallbacks_OfADeletedChannelAreTakenAndDropped(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	old := r.channel("a", "texts")
	r.do("DELETE", "/v1/channels/a", "")
	again := r.channel("a", "texts")
	writes := r.writes
	if g := r.call("", callbackPath(old, "incoming?guid=g"), "", ""); g.status != 200 || g.body != "[]" || r.writes != writes {
		t.Errorf("deleted: %d %q", g.status, g.body)
	}
	if g := r.call("", callbackPath(again, "ping"), "", ""); g.status != 200 {
		t.Errorf("the new one of that name: %d", g.status)
	}
	if d := cmp.Diff(map[string]float64{"deleted": 1, "ignored": 1}, r.results("texts")); d != "" {
		t.Error(d)
	}
}

// gone is a broker whose channel was deleted after the callback's lookup.
type gone struct{ web.Broker }

func (gone) Report(context.Context, weir.ChannelID, []weir.Report) ([]weir.Verdict, error) {
	return nil, weir.Errorf(weir.CodeNotFound, "the channel was deleted")
}

func TestCallbacks_AreDroppedIfTheChannelIsDeletedMeanwhile(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(o *web.Options) { o.Broker = gone{o.Broker} })
	ch := r.channel("a", "texts")
	if g := r.call("", callbackPath(ch, "status/1-1-1/completed"), "", ""); g.status != 200 || r.results("texts")["deleted"] != 1 {
		t.Errorf("%d %v", g.status, r.results("texts"))
	}
}

func TestCallbacks_AreAskedForAgainWhileTheStoreIsDown(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	ch := r.channel("a", "texts")
	r.call("", callbackPath(ch, "ping"), "", "") // the channel is cached from now on
	r.down = errDown
	for _, path := range []string{callbackPath(ch, "status/1-1-1/completed"), callbackPath(ch, "incoming?guid=g")} {
		if g := r.call("", path, "", ""); g.status != 503 {
			t.Errorf("%d", g.status)
		}
	}
	r.down = fmt.Errorf("a mistake of ours")
	if g := r.call("", callbackPath(ch, "status/1-1-1/completed"), "", ""); g.status != 503 {
		t.Errorf("%d", g.status)
	}
	r.down = weir.Errorf(weir.CodeInvalid, "this can never be stored")
	if g := r.call("", callbackPath(ch, "status/1-1-1/completed"), "", ""); g.status != 400 {
		t.Errorf("%d", g.status)
	}
	r.down = nil
	broken := r.channel("broken", "texts", func(c *weir.Channel) { c.Settings["base_url"] = "http://p.test/broken" })
	if g := r.call("", callbackPath(broken, "ping"), "", ""); g.status != 503 {
		t.Errorf("without a driver: %d", g.status)
	}
	if n := r.results("texts")["unavailable"]; n != 4 {
		t.Errorf("counted %v", n)
	}
}

// TestCallbacks_LookupsSpareTheStore: known secrets cost no store read, wrong ones one per
// second, and a change is visible at once in this process and within seconds in
// others.
func TestCallbacks_LookupsSpareTheStore(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	ch := r.channel("a", "texts")
	expect := func(what, path string, status, lookups int) {
		t.Helper()
		before := r.lookups
		g := r.call("", path, "", "")
		if g.status != status || r.lookups-before != lookups {
			t.Errorf("%s: %d with %d lookups, want %d with %d", what, g.status, r.lookups-before, status, lookups)
		}
	}
	good, wrong := callbackPath(ch, "ping"), "/callbacks/a/wrong/ping"
	expect("first", good, 200, 1)
	expect("second", good, 200, 0)
	expect("wrong, just read", wrong, 404, 0)
	r.clock.advance(1001 * time.Millisecond)
	expect("known", good, 200, 0)
	expect("wrong, read a second ago", wrong, 404, 1)
	expect("wrong again", wrong, 404, 0)
	r.clock.advance(5001 * time.Millisecond)
	expect("stale", good, 200, 1)
	unknown := "/callbacks/later/" + secretCanary + "-2/ping"
	expect("no such channel", unknown, 404, 1)
	expect("still none", unknown, 404, 0)
	r.do("PUT", "/v1/channels/later", goodTexts)
	expect("created here", unknown, 200, 1)
	expect("never a name", "/callbacks/NO/x/ping", 404, 0)
	expect("elsewhere", "/callbacks/elsewhere/"+secretCanary+"-3/ping", 404, 1)
	r.channel("elsewhere", "texts") // by another process
	r.clock.advance(1001 * time.Millisecond)
	expect("created elsewhere", "/callbacks/elsewhere/"+secretCanary+"-3/ping", 200, 1)
}

// hangsUp is a broker during whose call the provider disconnects.
type hangsUp struct {
	web.Broker
	leave context.CancelFunc
	err   error
}

func (b *hangsUp) Report(ctx context.Context, _ weir.ChannelID, reports []weir.Report) ([]weir.Verdict, error) {
	b.leave()
	b.err = ctx.Err()
	return []weir.Verdict{weir.Applied}, nil
}

// TestCallbacks_CountAlthoughTheProviderHungUp: Verboice sends each callback
// once and does not wait for the response.
func TestCallbacks_CountAlthoughTheProviderHungUp(t *testing.T) {
	t.Parallel()
	broker := &hangsUp{}
	r := newRig(t, func(o *web.Options) { broker.Broker = o.Broker; o.Broker = broker })
	ch := r.channel("a", "texts")
	ctx, cancel := context.WithCancel(t.Context())
	broker.leave = cancel
	g := r.serve(httptest.NewRequestWithContext(ctx, "GET", callbackPath(ch, "status/1-1-1/completed"), nil))
	if g.status != 200 || broker.err != nil {
		t.Errorf("%d %v", g.status, broker.err)
	}
}

// TestCallbacks_ThatAreCutShortAreAskedForAgain: a truncated body must not cause a 400,
// after which Nuntium never sends it again.
func TestCallbacks_ThatAreCutShortAreAskedForAgain(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	ch := r.channel("a", "texts")
	server := httptest.NewServer(r.handler)
	defer server.Close()
	conn, err := net.Dial("tcp", server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	if _, err := fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\nhalf", callbackPath(ch, "ping")); err != nil {
		t.Fatal(err)
	}
	if err := conn.(*net.TCPConn).CloseWrite(); err != nil {
		t.Fatal(err)
	}
	res, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	_, _ = io.Copy(io.Discard, res.Body)
	_ = res.Body.Close()
	if res.StatusCode != 503 || r.results("texts")["unavailable"] != 1 {
		t.Errorf("%d %v", res.StatusCode, r.results("texts"))
	}
}

func TestCallbacks_MayArriveConcurrently(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	ch := r.channel("a", "texts")
	var wg sync.WaitGroup
	for i := range 64 {
		wg.Go(func() {
			path := callbackPath(ch, "incoming?guid="+fmt.Sprint(i%8))
			if i%4 == 0 {
				path = "/callbacks/a/wrong/ping"
			}
			if g := r.call("", path, "", ""); g.status != 200 && g.status != 404 {
				t.Errorf("%d", g.status)
			}
			if i%16 == 0 {
				r.do("PATCH", "/v1/channels/a", fmt.Sprintf(`{"capacity":%d}`, i+1))
			}
		})
	}
	wg.Wait()
	if n := r.results("none")["unauthorised"]; n != 16 {
		t.Errorf("%v", n)
	}
}

// FuzzCallback: whatever the request, the response is one of a few, and without
// the secret nothing is ever written.
func FuzzCallback(f *testing.F) {
	f.Add("a", "wrong", "status/1-1-1/completed", "x=1", "attempt=1-1-1", true)
	f.Add("a", secretCanary+"-1", "status/1-1-1/completed", "", "", false)
	f.Add("a", secretCanary+"-1", "form", "%zz", "attempt=1-1-1&outcome=busy", true)
	f.Add("nobody", "", "../..//", "from=1&guid=1", "", false)
	r := newRig(f, func(o *web.Options) { o.Logger = slog.New(slog.DiscardHandler) })
	ch := r.channel("a", "texts")
	f.Fuzz(func(t *testing.T, name, secret, rest, query, body string, form bool) {
		u := url.URL{Path: "/callbacks/" + name + "/" + secret + "/" + rest, RawQuery: query}
		req := httptest.NewRequest("POST", "/", strings.NewReader(body))
		req.URL = &u
		if form {
			req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		}
		r.reports, r.incoming = nil, map[weir.ChannelID][]weir.Incoming{}
		writes := r.writes
		g := r.serve(req)
		switch g.status {
		case 200, 400, 404:
		case 500:
			if !strings.HasPrefix(rest, "panic") {
				t.Errorf("500: %s", g.body)
			}
		default:
			t.Errorf("%d: %s", g.status, g.body)
		}
		if !strings.Contains(u.Path, ch.Secret) && r.writes != writes {
			t.Error("written without the secret")
		}
	})
}
