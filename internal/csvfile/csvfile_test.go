package csvfile

import (
	"io"
	"testing"
)

// Scenario 194: no cell of a download begins a formula, however its sign is
// disguised.
func TestFormulas_BeginNoCellOfADownload(t *testing.T) {
	t.Parallel()
	w := NewWriter(io.Discard, ',')
	for _, cell := range []string{"=1+1", "+A1", "-A1", "@SUM(A1)", "\t=1", "＝1+1", "＋A1", "－A1", "＠x", "\u200b=1", "\ufeff=1", " =1", "\u00a0＝1", "\u2060\u200d+x", "﹦1", "⁼1", "−A1", "\u00ad@x", "\n=1"} {
		if got := w.guard(cell); got != "'"+cell {
			t.Errorf("%q became %q", cell, got)
		}
	}
	for _, cell := range []string{"", "yes", "+15550001", "-3.5", "a=b", "\u200b", "é", "(=1)"} {
		if got := w.guard(cell); got != cell {
			t.Errorf("%q became %q", cell, got)
		}
	}
	// What commands a terminal or turns a text is removed; marks and joiners of scripts stay.
	for cell, want := range map[string]string{"\x00=1": "'=1", "a\x1b[31m\u009b": "a[31m", "x\u202ey\u2066z": "xyz", "\u202e=1": "'=1", "\u200fא\u200d\n\tb": "\u200fא\u200d\n\tb"} {
		if got := w.guard(cell); got != want {
			t.Errorf("%q became %q", cell, got)
		}
	}
}
