//go:build kannel

package kanneltest

import (
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"weir"
	"weir/channels"
	"weir/channels/kannel/simulator"
	"weir/internal/polling"

	"github.com/google/go-cmp/cmp"
)

// raw is a request to sendsms.
type raw struct {
	method, path, kind, body string
	fields                   []string // names and values: headers of a POST, the query of a GET
}

func (p *peer) ask(t *testing.T, r raw) string {
	t.Helper()
	target, header := p.base+r.path, http.Header{}
	q := url.Values{}
	for i := 0; i+1 < len(r.fields); i += 2 {
		q.Set(r.fields[i], r.fields[i+1])
		header.Set("X-Kannel-"+r.fields[i], r.fields[i+1])
	}
	var body io.Reader
	if r.method == http.MethodGet {
		target, header = target+"?"+q.Encode(), http.Header{}
	} else {
		body = strings.NewReader(r.body)
		if r.kind != "" {
			header.Set("Content-Type", r.kind)
		}
	}
	request, err := http.NewRequestWithContext(t.Context(), r.method, target, body)
	if err != nil {
		t.Fatal(err)
	}
	request.Header = header
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return "no answer"
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	h := response.Header
	return fmt.Sprintf("%s | %s | %s | %s | %s | %v", response.Status, h.Get("Content-Type"), h.Get("Server"), h.Get("Cache-Control"), text, err)
}

// Every answer of sendsms is the same, for requests good and bad.
func TestSimulator_AnswersAgree(t *testing.T) {
	me := []string{"username", user, "password", password}
	with := func(more ...string) []string { return append(slices.Clone(me), more...) }
	const path, octets = "/cgi-bin/sendsms", "application/octet-stream"
	cases := map[string]raw{
		"wrong path":             {"POST", "/sendsms", octets, "x", me},
		"root":                   {"GET", "/", "", "", nil},
		"no user":                {"POST", path, octets, "x", nil},
		"no user, GET":           {"GET", path, "", "", nil},
		"wrong user":             {"POST", path, octets, "x", []string{"username", "x", "password", password}},
		"wrong password":         {"POST", path, octets, "x", []string{"username", user, "password", "x"}},
		"wrong password, GET":    {"GET", path, "", "", []string{"username", user, "password", "x", "to", "2001"}},
		"no receiver":            {"POST", path, octets, "x", me},
		"no receiver, GET":       {"GET", path, "", "", with("text", "x")},
		"letters":                {"POST", path, octets, "x", with("to", "+2abc")},
		"not routable":           {"POST", path, octets, "x", with("to", "+3001")},
		"unknown link":           {"POST", path, octets, "x", with("to", "+2001", "smsc", "NONE")},
		"link that wants names":  {"POST", path, octets, "x", with("to", "+4001", "smsc", "NONE")},
		"link without its name":  {"POST", path, octets, "x", with("to", "+4001")},
		"link by its name":       {"POST", path, octets, "x", with("to", "+4001", "smsc", "NAMED")},
		"link of other numbers":  {"POST", path, octets, "x", with("to", "+2001", "smsc", "FAKE")},
		"accepted":               {"POST", path, octets, "x", with("to", "+2001", "coding", "0")},
		"accepted, GET":          {"GET", path, "", "", with("to", "+2001", "text", "x")},
		"accepted, blanks":       {"POST", path, octets, "x", with("to", " +2001 ", "smsc", "SCRIPTED")},
		"accepted, text":         {"POST", path, "text/plain; charset=utf-8", "x", with("to", "2001")},
		"queued":                 {"POST", path, octets, "x", with("to", "+1001")},
		"a form":                 {"POST", path, "application/x-www-form-urlencoded", "to=2001", me},
		"JSON":                   {"POST", path, "application/json", "{}", me},
		"no type":                {"POST", path, "", "x", with("to", "2001", "coding", "0")},
		"report URL of ftp":      {"POST", path, octets, "x", with("to", "2001", "dlr-url", "ftp://x.test/yyyy", "dlr-mask", "31")},
		"report URL of a letter": {"POST", path, octets, "x", with("to", "2001", "dlr-url", "x", "dlr-mask", "31")},
		"mask of 99":             {"POST", path, octets, "x", with("to", "2001", "dlr-mask", "99")},
		"mask of -2":             {"POST", path, octets, "x", with("to", "2001", "dlr-mask", "-2")},
		"mask of letters":        {"POST", path, octets, "x", with("to", "2001", "dlr-mask", "all")},
		"coding of 3":            {"POST", path, octets, "x", with("to", "2001", "coding", "3")},
		"coding of letters":      {"POST", path, octets, "x", with("to", "2001", "coding", "gsm")},
		"validity":               {"POST", path, octets, "x", with("to", "2001", "validity", "5")},
	}
	real, sim := realPeer(t), simulatedPeer(t)
	for name, r := range cases {
		want, got := real.ask(t, r), sim.ask(t, r)
		if strings.Contains(want, "no answer") {
			t.Errorf("%s: the real one does not answer", name)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: real (-), simulated (+):\n%s", name, diff)
		}
	}
}

