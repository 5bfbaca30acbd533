package cli_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"weir/channels/all"
	"weir/cmd/internal/clitest"
	"weir/cmd/weir/cli"
	"weir/cmd/weir/cli/app"
)

const eventsPage = `{"events":[
{"id":"5","type":"weir.survey.state","source":"surveys","subject":"survey/flu","time":"2026-05-04T08:00:00Z","data":{"state":"running"}},
{"id":"6","type":"weir.channel.state","source":"surveys","subject":"channel/a\u001b[2J","time":"2026-05-04T11:00:00Z","data":null}]}`

// Past events are written first, then new ones, starting after the last event
// written: none is missed, none is repeated, and a lost connection is reported.
func TestEvents_AreFollowed(t *testing.T) {
	t.Parallel()
	n := 0
	f := newFakeWeir(t, map[string]http.HandlerFunc{"GET /v1/events": func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Accept") != "text/event-stream" {
			answers(http.StatusOK, eventsPage)(w, r)
			return
		}
		switch n++; n {
		case 1:
			if got := r.Header.Get("Last-Event-ID"); got != "6" {
				t.Errorf("it goes on behind %q", got)
			}
			answers(http.StatusOK, "retry: 1\n\nid: 7\ndata: {\"id\":\"7\",\"type\":\"x\",\"source\":\"surveys\",\"subject\":\"s\",\"time\":\"2026-05-04T12:00:00Z\",\"data\":1}\n\n")(w, r)
		case 2:
			if got := r.Header.Get("Last-Event-ID"); got != "7" {
				t.Errorf("it goes on behind %q", got)
			}
			answers(http.StatusForbidden, `{"code":"forbidden","detail":"that was all"}`)(w, r)
		}
	}})
	s := &screenful{}
	code, out, err := ticking(t, s, f.url, nil, 0, "events", "--since", "2h", "--type", "a,b")
	if want := `{"id":"6","type":"weir.channel.state","source":"surveys","subject":"channel/a\u001b[2J","time":"2026-05-04T11:00:00Z","data":null}` + "\n" +
		`{"id":"7","type":"x","source":"surveys","subject":"s","time":"2026-05-04T12:00:00Z","data":1}` + "\n"; out != want {
		t.Errorf("it writes\n%s\nwant\n%s", out, want)
	}
	if code != app.Rejected || !strings.HasPrefix(err, "warning: no response from Weir") || !strings.Contains(err, "; reconnecting\nweir: Weir answered 403") {
		t.Errorf("%d %s", code, err)
	}
	if got := f.requests(); !strings.Contains(got[0], "cursor=0") || !strings.Contains(got[0], "type=a%2Cb") {
		t.Errorf("asked %q", got)
	}
}

func TestEvents_ArePrintedOnce(t *testing.T) {
	t.Parallel()
	f := newFakeWeir(t, map[string]http.HandlerFunc{"GET /v1/events": answers(http.StatusOK, eventsPage)})
	clitest.Check(t, at(t, f.url, "", "events", "--no-follow", "--output", "table"), app.OK,
		`^2026-05-04 08:00:00Z  weir\.survey\.state +survey/flu  \{"state":"running"\}\n2026-05-04 11:00:00Z  weir\.channel\.state +channel/a\\x1b\[2J  null\n$`, "^$")
	clitest.Check(t, at(t, f.url, "", "events", "--since", "soon"), app.Usage, "^$", "--since must be")
	clitest.Check(t, at(t, f.url, "", "events", "--since", "2h", "--after", "3"), app.Usage, "^$", "cannot be combined with")
}

func TestEvents_OfARunningWeirArePrinted(t *testing.T) {
	t.Parallel()
	b := newBroker(t)
	clitest.Check(t, b.run("route", "seed", "--agents", "2"), app.OK, "^", "^$")
	clitest.Check(t, b.run("events", "--no-follow", "--source", "router"), app.OK, `^\{.*RouterWorkerRegistered`, "^$")
	ctx, cancel := contextOf(t)
	var out strings.Builder
	done := make(chan int)
	first := make(chan struct{})
	go func() {
		done <- cli.Run(ctx, []string{"events", "--after", "0"}, cli.Options{
			Environ: []string{"WEIR_URL=" + b.url, "WEIR_TOKEN=" + surveyToken},
			Stdout: writer(func(p []byte) {
				if out.Len() == 0 {
					close(first)
				}
				out.Write(p)
			}), Stderr: &strings.Builder{},
		})
	}()
	<-first
	cancel()
	if code := <-done; code != app.OK || !strings.HasPrefix(out.String(), `{"id":"1",`) {
		t.Errorf("%d %s", code, out.String())
	}
}

// writer is a function as an io.Writer.
type writer func([]byte)

func (w writer) Write(p []byte) (int, error) { w(p); return len(p), nil }

