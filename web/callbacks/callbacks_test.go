package callbacks_test

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
	"weir/web/webtest"
)

func TestCallbacks_AreAnsweredAndCountedByResult(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, method, path, body string
		contentType              string
		status                   int
		answer                   string // Body of a success response
		results                  map[string]float64
	}{
		{name: "report", path: "status/OWN/completed", status: 200, results: map[string]float64{"applied": 1}},
		{name: "report by POST", method: "POST", path: "status/OWN/completed", status: 200, results: map[string]float64{"applied": 1}},
		{name: "form", method: "POST", path: "form", body: "attempt=OWN&outcome=busy", contentType: "application/x-www-form-urlencoded; charset=utf-8", status: 200, results: map[string]float64{"applied": 1}},
		{name: "unknown attempt", path: "status/1-99-1/completed", status: 200, results: map[string]float64{"unknown": 1}},
		{name: "another channel's contact", path: "status/OTHER/completed", status: 200, results: map[string]float64{"unknown": 1}},
		{name: "message", path: "incoming?guid=g&from=%2B15559998877&body=CANARY-text", status: 200, answer: "[]", results: map[string]float64{"applied": 1}},
		{name: "nothing in it", path: "ping", status: 200, results: map[string]float64{"ignored": 1}},
		{name: "not the provider's", path: "form", status: 400, results: map[string]float64{"invalid": 1}},
		{name: "unknown path", path: "nonsense", status: 404, results: map[string]float64{"unknown_path": 1}},
		{name: "bare", path: "", status: 404, results: map[string]float64{"unknown_path": 1}},
		{name: "query with a raw %", path: "ping?a=%zz", status: 200, results: map[string]float64{"ignored": 1}},
		{name: "form that names no attempt", method: "POST", path: "form", body: "a=%zz", contentType: "application/x-www-form-urlencoded", status: 400, results: map[string]float64{"invalid": 1}},
		{name: "too large", method: "POST", path: "ping", body: strings.Repeat("x", 64<<10+1), status: 400, results: map[string]float64{"invalid": 1}},
		{name: "as large as may be", method: "POST", path: "ping", body: strings.Repeat("x", 64<<10), status: 200, results: map[string]float64{"ignored": 1}},
		{name: "driver breaks", path: "panic", status: 500, results: map[string]float64{}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			r := webtest.New(t)
			ch := r.Channel("a", "texts")
			own := r.Contact(ch, weir.Progress{State: weir.Active, Attempt: 1})
			other := r.Contact(r.Channel("b", "texts"), weir.Progress{State: weir.Active, Attempt: 1})
			ids := strings.NewReplacer("OWN", own.Ref.String()+"-1", "OTHER", other.Ref.String()+"-1")
			g := r.Call(tc.method, webtest.CallbackPath(ch, ids.Replace(tc.path)), ids.Replace(tc.body), tc.contentType)
			if g.Status != tc.status || g.Status == 200 && g.Body != tc.answer {
				t.Errorf("%d %q", g.Status, g.Body)
			}
			if d := cmp.Diff(tc.results, r.Results("texts")); d != "" {
				t.Errorf("counted (-want +got):\n%s", d)
			}
			if len(r.Reports) > 0 && r.Reports[0].Attempt.Channel != ch.ID {
				t.Error("a report on another channel's contact went through")
			}
		})
	}
}

func TestCallbacks_RepeatsAreCountedAsDuplicates(t *testing.T) {
	t.Parallel()
	r := webtest.New(t)
	ch := r.Channel("a", "texts")
	c := r.Contact(ch, weir.Progress{State: weir.Active, Attempt: 1})
	for range 3 {
		r.Call("", webtest.CallbackPath(ch, "status/"+c.Ref.String()+"-1/completed"), "", "")
		r.Call("", webtest.CallbackPath(ch, "incoming?guid=g&body=x"), "", "")
	}
	if d := cmp.Diff(map[string]float64{"applied": 2, "duplicate": 4}, r.Results("texts")); d != "" {
		t.Error(d)
	}
	if n := r.Counter("weir_incoming_messages_total", "channel", "a"); n != 1 || len(r.Messages(ch)) != 1 {
		t.Errorf("%v messages", n)
	}
}

