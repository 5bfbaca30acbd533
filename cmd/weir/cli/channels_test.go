package cli_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"weir/cmd/internal/clitest"
	"weir/cmd/weir/cli/app"
)

func TestChannels_AreListedAndChanged(t *testing.T) {
	t.Parallel()
	b := newBroker(t)
	same(t, b.run("channel", "list"), app.OK, "CHANNEL  TYPE  STATE  IN FLIGHT  CAPACITY  SENDING  UNKNOWN  QUEUED  OLDEST  REASON\n", "")
	same(t, b.run("channel", "list", "--output", "json"), app.OK, "[]\n", "")
	b.channel("sms")
	b.channel("texts")
	same(t, b.run("channel", "list"), app.OK, `CHANNEL  TYPE     STATE   IN FLIGHT  CAPACITY  SENDING  UNKNOWN  QUEUED  OLDEST  REASON
sms      nuntium  paused          0         5        0        0       0  -       -
texts    nuntium  paused          0         5        0        0       0  -       -
`, "")
	same(t, b.run("channel", "capacity", "sms", "7"), app.OK, "sms: changed, paused, capacity 7\n", "")
	same(t, b.run("channel", "capacity", "sms", "default"), app.OK, "sms: changed, paused, capacity 100\n", "")
	clitest.Check(t, b.run("channel", "capacity", "sms", "many"), app.Usage, "^$", "SLOTS must be")
	clitest.Check(t, b.run("channel", "set", "sms", "--title", "Text \x1b[31mmessages"), app.Rejected, "^$", "/name: must be one line without control characters")
	same(t, b.run("channel", "set", "sms", "--title", "Text messages", "--set", "at_least_once:=true"), app.OK, "sms: changed, paused, capacity 100\n", "")
	clitest.Check(t, b.run("channel", "show", "sms"), app.OK, `(?s)^sms \(nuntium\): Text messages\n  state +paused\n  in flight +0 of 100 slots \[\.{20}\]: 0 sending.*account +demo\n.*at_least_once +true\n`, "^$")
	clitest.Check(t, b.run("channel", "set", "sms", "--unset", "at_least_once"), app.OK, "changed", "^$")
	if r := b.run("channel", "show", "sms", "-o", "json"); !json.Valid([]byte(r.Out)) || strings.Contains(r.Out, `"at_least_once":true`) {
		t.Errorf("%+v", r)
	}
	clitest.Check(t, b.run("channel", "drain", "sms"), app.OK, "^sms: paused, nothing in flight\n$", "^$")
	clitest.Check(t, b.run("channel", "resume", "texts"), app.OK, "^texts: resumed, ", "^$")
	clitest.Check(t, b.run("channel", "pause", "texts", "--output", "jsonl"), app.OK, `^\{.*"paused":true.*\}\n$`, "^$")
	clitest.Check(t, b.run("channel", "incoming", "sms"), app.OK, "^ID  RECEIVED  FROM  TO  TEXT\n$", "^$")
	clitest.Check(t, b.run("audit", "--limit", "3"), app.OK, "^AT +TOKEN +ACTION", "^$")
	clitest.Check(t, b.run("top"), app.OK, `(?s)^weir top .*channels: 2 \(2 paused\).*\nsms +paused +0/100 `, "^$")
	clitest.Check(t, b.run("top", "-o", "json"), app.OK, `"channels":\[\{"name":"sms","type":"nuntium","state":"paused"`, "^$")
	clitest.Check(t, b.run("contact", "send", "sms", "--to", "+15550001", "-m", "hello"), app.OK, "queued", "^$")
	clitest.Check(t, b.run("channel", "delete", "sms", "--yes"), app.Rejected, "^$", `(?s)409.*add --cancel to cancel its unfinished contacts`)
	clitest.Check(t, b.run("channel", "delete", "sms", "--cancel", "--yes"), app.OK, "^sms: (deleted|its open contacts are being ended)", "^$")
	clitest.Check(t, b.run("channel", "delete", "texts", "--yes"), app.OK, "^texts: deleted\n$", "^$")
	clitest.Check(t, b.run("channel", "show", "texts"), app.NotFound, "^$", "404")
}

