package cli_test

import (
	"fmt"
	"io"
	"math"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"weir/cmd/internal/clitest"
	"weir/cmd/weir/cli"
	"weir/cmd/weir/cli/app"
	"weir/internal/polling"
)

// turns answers each request with the next text, and repeats the last one.
func turns(texts ...string) http.HandlerFunc {
	var n atomic.Int32
	return func(w http.ResponseWriter, r *http.Request) {
		text := texts[min(int(n.Add(1)), len(texts))-1]
		if status := 0; text == "" || text[0] != '{' {
			_, _ = fmt.Sscan(text, &status)
			answers(status, `{"code":"x","detail":"not now"}`)(w, r)
			return
		}
		answers(http.StatusOK, text)(w, r)
	}
}

func channelsPage(queued int) string {
	return fmt.Sprintf(`{"channels":[{"channel":"sms","type":"nuntium","state":"up","capacity":5,"in_flight":1,"queued":%d,"settings":{}}]}`, queued)
}

// ticking runs a command with a clock of the test, and ends it after a number of
// ticks; 0: it ends by itself. A tick is accepted only after the previous output was shown.
func ticking(t *testing.T, s *screenful, url string, stdin io.Reader, ticks int, args ...string) (code int, out, err string) {
	t.Helper()
	clock := make(chan time.Time)
	ended := make(chan int)
	o := s.options(url, stdin, clock)
	if s.columns == 0 { // no terminal
		o.Size = nil
	}
	ctx, cancel := contextOf(t)
	go func() { ended <- cli.Run(ctx, args, o) }()
	for range ticks {
		select {
		case clock <- time.Time{}:
		case code = <-ended:
			out, err = s.text()
			return code, out, err
		}
	}
	if ticks > 0 {
		cancel()
	}
	code = <-ended
	cancel()
	out, err = s.text()
	return code, out, err
}

const channelHead = "CHANNEL  TYPE     STATE  IN FLIGHT  CAPACITY  SENDING  UNKNOWN  QUEUED  OLDEST  REASON\n"

func channelLine(queued string) string {
	return "sms      nuntium  up             1         5        0        0  " + strings.Repeat(" ", 6-len(queued)) + queued + "  -       -\n"
}

// A watched view is refreshed repeatedly, also if Weir does not answer for a
// while; interrupting it is no failure.
func TestWatch_RefreshesAlsoWhileWeirDoesNotAnswer(t *testing.T) {
	t.Parallel()
	f := newFakeWeir(t, map[string]http.HandlerFunc{"GET /v1/channels": turns(channelsPage(10), "500", channelsPage(9), channelsPage(8))})
	code, out, err := ticking(t, &screenful{}, f.url, nil, 3, "channel", "list", "--watch")
	if want := channelHead + channelLine("10") + "\n" + channelHead + channelLine("9"); code != app.OK || !strings.HasPrefix(out, want) || err != "warning: Weir answered 500 (x): not now\n" {
		t.Errorf("%d\n%s\n%s", code, out, err)
	}
	// For programs each refresh is a separate value.
	code, out, _ = ticking(t, &screenful{}, f.url, nil, 1, "channel", "list", "--watch=5s", "--output", "jsonl")
	if lines := strings.Split(strings.TrimSpace(out), "\n"); code != app.OK || len(lines) < 1 || !strings.HasPrefix(lines[0], `{"channel":"sms"`) {
		t.Errorf("%d %q", code, out)
	}
	// If the first request finds nothing, watching ends.
	code, _, err = ticking(t, &screenful{}, newFakeWeir(t, nil).url, nil, 5, "channel", "show", "sms", "--watch")
	if code != app.NotFound || !strings.Contains(err, "404") {
		t.Errorf("%d %s", code, err)
	}
	clitest.Check(t, at(t, f.url, "", "channel", "list", "--watch=1ms"), app.Usage, "^$", "100ms or more")
}