// What the driver learns of a message, and each request about it, is the same.
func TestSimulator_LivesAgree(t *testing.T) {
	for i, tt := range []struct {
		name     string
		to       string
		texts    []string
		settings weir.Settings
		calls    int // requests to our end
		answers  []int
	}{
		{"delivered", "+22220001", []string{"hello"}, nil, 2, nil},
		{"two messages", "+22220001", []string{"hello", "you"}, nil, 4, nil},
		{"failed", "+22220002", []string{"hello"}, nil, 2, nil},
		{"expired", "+22220003", []string{"hello"}, nil, 2, nil},
		{"buffered", "+22220004", []string{"hello"}, nil, 3, nil},
		{"refused by the SMSC", "+22220005", []string{"hello"}, nil, 1, nil},
		{"no receipt", "+22220006", []string{"hello"}, nil, 1, nil},
		{"not routable", "+33330001", []string{"hello"}, nil, 1, nil},
		{"unknown link", "+22220001", []string{"hello"}, weir.Settings{"smsc": "NONE"}, 2, nil},
		{"chosen link", "+22220001", []string{"hello"}, weir.Settings{"smsc": "SCRIPTED", "from": "My Shop"}, 2, nil},
		{"wrong password", "+22220001", []string{"hello"}, weir.Settings{"password": "no"}, 0, nil},
		{"wrong path", "+22220001", []string{"hello"}, weir.Settings{"sendsms_url": "BASE/sendsms"}, 0, nil},
		{"report refused at first", "+22220006", []string{"hello"}, nil, 3, []int{503, 204, 200}},
		{"report not understood", "+22220006", []string{"hello"}, nil, 2, []int{400}},
		{"report taken with 202", "+22220006", []string{"hello"}, nil, 1, []int{202}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var seen [2][]string
			for j, p := range []*peer{realPeer(t), simulatedPeer(t)} {
				settings := weir.Settings{}
				for k, v := range tt.settings {
					settings[k] = strings.ReplaceAll(v.(string), "BASE", p.base)
				}
				p.answer(tt.answers...)
				a := attempt(weir.ContactID(i+1), tt.to, tt.texts...)
				seen[j] = append(seen[j], fmt.Sprintf("%+v", p.newDriver(t, settings).Send(t.Context(), a)))
				seen[j] = append(seen[j], p.wait(t, a.ID.String(), tt.calls)...)
				seen[j] = append(seen[j], p.outcomesOf(a.ID)...)
				if n := len(p.requests(a.ID.String())); n != tt.calls {
					t.Errorf("%s: %d requests, want %d", p.name, n, tt.calls)
				}
			}
			if diff := cmp.Diff(seen[0], seen[1]); diff != "" {
				t.Errorf("real (-), simulated (+):\n%s", diff)
			}
		})
	}
}

// Messages wait while their link is down and leave when it is back.
func TestSimulator_LinkDownAgrees(t *testing.T) {
	var seen [2][]string
	for j, p := range []*peer{realPeer(t), simulatedPeer(t)} {
		note := func(v any) { seen[j] = append(seen[j], fmt.Sprintf("%+v", v)) }
		ours := p.newDriver(t, weir.Settings{"smsc": "FAKE"})
		note(ours.Status(t.Context()))
		note(p.driver.Status(t.Context()))
		note(ours.Prepare(t.Context()))
		for name, settings := range map[string]weir.Settings{
			"right":           nil,
			"status password": {"status_password": "no"}, "no link": {"smsc": "NONE"}, "password": {"password": "no"}, "path": {"sendsms_url": p.base + "/x"},
		} {
			d := p.newDriver(t, settings)
			seen[j] = append(seen[j], fmt.Sprintf("%s: %+v, %v", name, d.Status(t.Context()), d.Prepare(t.Context())))
		}
		slices.Sort(seen[j])
		a := attempt(1, "+15550001", "hello")
		note(p.driver.Send(t.Context(), a))
		note(p.requests(a.ID.String()))
		if err := p.connect(); err != nil {
			t.Fatal(err)
		}
		p.wait(t, a.ID.String(), 2)
		note(p.outcomesOf(a.ID)) // the words of fakesmsc's receipts are Kannel's own
		note(ours.Status(t.Context()))
	}
	if diff := cmp.Diff(seen[0], seen[1]); diff != "" {
		t.Errorf("real (-), simulated (+):\n%s", diff)
	}
}