func TestDeadLetters_AreListedAndRequeued(t *testing.T) {
	t.Parallel()
	f := newFakeWeir(t, map[string]http.HandlerFunc{
		"GET /v1/dead-letters/groups": answers(http.StatusOK, `{"groups":[{"channel":"sms","outcome":"lost","reason":"no word \u001b[1m","count":12345,"oldest":"2026-05-01T08:00:00Z","newest":"2026-05-02T08:00:00Z"}]}`),
		"GET /v1/dead-letters":        turns(`{"dead_letters":[{"at":"2026-05-01T08:00:00Z","outcome":"lost","reason":"x","contact":{"id":"c1","channel":"sms","to":"••01"}}],"next_cursor":"n"}`, `{"dead_letters":[]}`),
		"POST /v1/dead-letters:requeue": turns(`{"dry_run":true,"matching":12345,"remaining":12345}`, `{"dry_run":true,"matching":12345,"remaining":12345}`, `{"dry_run":true,"matching":12345,"remaining":12345}`,
			`{"matching":12345,"done":10000,"remaining":2345}`, `{"matching":2345,"done":2340,"window_closed":5,"remaining":5}`, `{"matching":5,"done":0,"window_closed":5,"remaining":5}`),
		"POST /v1/dead-letters:discard": answers(http.StatusOK, `{"matching":0,"remaining":0}`),
	})
	same(t, at(t, f.url, "", "dlq", "groups"), app.OK, " COUNT  CHANNEL  OUTCOME  OLDEST             NEWEST             REASON\n12,345  sms      lost     2026-05-01 08:00Z  2026-05-02 08:00Z  no word \\x1b[1m\n", "")
	same(t, at(t, f.url, "", "dlq", "list", "--channel", "sms", "--reason", ""), app.OK, "CONTACT  CHANNEL  TO    OUTCOME  AT                 REASON\nc1       sms      ••01  lost     2026-05-01 08:00Z  x\n", "")
	clitest.Check(t, at(t, f.url, "", "dlq", "requeue"), app.Usage, "^$", "select dead letters with.*--all")
	clitest.Check(t, at(t, f.url, "", "dlq", "requeue", "--all", "--contact", "c1"), app.Usage, "^$", "cannot be combined with other filters")
	clitest.Check(t, at(t, f.url, "", "dlq", "requeue", "--channel", "sms"), app.Usage, "^$", "this queues 12,345 dead letters again; to confirm, add --yes")
	same(t, at(t, f.url, "", "dlq", "requeue", "--channel", "sms", "--dry-run"), app.OK, "12,345 dead letters match; nothing was changed\n", "")
	same(t, at(t, f.url, "", "dlq", "requeue", "--channel", "sms", "--outcome", "lost", "--since", "2026-05-01T00:00:00Z", "--yes"), app.OK,
		"12,340 dead letters queued again, 5 skipped because their window is closed; 5 matching remain\n", "")
	same(t, at(t, f.url, "", "dlq", "discard", "--all", "--yes"), app.OK, "0 dead letters match; nothing was changed\n", "")
	want := `POST /v1/dead-letters:requeue application/json {"channel":"sms","outcome":"lost","since":"2026-05-01T00:00:00Z","limit":10000}`
	if got := strings.Join(f.requests(), "\n"); !strings.Contains(got, want) || !strings.Contains(got, `{"channel":"sms","outcome":"lost","since":"2026-05-01T00:00:00Z","limit":2345}`) || !strings.Contains(got, "reason=") {
		t.Errorf("asked\n%s", got)
	}
}

// typeNames lists the channel types, sorted, each on a line.
func typeNames() string {
	names := []string{"workers\n"} // which all.Types has only beside a router
	for _, typ := range all.Types(nil) {
		names = append(names, typ.Name+"\n")
	}
	slices.Sort(names)
	return strings.Join(names, "")
}

func TestCompletion_KnowsNames(t *testing.T) {
	t.Parallel()
	f := newFakeWeir(t, map[string]http.HandlerFunc{
		"GET /v1/channels": answers(http.StatusOK, `{"channels":[{"channel":"sms","type":"nuntium","state":"up"},{"channel":"calls","type":"verboice","state":"down"}]}`),
		"GET /v1/surveys":  answers(http.StatusOK, `{"surveys":[{"survey":"flu","state":"running"}]}`),
	})
	for args, want := range map[string]string{
		"channel show ,":                   "sms\tnuntium, up\ncalls\tverboice, down\n:4\n",
		"channel pause s":                  "sms\tnuntium, up\n:4\n",
		"channel capacity sms ,":           "default\n:4\n",
		"channel show sms ,":               ":4\n",
		"contact send ,":                   "sms\tnuntium, up\ncalls\tverboice, down\n:4\n",
		"contact list --survey ,":          "flu\trunning\n:4\n",
		"dlq list --outcome l":             "failed\nlost\ndead_letter\n:4\n", // the shell selects the matching ones
		"survey status f":                  "flu\trunning\n:4\n",
		"survey import people.csv ,":       "flu\trunning\n:4\n",
		"survey import ,":                  ":4\n",
		"survey export results ,":          "flu\trunning\n:4\n",
		"channel list --output j":          "table\njson\njsonl\n:4\n",
		"token create --scope contacts:":   "contacts:write\ncontacts:exempt\ncontacts:read\nchannels:admin\nsurveys:admin\nrouter\nwebhooks:admin\npeople:admin\ntokens:admin\nmetrics:read\npii:read\n:4\n",
		"channel put x --type v":           typeNames() + ":4\n",
		"channel show --url nonsense:// ,": ":4\n",
	} {
		words := append([]string{"__complete"}, strings.Fields(args)...)
		if last := len(words) - 1; words[last] == "," {
			words[last] = ""
		}
		if r := at(t, f.url, "", words...); r.Code != app.OK || strings.ReplaceAll(r.Out, "\t\n", "\n") != want {
			t.Errorf("%s: %d %q, want %q", args, r.Code, r.Out, want)
		}
	}
	for _, shell := range []string{"bash", "zsh", "fish", "powershell"} {
		clitest.Check(t, run(t, nil, "completion", shell), app.OK, "weir", "^$")
	}
}