func TestChannels_BrakesAreSetAndShown(t *testing.T) {
	t.Parallel()
	b := newBroker(t)
	b.channel("sms")
	clitest.Check(t, b.run("channel", "set", "sms", "--brake", "over=50", "--brake", "failed_percent=20", "--brake", "reasons.a = b=30"), app.OK, "changed", "^$")
	clitest.Check(t, b.run("channel", "show", "sms"), app.OK, `\n  brake +failed 0 of 0, at most 20 %; "a = b" 0 of 0, at most 30 %\n`, "^$")
	clitest.Check(t, b.run("channel", "set", "sms", "--brake", "opted_out_percent=5", "--brake", "failed_percent=none", "--brake", "reasons.a = b=none"), app.OK, "changed", "^$")
	clitest.Check(t, b.run("channel", "show", "sms", "-o", "json"), app.OK, `"brake":\{"over":50,"opted_out_percent":5\}`, "^$")
	clitest.Check(t, b.run("channel", "set", "sms", "--brake", "over=5", "--brake", "minimum=0"), app.Rejected, "^$", "(?s)/brake/minimum: .*/brake/over: ")
	for text, says := range map[string]string{"over": "KEY=NUMBER or none", "over=many": "neither a whole number nor none", "=5": "KEY=NUMBER"} {
		clitest.Check(t, b.run("channel", "set", "sms", "--brake", text), app.Usage, "^$", says)
	}
	clitest.Check(t, b.run("channel", "set", "sms", "--brake", "none", "--brake", "over=50"), app.Usage, "^$", "goes with no other")
	clitest.Check(t, b.run("channel", "set", "sms", "--brake", "none"), app.OK, "changed", "^$")
	if r := b.run("channel", "show", "sms"); strings.Contains(r.Out, "brake") {
		t.Errorf("%+v", r)
	}
}

func TestChannels_ABrakeThatHasActedIsShown(t *testing.T) {
	t.Parallel()
	const braked = `{"at":"2026-03-01T09:00:00Z","cause":"failed","count":9,"of":20,"percent":20,"touched":340,"text":"paused itself: 9 of the last 20 contacts failed, the bound is 20 %"}`
	f := newFakeWeir(t, map[string]http.HandlerFunc{"GET /v1/channels/sms": answers(http.StatusOK, `{"channel":"sms","type":"nuntium","state":"paused","state_reason":"paused itself: 9 of the last 20 contacts failed, the bound is 20 %",
		"capacity":5,"settings":{},"brake":{"failed_percent":20},"brake_count":{"of":20,"failed":9},"braked":`+braked+`}`)})
	clitest.Check(t, at(t, f.url, "", "channel", "show", "sms"), app.OK,
		`(?s)state +paused: paused itself: 9 of the last 20 contacts failed, the bound is 20 %\n.*brake +failed 9 of 20, at most 20 %\n +braked +at .*after 340 contacts; weir channel resume sms goes on\n`, "^$")
}

func TestChannels_SecretsAreNotOnTheCommandLine(t *testing.T) {
	t.Parallel()
	f := newFakeWeir(t, map[string]http.HandlerFunc{"PUT /v1/channels/sms": answers(http.StatusCreated, `{"channel":"sms","state":"up","capacity":5,"settings":{}}`)})
	secret := file(t, "secret", "hunter2\n")
	clitest.Check(t, at(t, f.url, "", "channel", "put", "sms", "--type", "nuntium", "--set", "password=x"), app.Usage, "^$", "password is a secret.*--secret-file password=FILE")
	clitest.Check(t, at(t, f.url, "", "channel", "put", "sms", "--secret-env", "password=NONE"), app.Usage, "^$", "NONE is not set")
	clitest.Check(t, at(t, f.url, "", "channel", "put", "sms", "--secret-file", "password="+secret+"x"), app.Failure, "^$", "no such file")
	clitest.Check(t, at(t, f.url, "", "channel", "put", "sms", "--secret-file", "password="+file(t, "none", "\n")), app.Failure, "^$", "is empty")
	clitest.Check(t, at(t, f.url, "", "channel", "put", "sms", "--set", "reply_reserve:=x"), app.Usage, "^$", "is not JSON")
	clitest.Check(t, at(t, f.url, "", "channel", "set", "sms"), app.Usage, "^$", "no change given")
	body := file(t, "sms.json", `{"type":"nuntium","capacity":9,"settings":{"account":"a","password":"old"}}`)
	same(t, at(t, f.url, "", "channel", "put", "sms", "--file", body, "--capacity", "5", "--secret-file", "password="+secret), app.OK, "sms: saved (capacity 5); checking provider…\n", "")
	same(t, at(t, f.url, "hunter2", "channel", "put", "sms", "--force", "--secret-file", "token=-"), app.OK, "sms: saved (capacity 5); checking provider…\n", "")
	want := []string{
		`PUT /v1/channels/sms application/json {"capacity":5,"settings":{"account":"a","password":"hunter2"},"type":"nuntium"}`,
		`PUT /v1/channels/sms?force=true application/json {"settings":{"token":"hunter2"}}`,
	}
	if got := f.requests(); len(got) != 2 || got[0] != want[0] || got[1] != want[1] {
		t.Errorf("asked %q", got)
	}
}

