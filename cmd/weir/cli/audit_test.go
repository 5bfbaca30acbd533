package cli_test

import (
	"net/http"
	"strings"
	"testing"

	"weir/cmd/weir/cli"
	"weir/cmd/weir/cli/app"
)

func TestAudit_FitsTheTerminal(t *testing.T) {
	t.Parallel()
	f := newFakeWeir(t, map[string]http.HandlerFunc{"GET /v1/audit": answers(http.StatusOK, `{"entries":[{"id":"1","at":"2026-05-04T08:30:00Z","token":"operations-team",
		"action":"patch-respondent-disposition","subject":"survey flu, respondent r11aou6o1o4xt","status":200,"request":"01K0000000000000000000000",
		"changes":[{"field":"capacity","before":"100","after":"2000"},{"field":"settings.base_url","before":"https://a.example","after":"https://b.example"}]}]}`)})
	s := &screenful{columns: 80, rows: 24}
	code := cli.Run(t.Context(), []string{"audit", "--no-color"}, s.options(f.url, strings.NewReader(""), nil))
	out, _ := s.text()
	if code != app.OK || !strings.Contains(out, "2026-05-04 08:30:00") {
		t.Errorf("%d\n%s", code, out)
	}
	for line := range strings.Lines(out) {
		if n := len([]rune(strings.TrimRight(line, "\n"))); n > 80 {
			t.Errorf("%d columns: %s", n, line)
		}
	}
}
