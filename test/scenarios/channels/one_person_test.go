package channels_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"weir/channels"
	"weir/channels/all"
	"weir/channels/drivertest"
	"weir/channels/drivertest/peers"
	"weir/channels/httpgateway"
	"weir/test/scenarios/world"
)

// tableOf returns the literals of a kind in a function of a driver's source, where its table of
// answers is: a code that is added there is tested without being listed here.
func tableOf(t *testing.T, file, function string, kind token.Token) (list []string) {
	t.Helper()
	parsed, err := parser.ParseFile(token.NewFileSet(), "../../../channels/"+file, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range parsed.Decls {
		f, ok := d.(*ast.FuncDecl)
		if !ok || f.Name.Name != function {
			continue
		}
		ast.Inspect(f, func(n ast.Node) bool {
			c, isCase := n.(*ast.CaseClause)
			if !isCase {
				return true
			}
			for _, e := range c.List {
				ast.Inspect(e, func(n ast.Node) bool {
					if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == kind {
						list = append(list, lit.Value)
					}
					return true
				})
			}
			return true
		})
	}
	if len(list) == 0 {
		t.Fatalf("%s: %s has no table", file, function)
	}
	return list
}

// texts returns the values of literals.
func texts(t *testing.T, literals []string) (list []string) {
	t.Helper()
	for _, l := range literals {
		s, err := strconv.Unquote(l)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, s)
	}
	return list
}

// refusal is an answer of a provider to one contact: a status, a blank and a body.
type refusal = string

// driverRefusals returns every answer that the tables of the drivers have, by the provider.
func driverRefusals(t *testing.T) map[string][]refusal {
	t.Helper()
	answers := map[string][]refusal{}
	// What drivers do not interpret is a status of HTTP; Nuntium has nothing else.
	for status := 400; status < 600; status++ {
		if http.StatusText(status) != "" {
			answers["nuntium"] = append(answers["nuntium"], fmt.Sprint(status, " "))
		}
	}
	codes := []string{"63018", "99999"} // of one recipient, by a constant; none that is known
	for _, function := range []string{"unusable", "notPermitted", "ours", "failure"} {
		codes = append(codes, tableOf(t, "twilio/codes.go", function, token.INT)...)
	}
	for _, code := range codes {
		answer := `400 {"code": ` + code + `}`
		answers["twilio"], answers["twilio_voice"] = append(answers["twilio"], answer), append(answers["twilio_voice"], answer)
	}
	for _, text := range texts(t, tableOf(t, "kannel/send.go", "meaning", token.STRING)) {
		answers["kannel"] = append(answers["kannel"], "400 "+text, "403 "+text)
	}
	answers["kannel"] = append(answers["kannel"], "503 Temporal failure")
	for _, text := range append(texts(t, tableOf(t, "verboice/driver.go", "refusal", token.STRING)), "?") {
		answers["verboice"] = append(answers["verboice"], fmt.Sprintf(`400 {"error": %q}`, text))
	}
	return answers
}

// templateRefusals returns every answer of a template that comes with the program, except those by
// which the gateway accepts.
func templateRefusals(t *testing.T, name string) (list []refusal) {
	t.Helper()
	var template struct {
		Answer []struct {
			Status, Fate, Empty string
			Match, None         map[string]any
			Begins              any
		}
	}
	if err := json.Unmarshal(httpgateway.Template(name), &template); err != nil {
		t.Fatal(err)
	}
	each := func(v any) []any {
		if some, ok := v.([]any); ok {
			return some
		}
		return []any{v}
	}
	for _, rule := range template.Answer {
		if rule.Fate == "accepted" || rule.Fate == "completed" {
			continue
		}
		status := strings.ReplaceAll(rule.Status, "xx", "00") + " "
		if rule.Begins != nil {
			for _, text := range each(rule.Begins) {
				list = append(list, status+fmt.Sprint(text))
			}
			continue
		}
		bodies := []any{nil}
		with := func(pointer string, values ...any) {
			var more []any
			for _, body := range bodies {
				for _, v := range values {
					more = append(more, put(body, strings.Split(pointer, "/")[1:], v))
				}
			}
			bodies = more
		}
		for _, pointer := range slices.Sorted(maps.Keys(rule.Match)) {
			with(pointer, each(rule.Match[pointer])...)
		}
		for pointer := range rule.None {
			with(pointer, "another")
		}
		if rule.Empty != "" {
			with(rule.Empty, []any{})
		}
		for _, body := range bodies {
			raw, err := json.Marshal(body)
			if err != nil {
				t.Fatal(err)
			}
			list = append(list, status+string(raw))
		}
	}
	return list
}