func TestContacts_AreSentAndShown(t *testing.T) {
	t.Parallel()
	b := newBroker(t)
	b.channel("sms")
	send := []string{"contact", "send", "sms", "--to", "+15550001", "--message", "one\ntwo", "--key", "k1", "--priority", "high", "--label", "region=north", "--not-after", "2099-01-02T03:04:05Z"}
	clitest.Check(t, b.run(send...), app.OK, "^[^ ]+: queued\n$", "^$")
	clitest.Check(t, b.run(append(send, "-o", "json")...), app.OK, `"duplicate":true`, "^$")
	clitest.Check(t, b.run("contact", "send", "sms", "--to", "+15550001", "--message", "one", "--key", "k1"), app.Rejected, "^$", "409 .key_reused")
	clitest.Check(t, b.run("contact", "send", "sms", "--to", "unknown", "--message", "one"), app.Rejected, "^$", `(?s)422.*/contacts/0/to`)
	clitest.Check(t, b.run("contact", "send", "none", "--to", "+15550001", "--message", "one"), app.NotFound, "^$", "404")
	r := b.run("contact", "list", "--channel", "sms", "--output", "jsonl")
	var x struct{ ID string }
	if err := json.Unmarshal([]byte(r.Out), &x); err != nil {
		t.Fatalf("%v: %+v", err, r)
	}
	clitest.Check(t, b.run("contact", "list", "--state", "queued"), app.OK, `^CONTACT +CHANNEL +KEY +TO +STATE +OUTCOME +ATTEMPTS +ACCEPTED +FINISHED +REASON\n`+x.ID+` +sms +k1 +\+15550001 +queued +- +0 +\d{4}-.*- +channel sms is paused\n$`, "^$")
	clitest.Check(t, b.run("contact", "show", x.ID), app.OK, `(?s)^`+x.ID+`: queued\n +why +channel sms is paused\n.*priority +high\n.*label +region=north\n.*message +one\\ntwo\n$`, "^$")
	clitest.Check(t, b.run("channel", "show", "sms"), app.OK, `(?m)^  why +channel sms is paused$`, "^$")
	clitest.Check(t, b.run("channel", "set", "sms", "--set", "rate_per_second=5"), app.OK, "", "^$")
	clitest.Check(t, b.run("channel", "show", "sms"), app.OK, `(?m)^  rate +at most 5 per second$`, "^$")
	clitest.Check(t, b.run("contact", "timeline", x.ID), app.OK, `^`+x.ID+` on sms\n\d{4}-\d\d-\d\d \d\d:\d\d:\d\dZ +accepted\n`, "^$")
	same(t, b.run("contact", "cancel", x.ID, "--yes"), app.OK, x.ID+": canceled\n", "")
	clitest.Check(t, b.run("contact", "timeline", x.ID), app.OK, `(?m)done, canceled`, "^$")
	for args, listed := range map[string]bool{"--outcome canceled": true, "--outcome lost": false, "--since 1h": true, "--until 1h": false, "--since 1h --outcome canceled": true} {
		r := b.run(append([]string{"contact", "list", "-o", "jsonl"}, strings.Fields(args)...)...)
		if r.Code != app.OK || strings.Contains(r.Out, x.ID) != listed {
			t.Errorf("%s: %+v", args, r)
		}
	}
	clitest.Check(t, b.run("contact", "list", "--since", "yesterday"), app.Usage, "^$", "must be an instant")
	clitest.Check(t, b.run("contact", "list", "--outcome", "gone"), app.Rejected, "^$", "/outcome: must be one of")
	clitest.Check(t, b.run("contact", "show", "1-zzzzzz"), app.NotFound, "^$", "404")
	for args, want := range map[string]string{
		"--to +15550001 --file x.csv": "cannot be combined with", "": "no contact given", "--file x.csv --key k": "may have a column key", "--file x.ods": "add --format", "--to +15550001 --label x": "NAME=VALUE",
		"--to +15550001 --not-before soon": "must be an instant", "--to +15550001 --dry-run": "need --file", "--file x.csv --dry-run --errors y.csv": "--errors cannot be combined", "--file x.csv --from-line -1": "must be 0 or more",
	} {
		clitest.Check(t, b.run(append([]string{"contact", "send", "sms"}, strings.Fields(args)...)...), app.Usage, "^$", want)
	}
}

