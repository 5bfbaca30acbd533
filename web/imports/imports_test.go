package imports_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/unicode"
	"pgregory.net/rapid"

	"weir"
	"weir/surveys/respondents"
	"weir/web/imports"
)

// person is what the rows of these tests become.
type person struct{ to, text string }

// people keeps persons by their address, all of a batch or none.
type people struct {
	known map[string]string
	dry   bool
	fail  func() error // before a batch is stored
	calls int
	most  int // rows of a batch
}

func (*people) Read(columns []imports.Column, cells []string) (p person, _ *imports.Mistake) {
	for i, c := range columns {
		switch c.Field {
		case "to":
			p.to = cells[i]
		case "message":
			p.text += cells[i]
		}
	}
	return p.checked()
}

func (*people) Object(text string) (person, *imports.Mistake) {
	to, text, _ := strings.Cut(strings.Trim(text, `"`), "|")
	return person{to, text}.checked()
}

func (p person) checked() (person, *imports.Mistake) {
	if !strings.HasPrefix(p.to, "+") {
		return p, &imports.Mistake{Column: "to", Reason: "is no number"}
	}
	return p, nil
}

func (s *people) Store(_ context.Context, rows []*imports.Row[person]) error {
	s.calls++
	s.most = max(s.most, len(rows))
	if s.fail != nil {
		if err := s.fail(); err != nil {
			return err
		}
	}
	for _, r := range rows {
		_, twice := s.known[r.Value.to]
		switch {
		case strings.HasSuffix(r.Value.to, "9"):
			r.Refuse("to", "is of nobody")
		case s.dry:
			r.State = "new"
		case twice:
			r.State = "known"
		default:
			r.State = "new"
			s.known[r.Value.to] = r.Value.text
		}
	}
	return nil
}

func fields() []imports.Field {
	return []imports.Field{
		{Name: "to", Headers: []string{"to", "phone"}, Required: true}, {Name: "message", Headers: []string{"message", "text"}, Many: true},
		{Name: "key", Headers: []string{"key"}}, {Name: "label.", Many: true},
	}
}

func run(t testing.TB, s *people, file, encoding string, format respondents.Format, o imports.Options) (*imports.Report[person], error) {
	t.Helper()
	table, err := imports.Open(strings.NewReader(file), format, encoding)
	if err != nil {
		t.Fatal(err)
	}
	return imports.Run(t.Context(), s, table, columnsOf(t, table), o)
}

func columnsOf(t testing.TB, table *imports.Table) []imports.Column {
	t.Helper()
	if table.Columns == nil {
		return nil
	}
	columns, wrong := imports.Map(fields(), imports.MaxColumns, table.Columns, "*=")
	if len(wrong) > 0 {
		t.Fatal(wrong)
	}
	return columns
}

// Scenario 426: a file is the same rows in every encoding, with every separator and end of line.
func TestRun_EveryDialectIsTheSameRows(t *testing.T) {
	t.Parallel()
	encodings := map[string]func(string) (string, error){
		"utf-8":        func(s string) (string, error) { return s, nil },
		"utf-16le":     unicode.UTF16(unicode.LittleEndian, unicode.UseBOM).NewEncoder().String,
		"utf-16be":     unicode.UTF16(unicode.BigEndian, unicode.UseBOM).NewEncoder().String,
		"windows-1252": charmap.Windows1252.NewEncoder().String,
	}
	want := map[string]string{"+1": "Sí, a;b\tc", "+2": "two\nlines"}
	for name, encode := range encodings {
		for _, separator := range []string{",", ";", "\t"} {
			for _, end := range []string{"\n", "\r\n"} {
				for _, stated := range []string{"", name} {
					text := strings.ReplaceAll("phone,text,other\n+1,\"Sí|, a;b\tc\",x\n+2,\"two\nlines\",\n", ",", separator)
					text = strings.NewReplacer("|"+separator, ",", "\n", end).Replace(text)
					file, err := encode(text)
					if err != nil {
						t.Fatal(err)
					}
					s := &people{known: map[string]string{}}
					if r, err := run(t, s, file, stated, respondents.CSV, imports.Options{}); err != nil || r.Rows != 2 || r.Rejected != 0 {
						t.Errorf("%s, %q, %q: %v %+v", name, separator, end, err, r)
					}
					if diff := cmp.Diff(want, s.known); diff != "" {
						t.Errorf("%s, %q, %q: %s", name, separator, end, diff)
					}
				}
			}
		}
		file, err := encode("\"+1|Sí\"\n\nx\n")
		if err != nil {
			t.Fatal(err)
		}
		s := &people{known: map[string]string{}}
		if r, err := run(t, s, file, name, respondents.NDJSON, imports.Options{}); err != nil || r.Rejected != 1 || r.Reasons[0].Line != 3 || s.known["+1"] != "Sí" {
			t.Errorf("%s: %v %+v %v", name, err, r, s.known)
		}
	}
}