// put returns a document with a value at the end of a path.
func put(document any, path []string, value any) any {
	if len(path) == 0 {
		return value
	}
	if path[0] == "0" {
		var first any
		if list, ok := document.([]any); ok && len(list) > 0 {
			first = list[0]
		}
		return []any{put(first, path[1:], value)}
	}
	object, _ := document.(map[string]any)
	object = maps.Clone(object)
	if object == nil {
		object = map[string]any{}
	}
	object[path[0]] = put(object[path[0]], path[1:], value)
	return object
}

// answering answers every request alike.
type answering refusal

func (a answering) RoundTrip(*http.Request) (*http.Response, error) {
	status, err := strconv.Atoi(string(a[:3]))
	return &http.Response{StatusCode: status, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(string(a[4:])))}, err
}

// read returns what a driver makes of an answer.
func read(t *testing.T, p drivertest.Provider, answer refusal) channels.SendResult {
	t.Helper()
	a := drivertest.NewAttempt(71, "hello")
	if p.Type.Content == channels.Voice {
		a = drivertest.NewAttempt(71)
	}
	return drivertest.NewDriver(t, p.Type, p.Settings, &http.Client{Transport: answering(answer)}).Send(t.Context(), a)
}

// Scenario 390: one person's answer, whatever its code, stops no other. The first contact of a channel
// gets it each time; twenty others are done within a minute. A code that pauses the channel may do so twice
// more: before another contact tries whether it works, and when the one has its next turn. The codes
// are those of the tables of all drivers and templates; those of a provider that its driver takes for
// the same are the same to all the rest, and played once.
func TestChannelTypes_OnePersonStopsNoOther(t *testing.T) {
	t.Parallel()
	answers := driverRefusals(t)
	tested := slices.Concat([]drivertest.Provider{peers.Verboice(), peers.Nuntium(), peers.Kannel(), peers.Twilio(), peers.TwilioVoice(), peers.HTTPKannel()}, peers.Gateways(), peers.Acceptors())
	for _, name := range httpgateway.Templates() {
		answers["http "+name] = templateRefusals(t, name)
	}
	for _, typ := range all.Types(nil) {
		if typ.Name != "workers" && !slices.ContainsFunc(tested, func(p drivertest.Provider) bool { return p.Type.Name == typ.Name }) {
			t.Errorf("no provider of type %s is tested", typ.Name)
		}
	}
	for _, p := range tested {
		if len(answers[p.Name]) == 0 {
			t.Errorf("%s has no table of answers", p.Name)
		}
		played := map[channels.SendResult]bool{}
		for _, answer := range answers[p.Name] {
			result := read(t, p, answer)
			if result.Status == channels.Accepted {
				t.Errorf("%s: %s is an acceptance", p.Name, answer)
			}
			if played[result] {
				continue
			}
			played[result] = true
			limit := time.Minute
			if result.ChannelFault {
				limit += 2 * result.RetryAfter
			}
			t.Run(p.Name+" "+answer, func(t *testing.T) { onePersonStopsNoOther(t, p, answer, limit) })
		}
		delete(answers, p.Name)
	}
	for name := range answers {
		t.Errorf("there is no provider %s", name)
	}
}

func onePersonStopsNoOther(t *testing.T, p drivertest.Provider, answer refusal, limit time.Duration) {
	t.Helper()
	world.OnVirtualTime(t, func(w *world.World) {
		e := world.WithPeer(w, p, 4, drivertest.Options{})
		e.Meddle = func(rw http.ResponseWriter, r *http.Request) bool {
			body, _ := io.ReadAll(r.Body)
			r.Body = io.NopCloser(bytes.NewReader(body))
			asked := r.URL.RawQuery + r.Header.Get("X-Kannel-To") + string(body)
			if !strings.Contains(asked, "15550000000") {
				return false
			}
			status, _ := strconv.Atoi(answer[:3])
			rw.WriteHeader(status)
			_, _ = io.WriteString(rw, answer[4:])
			return true
		}
		ids := w.Accept("ch", e.Contacts(21)...)
		began := time.Now()
		w.Until("the others are done", func() bool { return w.Outcomes("ch")["completed"] == 20 })
		if took := time.Since(began); took > limit {
			t.Errorf("the others were done after %v", took)
		}
		if w.Contact(ids["c0"])["outcome"] == "completed" {
			t.Error("the one was sent")
		}
	})
}