func TestContacts_AreListedNewestFirst(t *testing.T) {
	t.Parallel()
	b := newBroker(t)
	b.channel("one")
	b.channel("two")
	for i, channel := range []string{"two", "one", "two"} {
		clitest.Check(t, b.run("contact", "send", channel, "--to", fmt.Sprintf("+1555000%d", i%2), "--message", "x", "--key", fmt.Sprint("k", i)), app.OK, "queued", "^$")
	}
	keys := func(args ...string) (list []string) {
		t.Helper()
		r := b.run(append([]string{"contact", "list", "-o", "jsonl"}, args...)...)
		for line := range strings.Lines(r.Out) {
			var x struct{ Key string }
			if err := json.Unmarshal([]byte(line), &x); err != nil {
				t.Fatalf("%v: %+v", err, r)
			}
			list = append(list, x.Key)
		}
		return list
	}
	for args, want := range map[string][]string{
		"": {"k2", "k1", "k0"}, "--limit 2": {"k2", "k1"}, "--channel two": {"k2", "k0"}, "--order oldest": {"k1", "k0", "k2"},
		"--to 15550000": {"k2", "k0"}, "--to +15550001 --channel one": {"k1"}, "--to +15550001 --until 1h": nil, "--finished-since 1h": nil,
	} {
		if got := keys(strings.Fields(args)...); !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", args, got, want)
		}
	}
	clitest.Check(t, b.run("contact", "list", "--to", "+15550001", "--state", "done"), app.Usage, "^$", "not with --state")
	clitest.Check(t, b.run("contact", "list", "--to", "ann"), app.Rejected, "^$", "/to")
	for _, empty := range []string{"", "-"} { // an empty filter must not select all contacts
		clitest.Check(t, b.run("contact", "list", "--to", empty), app.Usage, "^$", "--to needs a phone number")
	}
	clitest.Check(t, b.run("resume", "-o", "json"), app.OK, `^{"held":false}\n$`, "^$")
}

// people returns a CSV file with a number of valid rows.
func people(rows int) string {
	var b strings.Builder
	b.WriteString("phone,message,label.name\n")
	for i := range rows {
		fmt.Fprintf(&b, "+1555%07d,\"Hello, %d\",n%d\n", i, i, i)
	}
	return b.String()
}

