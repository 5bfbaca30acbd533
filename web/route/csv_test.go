package route

import "testing"

// Scenario 194: no cell of a download begins a formula, however its sign is
// disguised.
func TestFormulas_BeginNoCellOfADownload(t *testing.T) {
	t.Parallel()
	for _, cell := range []string{"=1+1", "+A1", "-A1", "@SUM(A1)", "\t=1", "＝1+1", "＋A1", "－A1", "＠x", "\u200b=1", "\ufeff=1", " =1", "\u00a0＝1", "\u2060\u200d+x", "﹦1", "⁼1", "−A1", "\u00ad@x", "\x00=1", "\n=1"} {
		if got := escapeFormula(cell); got != "'"+cell {
			t.Errorf("%q became %q", cell, got)
		}
	}
	for _, cell := range []string{"", "yes", "+15550001", "-3.5", "a=b", "\u200b", "é", "(=1)"} {
		if got := escapeFormula(cell); got != cell {
			t.Errorf("%q became %q", cell, got)
		}
	}
}
