package cli_test

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode"

	"weir/cmd/internal/clitest"
	"weir/cmd/weir/cli/app"
	"weir/internal/polling"
)

// call makes a request and returns the status and the body of the response.
func (b *broker) call(method, path string, body any) (int, string) {
	b.t.Helper()
	raw, err := json.Marshal(body)
	if err != nil {
		b.t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(b.t.Context(), method, b.url+path, strings.NewReader(string(raw)))
	if err != nil {
		b.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+surveyToken)
	req.Header.Set("Content-Type", "application/json")
	if method == http.MethodPatch {
		req.Header.Set("Content-Type", "application/merge-patch+json")
	}
	got, err := http.DefaultClient.Do(req)
	if err != nil {
		b.t.Fatal(err)
	}
	defer func() { _ = got.Body.Close() }()
	text, err := io.ReadAll(got.Body)
	if err != nil {
		b.t.Fatal(err)
	}
	return got.StatusCode, string(text)
}

// harmless checks that a CSV file has a text of the strangers, and no cell that is a formula, commands
// a terminal or turns the text around it.
func harmless(t *testing.T, name, text string) {
	t.Helper()
	from := csv.NewReader(strings.NewReader(strings.TrimPrefix(text, "\ufeff")))
	if from.Comma = ','; strings.HasSuffix(name, "semicolon") {
		from.Comma = ';'
	}
	from.FieldsPerRecord = -1
	rows, err := from.ReadAll()
	if err != nil {
		t.Errorf("%s: %v", name, err)
	}
	number := regexp.MustCompile(`^[+-]?[0-9]+(\.[0-9]+)?$`)
	// What is only in the log of a survey or among dead letters is written as the others are, and nobody has completed.
	wordless := regexp.MustCompile(`^/v1/dead-letters|^dlq |[/ ](log|dispositions|incentives)\b`)
	for _, row := range rows {
		for _, cell := range row {
			visible := strings.TrimLeftFunc(cell, func(r rune) bool { return unicode.IsSpace(r) || unicode.Is(unicode.Cf, r) })
			if strings.IndexAny(visible, "=+-@＝＋－＠") == 0 && !number.MatchString(cell) || strings.HasPrefix(cell, "\t") {
				t.Errorf("%s has the formula %q", name, cell)
			}
			if i := strings.IndexFunc(cell, func(r rune) bool {
				return unicode.IsControl(r) && r != '\n' && r != '\r' && r != '\t' || r >= 0x202A && r <= 0x202E || r >= 0x2066 && r <= 0x2069
			}); i >= 0 {
				t.Errorf("%s has a control character at %d of %q", name, i, cell)
			}
		}
	}
	if !strings.Contains(text, "HYPERLINK") && !wordless.MatchString(name) {
		t.Errorf("%s has nothing of the strangers:\n%s", name, text)
	}
}

// Scenario 392: strangers write what they want, and no file of Weir does it.
func TestExports_AreHarmless(t *testing.T) {
	t.Parallel()
	b := newBroker(t)
	b.channel("sms")
	clitest.Check(t, at(t, b.url, fluDefinition, "survey", "put", "-", "flu"), app.OK, "", "")
	strangers := []string{
		`=HYPERLINK("http://x.example","y")`, "+1+1", "-2+3", "@SUM(A1)", "\tHYPERLINK", "\u200b=1", "＝1", " =1", "\x1b[31mHYPERLINK", "\u009b31m", "\u202eKNILREPYH", "\u2066x", "a\x00b", `"q",;`, "two\nlines\r\n=1", "'=1",
	}
	taken := map[string]int{}
	take := func(what string, status int) {
		if status/100 == 2 {
			taken[what]++
		}
	}
	var people, list, contacts strings.Builder
	p, l, c := csv.NewWriter(&people), csv.NewWriter(&list), csv.NewWriter(&contacts)
	_, _, _ = p.Write([]string{"phone", "name"}), l.Write([]string{"to", "at", "words"}), c.Write([]string{"to", "message"})
	for i, s := range strangers {
		to := fmt.Sprintf("+5255123456%02d", i)
		status, _ := b.call("POST", "/v1/consents", map[string]any{"consents": []any{map[string]any{"to": to, "status": "refused", "words": s, "key": fmt.Sprint("k", i)}}})
		take("consents", status)
		for _, contact := range []map[string]any{{"messages": []string{s}}, {"messages": []string{"x"}, "key": s}, {"messages": []string{"x"}, "labels": map[string]any{"l": s}}, {"messages": []string{"x"}, "survey": s}} {
			contact["to"] = fmt.Sprintf("+5255123457%02d", i)
			status, _ = b.call("POST", "/v1/channels/sms/contacts", map[string]any{"contacts": []any{contact}})
			take("contacts", status)
		}
		status, _ = b.call("POST", "/v1/surveys/flu/respondents", map[string]any{"respondents": []any{map[string]any{"phone": to, "attributes": map[string]any{"name": s}}}})
		take("respondents", status)
		status, _ = b.call("PATCH", "/v1/channels/sms", map[string]any{"name": s})
		take("changes", status)
		_, _, _ = p.Write([]string{"1", s}), l.Write([]string{to, "soon", s}), c.Write([]string{"1", s})
	}
	for _, w := range []*csv.Writer{p, l, c} {
		w.Flush()
	}
	text := func(s string) map[string]any { return map[string]any{"en": s} }
	status, answer := b.call("PUT", "/v1/surveys/asked", map[string]any{
		"schedule": map[string]any{"time_zone": "UTC", "weekdays": []string{"mon"}, "windows": []any{map[string]any{"from": "09:00", "to": "17:00"}}},
		"modes":    map[string]any{"sms": map[string]any{"channel": "sms"}}, "arms": []any{map[string]any{"modes": []string{"sms"}}},
		"questions": map[string]any{"languages": []any{map[string]any{"code": "en"}}, "questions": []any{
			map[string]any{"name": "q", "kind": "choice", "text": text(strangers[0]), "choices": []any{
				map[string]any{"name": "a", "text": text("@SUM(A1)")}, map[string]any{"name": "b", "text": text("\u202eKNILREPYH")}, map[string]any{"name": "c", "text": text("-2+3")},
			}},
		}},
	})
	if status != http.StatusCreated {
		t.Fatalf("%d %s", status, answer)
	}
	if len(taken) != 4 {
		t.Fatalf("taken are %v", taken)
	}
	polling.Until(20*time.Second, 50*time.Millisecond, func() bool { // the audit log is written in the background
		_, text := b.call("GET", "/v1/audit.csv", nil)
		return strings.Contains(text, "HYPERLINK")
	})
	_, openapi := b.call("GET", "/openapi.json", nil)
	var description struct{ Paths map[string]any }
	if err := json.Unmarshal([]byte(openapi), &description); err != nil {
		t.Fatal(err)
	}
	files := 0
	surveyOf := func(path string) string {
		if strings.HasSuffix(path, "/codebook.csv") {
			return "asked" // the other one is conducted by a program
		}
		return "flu"
	}
	for path := range description.Paths {
		if !strings.HasSuffix(path, ".csv") {
			continue
		}
		files++
		for _, form := range []string{"", "?spreadsheet=comma", "?spreadsheet=semicolon"} {
			status, text := b.call("GET", strings.ReplaceAll(path, "{survey}", surveyOf(path))+form, nil)
			if status != http.StatusOK || strings.HasPrefix(text, "\ufeff") != (form != "") {
				t.Errorf("%s%s: %d %.20q", path, form, status, text)
			}
			harmless(t, path+form, text)
		}
	}
	if files < 8 {
		t.Errorf("%d files are described", files)
	}
	commands := []string{"consent export", "contact export --file -", "dlq export --file -", "audit export --file -", "survey export codebook asked --file -"}
	for _, what := range []string{"results", "log", "dispositions", "incentives"} {
		commands = append(commands, "survey export "+what+" flu --file -")
	}
	for _, command := range commands {
		for _, form := range []string{"", " --spreadsheet comma", " --spreadsheet semicolon"} {
			r := b.run(strings.Fields(command + form)...)
			if r.Code != app.OK || strings.HasPrefix(r.Out, "\ufeff") != (form != "") {
				t.Errorf("%s%s: %d %s %.20q", command, form, r.Code, r.Err, r.Out)
			}
			harmless(t, command+form, r.Out)
		}
	}
	clitest.Check(t, b.run("survey", "export", "results", "flu", "--format", "xlsx", "--spreadsheet", "comma"), app.Usage, "^$", "is for CSV")
	for command, rows := range map[string]string{"survey import FILE flu": people.String(), "consent import FILE": list.String(), "contact send sms --file FILE": contacts.String()} {
		rejected := filepath.Join(t.TempDir(), "rejected.csv")
		args := append(strings.Fields(strings.Replace(command, "FILE", file(t, "rows.csv", rows), 1)), "--errors", rejected)
		if r := b.run(args...); r.Code != app.Rejected {
			t.Errorf("%s: %+v", command, r)
			continue
		}
		harmless(t, command, read(t, rejected))
	}
}