func TestContacts_FileIsSentAndRejectedRowsAreKept(t *testing.T) {
	t.Parallel()
	b := newBroker(t)
	b.channel("sms")
	bad, all := "\xef\xbb\xbf"+people(3)+"unknown,x,y\n+15550009,x\n+15550000000,\"Hello, 0\",n0\n,x,y\n", file(t, "refused.csv", "")
	clitest.Check(t, at(t, b.url, bad, "contact", "send", "sms", "--file", "-", "--format", "csv", "--errors", all), app.Rejected, `^sms: 3 contacts queued, 1 already known, 3 rows rejected
  line 5, phone: must .*
  line 6: has 2 fields; the header has 3
  line 8, phone: is missing
  3 rejected rows are in .*/refused.csv
$`, "^weir: 3 rows were rejected\n$")
	rejected := read(t, all)
	if want := regexp.MustCompile(`^weir_line,weir_column,weir_reason,phone,message,label\.name\n5,phone,.+,unknown,x,y\n6,,has 2 fields; the header has 3,\+15550009,x\n8,phone,is missing,,x,y\n$`); !want.MatchString(rejected) {
		t.Error(rejected)
	}
	// Corrected rows are sent from the file of the rejected ones.
	corrected := strings.NewReplacer("+15550009,x", "+15550009,x,z", ",,x,y", ",+15550010,x,y").Replace(rejected)
	for _, want := range []string{"^sms: 2 contacts queued, 0 already known, 1 row rejected\n", "^sms: 0 contacts queued, 2 already known, 1 row rejected\n"} {
		again := file(t, "again.csv", "")
		clitest.Check(t, at(t, b.url, corrected, "contact", "send", "sms", "--file", "-", "--format", "csv", "--errors", again), app.Rejected, want, "")
		if text := read(t, again); strings.Count(text, "weir_reason") != 1 || !strings.HasSuffix(text, ",unknown,x,y\n") {
			t.Error(text)
		}
	}
	// Sending the corrected file queues only its new contacts; under the name of a run all contacts are new.
	mended := strings.ReplaceAll(bad, "unknown,x,y", "+15550008,x,y")
	clitest.Check(t, at(t, b.url, mended, "contact", "send", "sms", "--file", "-", "--format", "csv"), app.Rejected, "^sms: 1 contact queued, 4 already known, 2 rows rejected\n", "")
	clitest.Check(t, at(t, b.url, people(3), "contact", "send", "sms", "--file", "-", "--format", "csv", "--run", "may", "-o", "json"), app.OK, `^\{"channel":"sms","duplicates":0,"errors":\[\],"last_line":4,"queued":3,"rejected":0\}\n$`, "^$")
	clitest.Check(t, at(t, b.url, people(3), "contact", "send", "sms", "--file", "-", "--format", "csv", "--run", "june", "--from-line", "4"), app.OK, "^sms: 1 contact queued, 0 already known", "^$")
	lines := `{"to":"+15550100","key":"a","messages":["x"]}` + "\n\n" + `{"to":"+15550101","nonsense":1}` + "\n" + `{"to":"+15550102"} {}` + "\n" + `{"to":"+15550103","messages":["own"]}` + "\n"
	clitest.Check(t, at(t, b.url, lines, "contact", "send", "sms", "--file", "-", "--format", "ndjson", "--message", "usual", "--label", "a=b"), app.Rejected, `(?s)^sms: 2 contacts queued, 0 already known, 2 rows rejected\n  line 3, nonsense: .*\n  line 4: is not a contact: it must be one JSON object`, "")
	all = file(t, "rejected.ndjson", "")
	remarked := `{"weir_line":7,"weir_column":"to","weir_reason":"an \"earlier\" one","to":"+15550101","nonsense":1}` + "\n" + `{"weir_line":8,"weir_reason":"x","to":"+15550104"}` + "\n"
	clitest.Check(t, at(t, b.url, remarked, "contact", "send", "sms", "--file", "-", "--format", "ndjson", "--message", "usual", "--errors", all), app.Rejected, `^sms: 1 contact queued, 0 already known, 1 row rejected`, "")
	if text := read(t, all); !strings.HasPrefix(text, `{"weir_line":1,"weir_column":"nonsense","weir_reason":"`) || !strings.HasSuffix(text, `","to":"+15550101","nonsense":1}`+"\n") || strings.Count(text, "weir_") != 3 {
		t.Error(text)
	}
	clitest.Check(t, b.run("contact", "send", "sms", "--file", all, "--errors", "rejected.csv"), app.Usage, "^$", "--errors needs a file of the same format")
	if got := b.run("contact", "list", "--key", "a", "--channel", "sms", "-o", "jsonl").Out; !strings.Contains(got, `"messages":["x"]`) || !strings.Contains(got, `"a":"b"`) {
		t.Error(got)
	}
	// Columns with other names are what the command says; a dry run shows it, and sends nothing.
	crm := "Mobile no.;Note;District\n+15550020;call later;North\n+15550021;;\n12;;\n"
	mapped := []string{"contact", "send", "sms", "--file", "-", "--format", "csv", "--message", "usual", "--columns", "Mobile no.=to,District=label.district,*="}
	clitest.Check(t, at(t, b.url, crm, append(mapped, "--dry-run")...), app.Rejected, `(?s)^sms: 2 rows can be queued, 1 row would be rejected\n  column Mobile no.: to\n  column Note: left out\n  column District: label.district\n  line 2: \{.*"district":"North".*\n  line 4, Mobile no.: `, "nothing was queued")
	clitest.Check(t, at(t, b.url, crm, mapped...), app.Rejected, "^sms: 2 contacts queued, 0 already known, 1 row rejected\n", "")
	for head, want := range map[string]string{"": "is empty", "to,age\n": `unknown column "age"`, "to,to\n": "duplicate column", "message\n": "the column to is missing"} {
		clitest.Check(t, at(t, b.url, head, "contact", "send", "sms", "--file", "-", "--format", "csv"), app.Rejected, "^$", want)
	}
	clitest.Check(t, at(t, b.url, people(1), "contact", "send", "none", "--file", "-", "--format", "csv"), app.NotFound, "^$", "404")
}