// numbers draws a file: good rows, bad ones, and some twice.
func numbers(t *rapid.T) (file string, rows int) {
	var b strings.Builder
	b.WriteString("phone,text\n")
	list := rapid.SliceOfN(rapid.IntRange(0, 2500), 0, 3000).Draw(t, "numbers")
	for _, n := range list {
		switch {
		case n%50 == 3:
			fmt.Fprintf(&b, "%d,x\n", n)
		case n%50 == 4:
			fmt.Fprintf(&b, "+%d,x,y\n", n)
		default:
			fmt.Fprintf(&b, "+%d,x\n", n)
		}
	}
	return b.String(), len(list)
}

// A dry run refuses the rows that the import refuses, for the same reasons, and stores nothing.
func TestRun_DryRunSaysWhatTheImportDoes(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(d *rapid.T) {
		file, rows := numbers(d)
		dry := &people{known: map[string]string{}, dry: true}
		said, err := run(t, dry, file, "", respondents.CSV, imports.Options{})
		if err != nil || len(dry.known) != 0 || said.Rows != rows {
			d.Fatalf("%v: %d rows, %d stored", err, said.Rows, len(dry.known))
		}
		did, err := run(t, &people{known: map[string]string{}}, file, "", respondents.CSV, imports.Options{})
		if err != nil || !slices.Equal(said.Reasons, did.Reasons) || said.Rejected != did.Rejected || said.LastLine != did.LastLine {
			d.Fatalf("%v: %d refused, said %d", err, did.Rejected, said.Rejected)
		}
		if did.States["new"]+did.States["known"] != said.States["new"] || did.Rows != did.Rejected+said.States["new"] {
			d.Fatalf("%v, said %v", did.States, said.States)
		}
	})
}

// Scenario 427: an import that is cut at any batch, by the store or by the file, keeps what it stored and says so; the whole file again
// doubles nobody.
func TestRun_CutAnywhereAndSentAgainDoublesNobody(t *testing.T) {
	t.Parallel()
	down := errors.New("down")
	rapid.Check(t, func(d *rapid.T) {
		file, _ := numbers(d)
		whole := &people{known: map[string]string{}}
		if _, err := run(t, whole, file, "", respondents.CSV, imports.Options{}); err != nil {
			d.Fatal(err)
		}
		s := &people{known: map[string]string{}}
		cut := rapid.IntRange(1, 4).Draw(d, "batch")
		s.fail = func() error {
			if s.calls == cut {
				return down
			}
			return nil
		}
		r, err := run(t, s, file, "", respondents.CSV, imports.Options{})
		if err != nil && (!errors.Is(err, down) || r.States["new"] != len(s.known)) {
			d.Fatalf("%v: %v, %d stored", err, r.States, len(s.known))
		}
		s.fail = nil
		from := 0
		if rapid.Bool().Draw(d, "from where it stopped") {
			from = r.LastLine + 1
		}
		again, err := run(t, s, file, "", respondents.CSV, imports.Options{From: from})
		if err != nil || !maps.Equal(s.known, whole.known) || r.States["new"]+again.States["new"] != len(whole.known) {
			d.Fatalf("%v: %v, then %v; %d of %d", err, r.States, again.States, len(s.known), len(whole.known))
		}
		// The file breaks off in the middle of a row, or of anything.
		broken := &people{known: map[string]string{}}
		part := file[:rapid.IntRange(len("phone,text\n"), len(file)).Draw(d, "bytes")]
		table, err := imports.Open(io.MultiReader(strings.NewReader(part), broke{}), respondents.CSV, "")
		if err != nil {
			d.Fatal(err)
		}
		got, err := imports.Run(t.Context(), broken, table, columnsOf(t, table), imports.Options{})
		if !errors.Is(err, io.ErrUnexpectedEOF) || got.LastLine > strings.Count(part, "\n") {
			d.Fatalf("%v: line %d of %d", err, got.LastLine, strings.Count(part, "\n"))
		}
		for to := range broken.known {
			if _, ok := whole.known[to]; !ok {
				d.Fatalf("%s is half a row", to)
			}
		}
	})
}

type broke struct{}

func (broke) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

// A context that has ended stops an import before its next batch.
func TestRun_EndsWithItsContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	s := &people{known: map[string]string{}}
	s.fail = func() error {
		if s.calls == 2 {
			cancel()
		}
		return nil
	}
	table, err := imports.Open(&list{rows: 5000}, respondents.CSV, "")
	if err != nil {
		t.Fatal(err)
	}
	r, err := imports.Run(ctx, s, table, columnsOf(t, table), imports.Options{})
	if !errors.Is(err, context.Canceled) || s.calls != 2 || r.LastLine != 2001 {
		t.Errorf("%v after %d batches, line %d", err, s.calls, r.LastLine)
	}
}

// list is a CSV file of many rows, of which each in refused is refused; 0: none.
type list struct {
	rows, at, refused int
	rest              strings.Reader
}