func TestCallbacks_WithoutTheSecretChangeNothing(t *testing.T) {
	t.Parallel()
	r := webtest.New(t)
	a, b := r.Channel("a", "texts"), r.Channel("b", "texts")
	report := "/status/" + r.Contact(a, weir.Progress{State: weir.Active, Attempt: 1}).Ref.String() + "-1/completed"
	writes := r.Writes()
	var bodies []string
	for _, path := range []string{
		"/callbacks/a/wrong" + report,
		"/callbacks/a/" + b.Secret + report,
		"/callbacks/a/" + a.Secret + "x" + report,
		"/callbacks/a/" + a.Secret[1:] + report,
		"/callbacks/a/" + strings.ToLower(a.Secret) + report,
		"/callbacks/a/%20" + report,
		"/callbacks/nobody/" + a.Secret + report,
		"/callbacks/A/" + a.Secret + report,
		"/callbacks/a/wrong",
	} {
		g := r.Call("", path, "", "")
		if g.Status != 404 {
			t.Errorf("%s: %d", path, g.Status)
		}
		bodies = append(bodies, g.Body)
	}
	for _, body := range bodies {
		if body != bodies[0] {
			t.Errorf("answers differ: %s %s", body, bodies[0])
		}
	}
	if r.Writes() != writes {
		t.Error("something was written")
	}
	if n := r.Results("none")["unauthorised"]; n != float64(len(bodies)) {
		t.Errorf("counted %v of %d", n, len(bodies))
	}
}

