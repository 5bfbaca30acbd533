package cli_test

import (
	"net/http"
	"strings"
	"testing"
	_ "time/tzdata" // as in the program

	"weir/cmd/weir/cli"
	"weir/cmd/weir/cli/app"
)

// Times are shown in the reader's time zone; on a terminal the last line names it.
func TestTimes_NameTheirZone(t *testing.T) {
	t.Parallel()
	f := newFakeWeir(t, map[string]http.HandlerFunc{"GET /v1/surveys": answers(http.StatusOK, `{"surveys":[`+summary+`]}`),
		"GET /v1/contacts/1-1": answers(http.StatusOK, `{"id":"1-1","channel":"sms","state":"queued","why":"its window opens at 2026-05-04 08:30:07 UTC"}`)})
	s := &screenful{columns: 120, rows: 24}
	o := s.options(f.url, strings.NewReader(""), nil)
	for zone, want := range map[string][2]string{"UTC": {"2026-05-04 08:30", "times are in UTC (UTC+00:00)"}, "Asia/Kathmandu": {"2026-05-04 14:15", "times are in +0545 (UTC+05:45)"}} {
		o.Environ = append([]string{"TZ=" + zone}, o.Environ...)
		code := cli.Run(t.Context(), []string{"survey", "list"}, o)
		if out, err := s.text(); code != app.OK || !strings.Contains(out, want[0]) || !strings.Contains(err, want[1]) {
			t.Errorf("%s: %d\n%s%s", zone, code, out, err)
		}
		code = cli.Run(t.Context(), []string{"contact", "show", "1-1"}, o)
		if out, _ := s.text(); code != app.OK || !strings.Contains(out, "its window opens at "+want[0]+":07") || strings.Contains(out, ":07 UTC") {
			t.Errorf("%s: %d\n%s", zone, code, out)
		}
	}
	_, before := s.text()
	code := cli.Run(t.Context(), []string{"survey", "list", "-o", "json"}, o) // JSON has UTC instants and no zone note
	if _, err := s.text(); code != app.OK || err != before {
		t.Errorf("%d %s", code, strings.TrimPrefix(err, before))
	}
}