func (l *list) Read(p []byte) (int, error) {
	if l.rest.Len() == 0 {
		switch {
		case l.at > l.rows:
			return 0, io.EOF
		case l.at == 0:
			l.rest.Reset("phone,text\n")
		case l.refused > 0 && l.at%l.refused == 0:
			l.rest.Reset(fmt.Sprintf("%d,%s\n", l.at, strings.Repeat("refused ", 20)))
		default:
			l.rest.Reset(fmt.Sprintf("+%d1,a text that is as long as others in such files are\n", l.at))
		}
		l.at++
	}
	return l.rest.Read(p)
}

// forgetful stores nothing, so that the memory of an import is its own.
type forgetful struct{ people }

func (s *forgetful) Store(_ context.Context, rows []*imports.Row[person]) error {
	s.most = max(s.most, len(rows))
	for _, r := range rows {
		r.State = "new"
	}
	return nil
}

// Scenario 428: memory does not depend on the length of the file, nor on how many of its rows are refused; the file of refused rows is bounded.
func TestRun_MemoryIsBounded(t *testing.T) { // not in parallel: it measures the heap
	rows := 1_000_000
	if testing.Short() {
		rows = 200_000
	}
	table, err := imports.Open(&list{rows: rows, refused: 2}, respondents.CSV, "")
	if err != nil {
		t.Fatal(err)
	}
	refused, err := imports.NewRefused(table)
	if err != nil {
		t.Fatal(err)
	}
	var before, now runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	most, batches := uint64(0), 0
	s := &forgetful{}
	r, err := imports.Run(t.Context(), s, table, columnsOf(t, table), imports.Options{Refused: refused, Stored: func() {
		if batches++; batches%50 == 0 {
			runtime.GC()
			runtime.ReadMemStats(&now)
			most = max(most, now.HeapAlloc)
		}
	}})
	if err != nil || r.Rows != rows || r.Rejected != rows/2 || len(r.Reasons) != imports.MaxReasons || s.most > 1000 {
		t.Fatalf("%v: %d rows, %d refused, %d reasons, batches of %d", err, r.Rows, r.Rejected, len(r.Reasons), s.most)
	}
	grown := int64(most) - int64(before.HeapAlloc)
	t.Logf("%d rows: %d KiB more at most, %d refused rows kept", rows, grown>>10, refused.Kept)
	if grown > 16<<20 {
		t.Errorf("%d KiB more", grown>>10)
	}
	size, err := refused.WriteTo(io.Discard)
	if err != nil || size > imports.MaxRefused || refused.Kept == 0 || refused.Kept > rows/2 || refused.Close() != nil {
		t.Errorf("%v: %d bytes, %d rows", err, size, refused.Kept)
	}
}

// A store that is down for a moment gets the batch again.
func TestRun_WaitsForTheStore(t *testing.T) {
	t.Parallel()
	s := &people{known: map[string]string{}}
	s.fail = func() error {
		if s.calls == 1 {
			return weir.Errorf(weir.CodeUnavailable, "down")
		}
		return nil
	}
	if r, err := run(t, s, "phone,text\n+1,x\n", "", respondents.CSV, imports.Options{}); err != nil || r.States["new"] != 1 || s.calls != 2 {
		t.Errorf("%v %+v", err, r)
	}
}

func TestRefused_RowsCanBeMendedAndSent(t *testing.T) {
	t.Parallel()
	for format, file := range map[respondents.Format]string{
		respondents.CSV:    "phone;weir_reason;text\n1;old;a\n+2;;b\n3;c\n\"4;;\n",
		respondents.NDJSON: "\"1|a\"\n\"+2|b\"\n{\"weir_line\":1,\"weir_reason\":\"old\",\"x\":1}\n",
	} {
		table, err := imports.Open(strings.NewReader(file), format, "")
		if err != nil {
			t.Fatal(err)
		}
		refused, err := imports.NewRefused(table)
		if err != nil {
			t.Fatal(err)
		}
		var text strings.Builder
		r, err := imports.Run(t.Context(), &people{known: map[string]string{}}, table, columnsOf(t, table), imports.Options{Refused: refused})
		if _, failed := refused.WriteTo(&text); err != nil || failed != nil || refused.Close() != nil || r.States["new"] != 1 {
			t.Fatal(err, failed, r.States)
		}
		var want string
		if format == respondents.CSV {
			want = "weir_line;weir_column;weir_reason;phone;text\n2;to;is no number;1;a\n4;;\"has 2 fields; the header has 3\";3\n"
		} else {
			want = `{"weir_line":1,"weir_column":"to","weir_reason":"is no number"} "1|a"` + "\n" + `{"weir_line":3,"weir_column":"to","weir_reason":"is no number","x":1}` + "\n"
		}
		if !strings.HasPrefix(text.String(), want) {
			t.Errorf("%s", text.String())
		}
	}
}