func TestWatch_IsWrittenInPlaceOnATerminal(t *testing.T) {
	t.Parallel()
	f := newFakeWeir(t, map[string]http.HandlerFunc{"GET /v1/channels": turns(channelsPage(10), channelsPage(9))})
	code, out, _ := ticking(t, &screenful{columns: 100, rows: 24}, f.url, nil, 1, "channel", "list", "--watch", "--no-color")
	if want := channelHead + channelLine("10") + "\x1b[2A\x1b[J" + channelHead + channelLine("9"); code != app.OK || !strings.HasPrefix(want, out) && out != want {
		t.Errorf("%d\n%q\nwant\n%q", code, out, want)
	}
	_, out, _ = ticking(t, &screenful{columns: 100, rows: 24}, f.url, nil, 0, "channel", "list")
	if !strings.Contains(out, "\x1b[32mup\x1b[0m") {
		t.Errorf("no colours: %q", out)
	}
}

const routerMetrics = `# HELP weir_router_jobs Jobs.
# TYPE weir_router_jobs gauge
weir_router_jobs{state="queued"} 3
# TYPE weir_router_workers gauge
weir_router_workers{state="active"} 2
# TYPE weir_router_offers_out gauge
weir_router_offers_out 1
# TYPE weir_router_oldest_waiting_seconds gauge
weir_router_oldest_waiting_seconds 61.5
# TYPE weir_other_total counter
weir_other_total 9
`

// topRemote answers once; then its channels fail until it is back.
func topRemote(t *testing.T) (f *fakeWeir, back *atomic.Bool) {
	t.Helper()
	back = new(atomic.Bool)
	failing := turns(channelsPage(1234), "503")
	channels := func(w http.ResponseWriter, r *http.Request) {
		if back.Load() {
			answers(http.StatusOK, channelsPage(77))(w, r)
			return
		}
		failing(w, r)
	}
	f = newFakeWeir(t, map[string]http.HandlerFunc{
		"GET /v1/channels":          channels,
		"GET /v1/minutes":           answers(http.StatusOK, `{"since":"2026-05-04T11:58:00Z","until":"2026-05-04T12:01:00Z","step":"1m","channels":[{"channel":"sms","accepted":[1,41,2],"finished":[3,42,4]}]}`),
		"GET /v1/surveys":           answers(http.StatusOK, `{"surveys":[{"survey":"flu","state":"running"}]}`),
		"GET /v1/surveys/flu/stats": answers(http.StatusOK, stats),
		"GET /metrics":              answers(http.StatusOK, routerMetrics),
	})
	return f, back
}

func TestTop_PrintsOnceWithoutATerminal(t *testing.T) {
	t.Parallel()
	s := &screenful{}
	f, _ := topRemote(t)
	code, out, err := ticking(t, s, f.url, nil, 0, "top")
	for _, want := range []string{"channels: 1 (1 up)", "waiting 1,234", "last minute: 41 accepted, 42 done", "\nsms ", "\nflu ", "590 of 1,000*", "ROUTER  open offers 1, longest wait 1m01s; workers: 2 active; jobs: 3 queued"} {
		if code != app.OK || err != "" || !strings.Contains(out, want) {
			t.Errorf("%d %s, it lacks %q:\n%s", code, err, want, out)
		}
	}
	if strings.Contains(out, "\x1b") {
		t.Errorf("escape sequences without a terminal: %q", out)
	}
}

// A token that may only read channels gets the channels.
func TestTop_ShowsWhatTheTokenAllows(t *testing.T) {
	t.Parallel()
	f := newFakeWeir(t, map[string]http.HandlerFunc{"GET /v1/channels": turns(channelsPage(5)), "GET /v1/surveys": turns("403"), "GET /v1/minutes": turns("403"), "GET /metrics": turns("403")})
	clitest.Check(t, at(t, f.url, "", "top"), app.OK, `(?s)\nsms .*`, "^$")
}

// keyboard types each key once the screen shows its cue.
type keyboard struct {
	s     *screenful
	steps [][2]string // the cue on the screen, and the keys typed then
	typed func(keys string)
}

func (k *keyboard) Read(p []byte) (int, error) {
	if len(k.steps) == 0 {
		return 0, io.EOF
	}
	step := k.steps[0]
	k.steps = k.steps[1:]
	if !polling.Until(time.Minute, time.Millisecond, func() bool {
		out, _ := k.s.text()
		return strings.Contains(out[strings.LastIndex(out, "\x1b[H")+1:], step[0])
	}) {
		return 0, fmt.Errorf("the screen never showed %q", step[0])
	}
	k.typed(step[1])
	return copy(p, step[1]), nil
}

