package csvfile

import (
	"errors"
	"io"
	"strings"
	"testing"
	"unicode"

	"pgregory.net/rapid"
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

// Scenario 389: Unguarded is the inverse of the writer's guard for every cell.
func TestUnguarded_IsTheCell(t *testing.T) {
	t.Parallel()
	cells := rapid.OneOf(rapid.String(), rapid.StringMatching(`'{0,3}[=+@\t -]?[0-9]{0,14}(\.[0-9])?`), rapid.StringOf(rapid.RuneFrom([]rune("'=+-@\t\r\n 0123456789.＝\u200b\ufeff,;\"aé"))))
	rapid.Check(t, func(t *rapid.T) {
		cell := strings.Map(func(r rune) rune { // these are removed
			if unicode.IsControl(r) && !strings.ContainsRune("\t\r\n", r) || unicode.Is(unicode.Bidi_Control, r) && r > 0x200F {
				return -1
			}
			return r
		}, cells.Draw(t, "cell"))
		for _, w := range []*Writer{NewWriter(io.Discard, ','), NewSpreadsheet(io.Discard, ';')} {
			written := w.guard(cell)
			if got := Unguarded(written); got != cell {
				t.Errorf("%q is written as %q and read as %q", cell, written, got)
			}
			if isFormula(written) {
				t.Errorf("%q is written as %q, a formula", cell, written)
			}
		}
	})
}

// Scenario 389: Excel reads UTF-8 and keeps the digits of phone numbers.
func TestSpreadsheet_BeginsWithAMarkAndKeepsDigits(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	w := NewSpreadsheet(&out, ';')
	if out.Len() > 0 {
		t.Error("something is written before the first row")
	}
	if err := errors.Join(w.Write([]string{"name", "phone", "id"}), w.Write([]string{"Íñigo", "+254712345678", "123456789012"}), w.Write([]string{"-3.5", "30", "12345678901"}), w.Flush()); err != nil {
		t.Fatal(err)
	}
	if got, want := out.String(), "\ufeffname;phone;id\nÍñigo;'+254712345678;'123456789012\n-3.5;30;12345678901\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