func TestCallbacks_OfADeletedChannelAreTakenAndDropped(t *testing.T) {
	t.Parallel()
	r := webtest.New(t)
	old := r.Channel("a", "texts")
	r.Do("DELETE", "/v1/channels/a", "")
	again := r.Channel("a", "texts")
	writes := r.Writes()
	if g := r.Call("", webtest.CallbackPath(old, "incoming?guid=g"), "", ""); g.Status != 200 || g.Body != "[]" || r.Writes() != writes {
		t.Errorf("deleted: %d %q", g.Status, g.Body)
	}
	if g := r.Call("", webtest.CallbackPath(again, "ping"), "", ""); g.Status != 200 {
		t.Errorf("the new one of that name: %d", g.Status)
	}
	if d := cmp.Diff(map[string]float64{"deleted": 1, "ignored": 1}, r.Results("texts")); d != "" {
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
	r := webtest.New(t, func(o *web.Options) { o.Broker = gone{o.Broker} })
	ch := r.Channel("a", "texts")
	if g := r.Call("", webtest.CallbackPath(ch, "status/1-1-1/completed"), "", ""); g.Status != 200 || r.Results("texts")["deleted"] != 1 {
		t.Errorf("%d %v", g.Status, r.Results("texts"))
	}
}

func TestCallbacks_AreAskedForAgainWhileTheStoreIsDown(t *testing.T) {
	t.Parallel()
	r := webtest.New(t)
	ch := r.Channel("a", "texts")
	r.Call("", webtest.CallbackPath(ch, "ping"), "", "") // the channel is cached from now on
	c := r.Contact(ch, weir.Progress{State: weir.Active, Attempt: 1})
	report := webtest.CallbackPath(ch, "status/"+c.Ref.String()+"-1/completed")
	r.Down = webtest.ErrDown
	for _, path := range []string{report, webtest.CallbackPath(ch, "incoming?guid=g")} {
		if g := r.Call("", path, "", ""); g.Status != 503 {
			t.Errorf("%d", g.Status)
		}
	}
	r.Down = fmt.Errorf("a mistake of ours")
	if g := r.Call("", report, "", ""); g.Status != 503 {
		t.Errorf("%d", g.Status)
	}
	r.Down = weir.Errorf(weir.CodeInvalid, "this can never be stored")
	if g := r.Call("", report, "", ""); g.Status != 400 {
		t.Errorf("%d", g.Status)
	}
	r.Down = nil
	broken := r.Channel("broken", "texts", func(c *weir.Channel) { c.Settings["base_url"] = "http://p.test/broken" })
	if g := r.Call("", webtest.CallbackPath(broken, "ping"), "", ""); g.Status != 503 {
		t.Errorf("without a driver: %d", g.Status)
	}
	if n := r.Results("texts")["unavailable"]; n != 4 {
		t.Errorf("counted %v", n)
	}
}

// TestCallbacks_LookupsSpareTheStore: known secrets cost no store read, wrong ones one per
// second, and a change is visible at once in this process and within seconds in
// others.
func TestCallbacks_LookupsSpareTheStore(t *testing.T) {
	t.Parallel()
	r := webtest.New(t)
	ch := r.Channel("a", "texts")
	expect := func(what, path string, status, lookups int) {
		t.Helper()
		before := r.Lookups
		g := r.Call("", path, "", "")
		if g.Status != status || r.Lookups-before != lookups {
			t.Errorf("%s: %d with %d lookups, want %d with %d", what, g.Status, r.Lookups-before, status, lookups)
		}
	}
	good, wrong := webtest.CallbackPath(ch, "ping"), "/callbacks/a/wrong/ping"
	expect("first", good, 200, 1)
	expect("second", good, 200, 0)
	expect("wrong, just read", wrong, 404, 0)
	r.Clock.Advance(1001 * time.Millisecond)
	expect("known", good, 200, 0)
	expect("wrong, read a second ago", wrong, 404, 1)
	expect("wrong again", wrong, 404, 0)
	r.Clock.Advance(5001 * time.Millisecond)
	expect("stale", good, 200, 1)
	unknown := "/callbacks/later/unknown/ping"
	expect("no such channel", unknown, 404, 1)
	expect("still none", unknown, 404, 0)
	r.Do("PUT", "/v1/channels/later", webtest.GoodTexts)
	later, err := r.Store.Channel(t.Context(), "later")
	if err != nil {
		t.Fatal(err)
	}
	expect("created here", webtest.CallbackPath(later, "ping"), 200, 1)
	expect("never a name", "/callbacks/NO/x/ping", 404, 0)
	expect("elsewhere", "/callbacks/elsewhere/unknown/ping", 404, 1)
	elsewhere := r.Channel("elsewhere", "texts") // by another process
	r.Clock.Advance(1001 * time.Millisecond)
	expect("created elsewhere", webtest.CallbackPath(elsewhere, "ping"), 200, 1)
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
	r := webtest.New(t, func(o *web.Options) { broker.Broker = o.Broker; o.Broker = broker })
	ch := r.Channel("a", "texts")
	ctx, cancel := context.WithCancel(t.Context())
	broker.leave = cancel
	g := r.Serve(httptest.NewRequestWithContext(ctx, "GET", webtest.CallbackPath(ch, "status/1-1-1/completed"), nil))
	if g.Status != 200 || broker.err != nil {
		t.Errorf("%d %v", g.Status, broker.err)
	}
}

// TestCallbacks_ThatAreCutShortAreAskedForAgain: a truncated body must not cause a 400,
// after which Nuntium never sends it again.
func TestCallbacks_ThatAreCutShortAreAskedForAgain(t *testing.T) {
	t.Parallel()
	r := webtest.New(t)
	ch := r.Channel("a", "texts")
	server := httptest.NewServer(r.Handler)
	defer server.Close()
	conn, err := net.Dial("tcp", server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	if _, err := fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\nhalf", webtest.CallbackPath(ch, "ping")); err != nil {
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
	if res.StatusCode != 503 || r.Results("texts")["unavailable"] != 1 {
		t.Errorf("%d %v", res.StatusCode, r.Results("texts"))
	}
}

func TestCallbacks_MayArriveConcurrently(t *testing.T) {
	t.Parallel()
	r := webtest.New(t)
	ch := r.Channel("a", "texts")
	var wg sync.WaitGroup
	for i := range 64 {
		wg.Go(func() {
			path := webtest.CallbackPath(ch, "incoming?guid="+fmt.Sprint(i%8))
			if i%4 == 0 {
				path = "/callbacks/a/wrong/ping"
			}
			if g := r.Call("", path, "", ""); g.Status != 200 && g.Status != 404 {
				t.Errorf("%d", g.Status)
			}
			if i%16 == 0 {
				r.Do("PATCH", "/v1/channels/a", fmt.Sprintf(`{"capacity":%d}`, i+1))
			}
		})
	}
	wg.Wait()
	if n := r.Results("none")["unauthorised"]; n != 16 {
		t.Errorf("%v", n)
	}
}

// FuzzCallback: whatever the request, the response is one of a few, and without
// the secret nothing is ever written.
func FuzzCallback(f *testing.F) {
	f.Add("a", "wrong", "status/1-1-1/completed", "x=1", "attempt=1-1-1", true)
	f.Add("nobody", "", "../..//", "from=1&guid=1", "", false)
	r := webtest.New(f, func(o *web.Options) { o.Logger = slog.New(slog.DiscardHandler) })
	ch := r.Channel("a", "texts")
	f.Add("a", "SECRET", "status/1-1-1/completed", "", "", false)
	f.Add("a", "SECRET", "form", "%zz", "attempt=1-1-1&outcome=busy", true)
	f.Fuzz(func(t *testing.T, name, secret, rest, query, body string, form bool) {
		secret = strings.ReplaceAll(secret, "SECRET", ch.Secret)
		u := url.URL{Path: "/callbacks/" + name + "/" + secret + "/" + rest, RawQuery: query}
		req := httptest.NewRequest("POST", "/", strings.NewReader(body))
		req.URL = &u
		if form {
			req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		}
		r.Reports = nil
		writes := r.Writes()
		g := r.Serve(req)
		switch g.Status {
		case 200, 400, 404:
		case 500:
			if !strings.HasPrefix(rest, "panic") {
				t.Errorf("500: %s", g.Body)
			}
		default:
			t.Errorf("%d: %s", g.Status, g.Body)
		}
		if !strings.Contains(u.Path, ch.Secret) && r.Writes() != writes {
			t.Error("written without the secret")
		}
	})
}