func TestTop_ObeysKeysOnATerminal(t *testing.T) {
	t.Parallel()
	s := &screenful{columns: 100, rows: 20}
	f, back := topRemote(t)
	keys := &keyboard{s, [][2]string{{"[n name]", "w"}, {"[w waiting]", "r"}, {"answered 503", "n"}, {"waiting 77", "q"}}, func(keys string) { // 77 alone may occur in the address
		if keys == "n" {
			back.Store(true)
		}
	}}
	code, out, err := ticking(t, s, f.url, keys, math.MaxInt, "top") // keys end it
	if code != app.OK || err != "" {
		t.Errorf("%d %s", code, err)
	}
	if !strings.HasPrefix(out, "\x1b[?1049h\x1b[?25l\x1b[2J\x1b[H") || !strings.HasSuffix(out, "\x1b[?25h\x1b[?1049l") {
		t.Errorf("the screen is not taken and given back: %q … %q", out[:40], out[len(out)-40:])
	}
	if !strings.Contains(out, "since 12:00:00: Weir answered 503 (x): not now") {
		t.Error("it does not show since when Weir has not answered")
	}
	// In raw mode, Ctrl-C arrives as a key.
	s = &screenful{columns: 100, rows: 20}
	f, _ = topRemote(t)
	if code, _, _ := ticking(t, s, f.url, strings.NewReader("\x03"), math.MaxInt, "top"); code != app.OK {
		t.Errorf("Ctrl-C: %d", code)
	}
}

// Launching a very large survey takes longer than the limit of a request.
func TestLaunch_IsRetried(t *testing.T) {
	t.Parallel()
	f := newFakeWeir(t, map[string]http.HandlerFunc{"POST /v1/surveys/flu:launch": turns("503", "503", "503", "503", "503", "503", "503", "503", `{"survey":"flu","state":"running"}`)})
	code, out, err := ticking(t, &screenful{}, f.url, nil, 100, "survey", "launch", "flu")
	if code != app.OK || out != "flu: running\n" || !strings.HasPrefix(err, "not launched yet, retrying for up to 15 min 00 s: Weir answered 503") || strings.Count(err, "\n") != 1 {
		t.Errorf("%d %q %q", code, out, err)
	}
	f = newFakeWeir(t, map[string]http.HandlerFunc{"POST /v1/surveys/flu:launch": turns("503")})
	if code, _, _ := ticking(t, &screenful{}, f.url, nil, 0, "survey", "launch", "flu", "--wait", "0s"); code != app.Unreachable {
		t.Errorf("%d", code)
	}
}

func TestDrain_Waits(t *testing.T) {
	t.Parallel()
	view := func(n int) string {
		return fmt.Sprintf(`{"channel":"sms","state":"paused","in_flight":%d,"capacity":5,"settings":{}}`, n)
	}
	f := newFakeWeir(t, map[string]http.HandlerFunc{"PATCH /v1/channels/sms": answers(http.StatusOK, view(3)), "GET /v1/channels/sms": turns(view(3), "503", "503", "503", "503", view(1), view(0))})
	s := &screenful{columns: 80, rows: 24}
	code, out, err := ticking(t, s, f.url, nil, 10, "channel", "drain", "sms")
	if code != app.OK || out != "sms: paused, nothing in flight\n" || !strings.Contains(err, "\r\x1b[Ksms [#############.......]  1 slot in flight") || !strings.HasSuffix(err, "\r\x1b[K") {
		t.Errorf("%d %q %q", code, out, err)
	}
	f = newFakeWeir(t, map[string]http.HandlerFunc{"PATCH /v1/channels/sms": answers(http.StatusOK, view(3)), "GET /v1/channels/sms": turns(view(3))})
	code, _, err = ticking(t, &screenful{}, f.url, nil, 0, "channel", "drain", "sms", "--timeout", "0s")
	if code != app.Failure || !strings.Contains(err, "weir contact list --channel sms") {
		t.Errorf("%d %q", code, err)
	}
}
