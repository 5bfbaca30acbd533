package cli_test

import (
	"strings"
	"testing"

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
