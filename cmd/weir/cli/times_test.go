package cli_test

import (
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	_ "time/tzdata" // as in the program

	"weir/cmd/weir/cli"
	"weir/cmd/weir/cli/app"
)

// Times are shown in the reader's time zone, each with it.
func TestTimes_NameTheirZone(t *testing.T) {
	t.Parallel()
	f := newFakeWeir(t, map[string]http.HandlerFunc{"GET /v1/surveys": answers(http.StatusOK, `{"surveys":[`+summary+`]}`),
		"GET /v1/contacts/1-1": answers(http.StatusOK, `{"id":"1-1","channel":"sms","state":"queued","why":"its window opens at 2026-05-04 08:30:07 UTC"}`)})
	s := &screenful{columns: 120, rows: 24}
	o := s.options(f.url, strings.NewReader(""), nil)
	for zone, want := range map[string][2]string{"UTC": {"2026-05-04 08:30Z", "2026-05-04 08:30:07Z"}, "Asia/Kathmandu": {"2026-05-04 14:15+05:45", "2026-05-04 14:15:07+05:45"}} {
		o.Environ = append([]string{"TZ=" + zone}, o.Environ...)
		code := cli.Run(t.Context(), []string{"survey", "list"}, o)
		if out, err := s.text(); code != app.OK || !strings.Contains(out, want[0]) {
			t.Errorf("%s: %d\n%s%s", zone, code, out, err)
		}
		code = cli.Run(t.Context(), []string{"contact", "show", "1-1"}, o)
		if out, _ := s.text(); code != app.OK || !strings.Contains(out, "its window opens at "+want[1]) || strings.Contains(out, ":07 UTC") {
			t.Errorf("%s: %d\n%s", zone, code, out)
		}
	}
}

// Whoever reads an instant on a list, in a pipe or in a report has only the instant: each layout with a day and a time
// of day that a command formats with has a zone. The screen of "weir top" is read where and when it is drawn.
func TestTimes_EveryLayoutHasAZone(t *testing.T) {
	t.Parallel()
	layout := regexp.MustCompile(`Format\("([^"]*2006[^"]*15:04[^"]*)"\)`)
	found := 0
	err := filepath.WalkDir(".", func(path string, _ fs.DirEntry, err error) error {
		if err != nil || strings.HasPrefix(path, "top") || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		for _, m := range layout.FindAllStringSubmatch(string(text), -1) {
			if found++; !strings.Contains(m[1], "Z07:00") && !strings.Contains(m[1], "MST") {
				t.Errorf("%s: %q has no zone", path, m[1])
			}
		}
		return err
	})
	if err != nil || found < 4 {
		t.Errorf("%d layouts, %v", found, err)
	}
}