// Messages from people come with the same parameters and are not answered.
func TestSimulator_IncomingAgrees(t *testing.T) {
	var seen [2][]weir.Incoming
	for j, p := range []*peer{realPeer(t), simulatedPeer(t)} {
		p.answer(503) // the first one is repeated, under its id
		for i, m := range []simulator.Incoming{
			{From: "15550009", To: "4000", Text: "yes & no + 100%"}, {From: "15550009", To: "4000", Text: "כן", Coding: 2},
		} {
			if err := p.connect(m); err != nil {
				t.Fatal(err)
			}
			if n := len(p.wait(t, "/incoming", i+2)); n != i+2 {
				t.Fatalf("%s: %d requests", p.name, n)
			}
			if p.real != nil { // one client at a time
				p.real.phone.kill()
				p.real.until("fakesmsc is gone", func() bool { return p.real.link("FAKE") != "online" })
			}
		}
		got := p.texts()
		for i := range got {
			if len(got[i].GUID) != 36 || got[i].Fields["ts"] == "" {
				t.Errorf("%s: %+v", p.name, got[i])
			}
			got[i].GUID, got[i].ReceivedAt, got[i].Fields["ts"] = "", time.Time{}, ""
		}
		slices.SortFunc(got, func(a, b weir.Incoming) int { return strings.Compare(a.Body, b.Body) })
		seen[j] = got
	}
	if diff := cmp.Diff(seen[0], seen[1]); diff != "" {
		t.Errorf("real (-), simulated (+):\n%s", diff)
	}
	if len(seen[0]) != 2 || seen[0][0].Body != "yes & no + 100%" || seen[0][1].Body != "כן" {
		t.Errorf("messages %+v", seen[0])
	}
}

// The SMSC gets each text as it was, in the coding that holds it, and a long one
// whole.
func TestSimulator_TextsReachTheSMSC(t *testing.T) {
	real, sim := realPeer(t), simulatedPeer(t)
	const gsm = "@£$¥èéùìòÇ\nØøÅåΔ_ΦΓΛΩΠΨΣΘΞÆæßÉ !\"#¤%&'()*+,-./0123456789:;<=>?¡ABCDEFGHIJKLMNOPQRSTUVWXYZÄÖÑÜ§¿abcdefghijklmnopqrstuvwxyzäöñüà^{}\\[~]|€"
	texts := []string{"hello", gsm, "שלום 😀", strings.Repeat("x", 1000)} // the parts of the long one come in any order
	for i, text := range texts {
		a := attempt(weir.ContactID(i+1), "+22220001", text)
		a.NotAfter = time.Now().Add(10*time.Minute + 30*time.Second)
		before := len(real.smsc.messages())
		for _, p := range []*peer{real, sim} {
			if got := p.driver.Send(t.Context(), a); got.Status != channels.Accepted {
				t.Fatalf("%s: %+v", p.name, got)
			}
			p.wait(t, a.ID.String(), 2)
		}
		kept := sim.sim.Records().Messages[i]
		arrived, coding := "", ""
		polling.Until(patience, 20*time.Millisecond, func() bool {
			arrived = ""
			for _, m := range real.smsc.messages()[before:] {
				arrived, coding = arrived+m.Get("text"), m.Get("coding")
			}
			return len(arrived) >= min(len(text), 2*len([]rune(text)))
		})
		if coding == "2" {
			arrived = fromUTF16(arrived)
		}
		if arrived != text || coding != fmt.Sprint(kept.Coding) || kept.Text != text {
			t.Errorf("%q arrived as %q in coding %s; the simulator has %+v", text, arrived, coding, kept)
		}
	}
}