// cutting is a proxy to a broker that fails: every lose-th response is lost after
// the request was carried out, after most requests nothing passes, and the connection breaks
// after some bytes of each body; 0: never.
type cutting struct {
	http.Handler
	posts, lose, most, after atomic.Int64
}

func newCutting(t *testing.T, to string) (*cutting, string) {
	t.Helper()
	target, err := url.Parse(to)
	if err != nil {
		t.Fatal(err)
	}
	c := &cutting{Handler: &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(target) }, ErrorHandler: func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) }, ErrorLog: log.New(io.Discard, "", 0)}}
	server := httptest.NewServer(c)
	t.Cleanup(server.Close)
	return c, server.URL
}

func (c *cutting) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	n := c.posts.Add(1)
	if most := c.most.Load(); most > 0 && n > most {
		panic(http.ErrAbortHandler)
	}
	if lose := c.lose.Load(); lose > 0 && n%lose == 0 {
		c.Handler.ServeHTTP(httptest.NewRecorder(), r)
		panic(http.ErrAbortHandler) // carried out, but the client gets no response
	}
	if after := c.after.Load(); after > 0 {
		r.Body = io.NopCloser(io.MultiReader(io.LimitReader(r.Body, after), cut{}))
	}
	c.Handler.ServeHTTP(w, r)
}

// cut is where a connection breaks.
type cut struct{}

func (cut) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

// Scenario 425: sending is interrupted anywhere and repeated with the same file; no recipient is contacted twice.
func TestContacts_SendingAFileResumesAfterACut(t *testing.T) {
	t.Parallel()
	const rows = 2500
	b := newBroker(t)
	b.channel("sms")
	way, through := newCutting(t, b.url)
	text := people(rows)
	args := []string{"contact", "send", "sms", "--file", file(t, "people.csv", text)}
	for _, part := range []int{2, 3, 5} { // of the file, before the first batch was stored and behind others
		way.after.Store(int64(len(text) / part))
		clitest.Check(t, at(t, through, "", args...), app.Unreachable, "^$", `(?s)no response from Weir.*run the same command again to continue; no contact is sent twice\.`)
	}
	way.after.Store(0)
	clitest.Check(t, at(t, through, "", args...), app.OK, `^sms: [0-9,]+ contacts queued, [0-9,]+ already known, 0 rows rejected\n$`, "^$")
	got := b.run("contact", "list", "--channel", "sms", "--limit", "0", "--output", "jsonl").Out
	seen := map[string]int{}
	for d := json.NewDecoder(strings.NewReader(got)); ; {
		var x struct{ To string }
		if err := d.Decode(&x); err == io.EOF {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		seen[x.To]++
	}
	if len(seen) != rows || bytes.Count([]byte(got), []byte("\n")) != rows {
		t.Errorf("%d people in %d contacts, want %d of each", len(seen), strings.Count(got, "\n"), rows)
	}
}
