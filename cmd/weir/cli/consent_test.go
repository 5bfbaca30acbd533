package cli_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"weir/cmd/internal/clitest"
	"weir/cmd/weir/cli/app"
)

func TestConsent_IsRecordedAndShown(t *testing.T) {
	t.Parallel()
	f := newBroker(t)
	if r := at(t, f.url, "", "consent", "show", "+525512345678"); r.Code != app.OK || r.Out != "nothing is recorded\n" {
		t.Errorf("%d %q %q", r.Code, r.Out, r.Err)
	}
	if r := at(t, f.url, "", "consent", "refuse", "+52 55 1234 5678", "--words", "please remove me", "--at", "2026-01-02T10:00:00Z"); r.Code != app.OK || !strings.HasPrefix(r.Out, "refused since 2026-01-02") {
		t.Errorf("%d %q %q", r.Code, r.Out, r.Err)
	}
	if r := at(t, f.url, "", "consent", "show", "5215512345678"); r.Code != app.OK || !strings.HasPrefix(r.Out, "refused\n") || !strings.Contains(r.Out, "api") || !strings.Contains(r.Out, ": please remove me\n") {
		t.Errorf("%d %q %q", r.Code, r.Out, r.Err)
	}
	if r := at(t, f.url, "", "consent", "give", "+525512345678"); r.Code != app.OK || !strings.HasPrefix(r.Out, "given since") {
		t.Errorf("%d %q %q", r.Code, r.Out, r.Err)
	}
	if r := at(t, f.url, "", "consent", "refuse", "+525512345678", "--at", "soon"); r.Code != app.Usage || !strings.Contains(r.Err, "--at") {
		t.Errorf("%d %q %q", r.Code, r.Out, r.Err)
	}
}

// Scenario 305.
func TestConsent_IsExportedAndErased(t *testing.T) {
	t.Parallel()
	b := newBroker(t)
	for _, address := range []string{"+525512345678", "+525512345679"} {
		clitest.Check(t, b.run("consent", "refuse", address, "--words", "never again", "--at", "2026-01-02T10:00:00Z"), app.OK, "", "")
	}
	clitest.Check(t, b.run("person", "erase", "+52 55 1234 5678", "--yes"), app.OK, "(?s)^erased: 1 consent, 0 respondents, 0 contacts, 0 messages\nremains: whether the person may be contacted.*remains: backups[^\n]*\n$", "")
	clitest.Check(t, b.run("person", "erase", "+525512345678", "--yes"), app.OK, "^erased: 0 consents", "")
	clitest.Check(t, b.run("person", "erase", "5.25512E+11", "--yes"), app.Rejected, "^$", "/to")
	clitest.Check(t, b.run("consent", "export"), app.OK, `(?s)id,to,purpose,status,source,at,words,by,key
\d+,,all,refused,api,2026-01-02T10:00:00Z,,[^,]*,
\d+,\+525512345679,all,refused,api,2026-01-02T10:00:00Z,never again,[^,]*,cli-`, "")
	clitest.Check(t, b.run("consent", "show", "+525512345678"), app.OK, `(?s)refused\n`, "")
	out := filepath.Join(t.TempDir(), "consents.csv")
	clitest.Check(t, b.run("consent", "export", "--file", out), app.OK, "", "")
	if text, err := os.ReadFile(out); err != nil || strings.Count(string(text), "\n") != 3 {
		t.Errorf("the file is %q, %v", text, err)
	}
}

// Without the key that refusals were hashed under, people who refused would be contacted:
// Weir does not start, and says so.
func TestConsent_AMissingKeyStopsTheStart(t *testing.T) {
	t.Parallel()
	environ := []string{"DATABASE_URL=sqlite://" + filepath.Join(t.TempDir(), "weir.db"), "LISTEN_ADDR=127.0.0.1:0"}
	lines, stop := start(t, append([]string{"WEIR_PEOPLE_KEY=Zmlyc3Qga2V5IQ=="}, environ...), "serve")
	for lines.Scan() && !strings.Contains(lines.Text(), "listening") {
	}
	if code := stop(); code != app.OK {
		t.Fatalf("serve ended with %d", code)
	}
	for name, more := range map[string][]string{"none": nil, "another": {"WEIR_PEOPLE_KEY=c2Vjb25kIGtleQ=="}} {
		r := run(t, append(more, environ...), "serve")
		if r.Code == app.OK || !strings.Contains(r.Out+r.Err, "set WEIR_PEOPLE_KEY") {
			t.Errorf("with %s: %d %s %s", name, r.Code, r.Out, r.Err)
		}
	}
}
