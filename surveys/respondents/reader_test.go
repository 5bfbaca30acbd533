package respondents_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"
	"unicode/utf16"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"weir"
	"weir/surveys/respondents"
)

// reader reads respondents of a file whose columns are attributes of their names.
type reader struct {
	*respondents.Reader
	rows  *respondents.Rows
	names []string // nil: NDJSON
}

func open(r io.Reader, format respondents.Format, encoding string) (*reader, error) {
	out := &reader{rows: respondents.NewRows("MX")}
	var err error
	if format == respondents.NDJSON {
		out.Reader, err = respondents.NewLines(r, encoding, 64<<10)
		return out, err
	}
	if out.Reader, err = respondents.NewTable(r, encoding); err != nil {
		return nil, err
	}
	header, _ := out.Header()
	for i, ignored := range respondents.Ignored(header) {
		name := respondents.NameOf(header[i])
		if ignored || respondents.IsRemark(name) {
			name = ""
		}
		out.names = append(out.names, name)
	}
	return out, nil
}

// next returns the next row, or the error of its line.
func (r *reader) next() (row respondents.Row, line int, err error) {
	var bad *respondents.RowError
	if r.names == nil {
		var text string
		if text, line, err = r.Line(); err == nil {
			row, bad = r.rows.OfObject(text)
		}
	} else {
		var cells []string
		if cells, line, err = r.Fields(); err == nil {
			row, bad = r.rows.OfCells(r.names, cells)
		}
	}
	if bad != nil {
		bad.Line, err = line, bad
	}
	return row, line, err
}

// readAll reads a whole file: valid rows as "line phone attributes", invalid ones as
// their errors, in order.
func readAll(r io.Reader, format respondents.Format, encoding string) ([]string, error) {
	in, err := open(r, format, encoding)
	if err != nil {
		return nil, err
	}
	var out []string
	for {
		row, line, err := in.next()
		var bad *respondents.RowError
		switch {
		case errors.Is(err, io.EOF):
			return out, nil
		case errors.As(err, &bad):
			out = append(out, bad.Error())
		case err != nil:
			return out, err
		default:
			out = append(out, fmt.Sprint(line, " ", row.Phone, " ", row.Attributes))
		}
	}
}

func TestReader_ReadsCSV(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, file string
		want       []string
	}{
		{"plain", "phone,First Name\n5512345678,Ana\r\n\n+52 55 1234 5679,\n", []string{"2 +525512345678 map[first_name:Ana]", "4 +525512345679 map[]"}},
		{"a mark at the beginning, no newline at the end", "\ufeffphone,a\n5512345678,1", []string{"2 +525512345678 map[a:1]"}},
		{"remarks on rejected rows", "Weir_Line,phone,weir_column,a,weir_reason\n7,5512345678,phone,1,is missing\n,5512345679,,2,\n", []string{"2 +525512345678 map[a:1]", "3 +525512345679 map[a:2]"}},
		{"semicolons", "a;b;Phone\nx,y; z ;5512345678\n", []string{"2 +525512345678 map[a:x,y b:z]"}},
		{"tabs", "a\tphone\n1\t5512345678\n", []string{"2 +525512345678 map[a:1]"}},
		{"quotes", "\"a\",phone\n\"x \"\"y\"\", z\",5512345678\n\"\",\"5512345678\"\n", []string{`2 +525512345678 map[a:x "y", z]`, "3 +525512345678 map[]"}},
		{"lines in quotes", "a,phone\n\"x\r\ny\n\",5512345678\nz,5512345679\n", []string{"2 +525512345678 map[a:x\ny]", "5 +525512345679 map[a:z]"}},
		{"padding", "a,phone,b\n1,5512345678,2,,\n,,\n , ,\n,,,,\n", []string{"2 +525512345678 map[a:1 b:2]"}},
		{"too few, too many", "a,phone,b\n1,5512345678\n1,5512345678,2,3\n", []string{"line 2: has 2 fields; the header has 3", "line 3: has 4 fields; the header has 3"}},
		{"bad numbers", "phone,a\nx,1\n,2\n5.5E+9,3\n5512345678,4\n", []string{
			"line 2, phone: the phone number has characters other than digits, +, space, -, ., / and brackets",
			"line 3, phone: is missing",
			"line 4, phone: the phone number is in scientific notation (5.2E+11), as spreadsheets write it; format the column as text",
			"5 +525512345678 map[a:4]",
		}},
		{"a quote that is never closed", "a,phone\n\"x,5512345678\ny,5512345679\n\"z\",5512345670\n", []string{
			"line 2: unclosed quote (searched 20 lines)", "3 +525512345679 map[a:y]", "4 +525512345670 map[a:z]",
		}},
		{"text after a quote", "a,phone\n\"x\"y,5512345678\n\"x\ny,\"z,5512345679\ny,5512345670\n", []string{
			"line 2: a closing quote does not end the field; write a quote inside a field twice",
			"line 3: a closing quote does not end the field; write a quote inside a field twice",
			"line 4: unclosed quote (searched 20 lines)",
			"5 +525512345670 map[a:y]",
		}},
		{"a quote that is never closed, and no other", "a,phone\n\"x,5512345678\ny,5512345679\nz,5512345670", []string{
			"line 2: unclosed quote (searched 20 lines)", "3 +525512345679 map[a:y]", "4 +525512345670 map[a:z]",
		}},
		{"a quote in a field", "a,phone\n5\"6,5512345678\n5\"6\",5512345678\ny,5512345679\n", []string{
			"line 2: a field contains a quote but does not begin with one",
			"line 3: a field contains a quote but does not begin with one",
			"4 +525512345679 map[a:y]",
		}},
		{"not UTF-8", "a,phone\nJos\xe9,5512345678\nJosé,5512345679\n", []string{
			"line 2: has bytes that are not valid in the file's encoding; save it as UTF-8 or state its encoding", "3 +525512345679 map[a:José]",
		}},
		{"NUL", "a,phone\nx\x00,5512345678\ny,5512345679\n", []string{"line 2: has a NUL character; the file may be UTF-16", "3 +525512345679 map[a:y]"}},
		{"a long value", "a,phone\n" + strings.Repeat("é", 501) + ",5512345678\n" + strings.Repeat("é", 2) + ",5512345679\n", []string{"line 2, a: has more than 500 characters", "3 +525512345679 map[a:éé]"}},
		{"only a header", "phone,a\n", nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := readAll(iotest.OneByteReader(strings.NewReader(tt.file)), respondents.CSV, "")
			if diff := cmp.Diff(tt.want, got); diff != "" || err != nil {
				t.Errorf("%v\n%s", err, diff)
			}
		})
	}
}

// What a row holds does not depend on what it is refused for: whoever writes it back guards it again.
func TestReader_FieldsOfRefusedRowsAreUnguarded(t *testing.T) {
	t.Parallel()
	const guarded, want = "'+525512345678", "+525512345678"
	for name, row := range map[string]string{
		"a NUL character":      guarded + ",x\x00",
		"bytes of no encoding": guarded + ",Jos\xe9 é",
		"a field too many":     guarded + ",a,b",
		"a field too few":      guarded,
		"a quote in a field":   guarded + `,5"6`,
		"a quote left open":    guarded + `,"5`,
		"a long line":          guarded + "," + strings.Repeat("x", 70_000),
	} {
		r, err := respondents.NewTable(strings.NewReader("phone,a\n"+row+"\n"), "utf-8")
		if err != nil {
			t.Fatal(err)
		}
		fields, line, err := r.Fields()
		if bad, ok := errors.AsType[*respondents.RowError](err); !ok || line != 2 || bad.Line != 2 {
			t.Errorf("%s: line %d, %v", name, line, err)
		}
		if len(fields) > 0 && fields[0] != "" && !strings.HasPrefix(fields[0], want) {
			t.Errorf("%s: %q, want %q", name, fields[0], want)
		}
	}
}

func TestReader_RefusesInvalidFiles(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, file, encoding, want string }{
		{"empty", "", "", "the file is empty"},
		{"nothing but the mark", "\ufeff", "", "the file is empty"},
		{"an open quote", "phone,\"a\n1,2\n", "", "the first line, which names the columns, cannot be read: unclosed quote"},
		{"a long header", "phone," + strings.Repeat("a", 70_000), "", "cannot be read: the line is longer than 65536 bytes"},
		{"UTF-16 without saying so", "p\x00h\x00o\x00n\x00e\x00\n\x00", "", "NUL character; the file may be UTF-16"},
		{"unknown encoding", "phone\n", "ebcdic", `encoding "ebcdic" is not one of utf-8`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := readAll(strings.NewReader(tt.file), respondents.CSV, tt.encoding)
			if weir.CodeOf(err) != weir.CodeInvalid || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%v %v, want %q", got, err, tt.want)
			}
		})
	}
	broken := errors.New("the connection broke")
	for _, head := range []string{"", "phone", "phone,a\n5512345678,1\n", "phone,a\n5512345678,\"1\n"} {
		if _, err := readAll(io.MultiReader(strings.NewReader(head), iotest.ErrReader(broken)), respondents.CSV, ""); err == nil || !errors.Is(err, broken) && !strings.Contains(err.Error(), broken.Error()) {
			t.Errorf("after %q: %v", head, err)
		}
	}
}

func TestReader_ReadsEachEncoding(t *testing.T) {
	t.Parallel()
	const file = "phone,a\n5512345678,José €“x” 😀\n"
	want := []string{"2 +525512345678 map[a:José €“x” 😀]"}
	units := utf16.Encode([]rune(file))
	little, big := []byte{}, []byte{}
	for _, u := range units {
		little = append(little, byte(u), byte(u>>8))
		big = append(big, byte(u>>8), byte(u))
	}
	for _, tt := range []struct {
		name, encoding string
		file           []byte
		want           []string
	}{
		{"UTF-8", "UTF-8", []byte(file), want},
		{"UTF-16 by its mark", "", append([]byte{0xFF, 0xFE}, little...), want},
		{"big-endian by its mark", "", append([]byte{0xFE, 0xFF}, big...), want},
		{"UTF-16 as said", "utf-16le", little, want},
		{"UTF-16 as said and marked", "utf-16be", append([]byte{0xFE, 0xFF}, big...), want},
		{"Windows", "windows-1252", []byte("phone,a\n5512345678,Jos\xe9 \x80\x93x\x94 \x9f\n5512345679,\x81\n"), []string{
			"2 +525512345678 map[a:José €“x” Ÿ]",
			"line 3: has bytes that are not valid in the file's encoding; save it as UTF-8 or state its encoding",
		}},
		{"half a pair, half a unit", "utf-16be", append([]byte("\x00p\x00h\x00o\x00n\x00e\x00\n\xd8\x3d\x00\n\xde\x00\x00\n"), 0), []string{
			"line 2: has bytes that are not valid in the file's encoding; save it as UTF-8 or state its encoding",
			"line 3: has bytes that are not valid in the file's encoding; save it as UTF-8 or state its encoding",
			"line 4: has bytes that are not valid in the file's encoding; save it as UTF-8 or state its encoding",
		}},
	} {
		for name, r := range map[string]io.Reader{"at once": bytes.NewReader(tt.file), "byte by byte": iotest.OneByteReader(bytes.NewReader(tt.file))} {
			got, err := readAll(r, respondents.CSV, tt.encoding)
			if diff := cmp.Diff(tt.want, got); diff != "" || err != nil {
				t.Errorf("%s, %s: %v\n%s", tt.name, name, err, diff)
			}
		}
	}
}

func TestReader_ReadsNDJSON(t *testing.T) {
	t.Parallel()
	file := strings.Join([]string{
		`{"phone":"5512345678","first_name":" Ana ","age":30,"big":12345678901234567890,"ok":true,"none":null}`,
		``,
		`{"phone":5512345679}`,
		`{"first_name":"Ana"}`,
		`{"phone":"5512345678","tags":["a"]}`,
		`{"phone":"5512345678","a":1,"a":2}`,
		`{"phone":"5512345678","First Name":1}`,
		`{"phone":"5512345678","survey":1}`,
		`["phone"]`, `{"phone":"5512345678"`, `{"phone":"5512345678"} {}`, `phone`, `{"phone":"5512345678",}`,
		"{\"phone\":\"5512345678\",\"a\":\"\xff\"}", `{"phone":"5512345678","a":"x\u0000"}`,
		`{"weir_line":7,"weir_reason":"x","phone":"5512345670","weir_reason":"y"}`,
	}, "\n")
	got, err := readAll(strings.NewReader("\ufeff"+file), respondents.NDJSON, "")
	want := []string{
		"1 +525512345678 map[age:30 big:12345678901234567890 first_name:Ana ok:true]",
		"3 +525512345679 map[]",
		"line 4, phone: is missing",
		"line 5, tags: must be a text, a number, true, false or null",
		"line 6, a: is listed twice",
		"line 7: the name of an attribute begins with a letter and has up to 63 of a-z, 0-9 and _",
		"line 8, survey: is the name of a template field",
		"line 9: is not one JSON object", "line 10: is not one JSON object", "line 11: is not one JSON object", "line 12: is not one JSON object", "line 13: is not one JSON object",
		"line 14: has bytes that are not valid in the file's encoding; save it as UTF-8 or state its encoding",
		"line 15, a: has a NUL character; the file may be UTF-16",
		"16 +525512345670 map[]",
	}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v\n%s", err, diff)
	}
}

// repeatReader is a reader of a text repeated n times.
type repeatReader struct {
	text string
	n    int
	rest string
}

func (r *repeatReader) Read(p []byte) (int, error) {
	if r.rest == "" {
		if r.n == 0 {
			return 0, io.EOF
		}
		r.n--
		r.rest = r.text
	}
	n := copy(p, r.rest)
	r.rest = r.rest[n:]
	return n, nil
}

// A line of 10 MB fails alone, and is not held in memory. The test is not parallel,
// because it measures the allocations of the process.
func TestReader_LongLineFailsAlone(t *testing.T) {
	for name, fill := range map[string]string{"text": strings.Repeat("x", 1<<10), "quotes": "\"" + strings.Repeat("x", 1<<10), "open quotes with lines": "\"x" + strings.Repeat("y", 1<<10) + "\n"} {
		t.Run(name, func(t *testing.T) {
			r := io.MultiReader(strings.NewReader("a,phone\n1,5512345678\n"), &repeatReader{text: fill, n: 10 << 10}, strings.NewReader("\n3,5512345679\n"))
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			in, err := open(r, respondents.CSV, "")
			if err != nil {
				t.Fatal(err)
			}
			good, bad := 0, 0
			for {
				_, _, err := in.next()
				var b *respondents.RowError
				if errors.Is(err, io.EOF) {
					break
				} else if errors.As(err, &b) {
					bad++
				} else if err != nil {
					t.Fatal(err)
				} else {
					good++
				}
			}
			runtime.ReadMemStats(&after)
			oneLine := !strings.Contains(fill, "\n")
			if spent := after.TotalAlloc - before.TotalAlloc; oneLine && spent > 1<<20 {
				t.Errorf("a line of 10 MB takes %d bytes", spent)
			}
			if good != 2 || bad == 0 || oneLine && bad != 1 {
				t.Errorf("%d good rows, %d bad ones", good, bad)
			}
		})
	}
}

// Rows written as CSV are read back unchanged.
func TestReader_ReadsRowsBackUnchanged(t *testing.T) {
	t.Parallel()
	value := rapid.StringMatching(`[a-z",;\n 	é]{0,12}`)
	rapid.Check(t, func(t *rapid.T) {
		values := rapid.SliceOfN(value, 1, 8).Draw(t, "values")
		comma := rapid.SampledFrom([]string{",", ";", "\t"}).Draw(t, "comma")
		file, want := "a"+comma+"b"+comma+"phone\n", []string(nil)
		for i, v := range values {
			file += `"` + strings.ReplaceAll(v, `"`, `""`) + `"` + comma + fmt.Sprint(i) + comma + "5512345678\n"
			line := strings.Count(file, "\n") - strings.Count(v, "\n")
			attributes := map[string]string{"b": fmt.Sprint(i)}
			if v = strings.TrimSpace(v); v != "" {
				attributes["a"] = v
			}
			want = append(want, fmt.Sprint(line, " +525512345678 ", attributes))
		}
		got, err := readAll(strings.NewReader(file), respondents.CSV, "")
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Fatalf("%v\n%s\n%q", err, diff, file)
		}
	})
}

// A table has the columns that it has, and its bad records cost no others.
func TestTable_ReadsAnyColumns(t *testing.T) {
	t.Parallel()
	in, err := respondents.NewTable(strings.NewReader("\ufeffTo;Opted out at;To\n1;2;3\n;;\n4;5\n\"6;7;8\n9;\"a\nb\";c;;\n\xff;1;2\n"), "")
	if err != nil {
		t.Fatal(err)
	}
	names, separator := in.Header()
	got := []string{strings.Join(names, "|") + separator}
	for {
		fields, line, err := in.Fields()
		if errors.Is(err, io.EOF) {
			break
		}
		got = append(got, fmt.Sprintf("%d %q %v", line, fields, err))
	}
	want := []string{
		"To|Opted out at|To;", `2 ["1" "2" "3"] <nil>`, `4 ["4" "5"] line 4: has 2 fields; the header has 3`, `5 ["\"6;7;8"] line 5: a closing quote does not end the field; write a quote inside a field twice`,
		`6 ["9" "a\nb" "c"] <nil>`, `8 ["\xff" "1" "2"] line 8: has bytes that are not valid in the file's encoding; save it as UTF-8 or state its encoding`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	for file, want := range map[string]string{"": "the file is empty", "\"a\n": "cannot be read"} {
		if _, err := respondents.NewTable(strings.NewReader(file), ""); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", file, err)
		}
	}
}

func FuzzReader(f *testing.F) {
	for _, s := range []string{"phone,a\n5512345678,1\n", "\ufeffphone;a\n\"x\n\"\"", "{\"phone\":1}\n{", "\xff\xfep\x00", "phone\r\r\n\"\"\"\n"} {
		f.Add([]byte(s), "")
	}
	f.Add([]byte("phone,a\n5512345678,\x81\n"), "windows-1252")
	f.Fuzz(func(t *testing.T, file []byte, encoding string) {
		for _, format := range []respondents.Format{respondents.CSV, respondents.NDJSON} {
			in, err := open(bytes.NewReader(file), format, encoding)
			if err != nil {
				continue
			}
			for last := 0; ; {
				row, line, err := in.next()
				var bad *respondents.RowError
				if err != nil && !errors.As(err, &bad) {
					if !errors.Is(err, io.EOF) {
						t.Fatalf("%v", err)
					}
					break
				}
				if line <= last || line > len(file)+1 {
					t.Fatalf("line %d after line %d", line, last)
				}
				last = line
				if err == nil && (!strings.HasPrefix(row.Phone, "+") || len(row.Attributes) > respondents.MaxAttributes) {
					t.Fatalf("%+v", row)
				}
			}
		}
	})
}

// The minimum cost of an import: a million rows.
func BenchmarkRows(b *testing.B) {
	r, err := open(io.MultiReader(strings.NewReader("phone,first_name,age\n"), &repeatReader{text: "+525512345678,Ana,30\n", n: 1 << 30}), respondents.CSV, "")
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, _, err := r.next(); err != nil && !errors.Is(err, io.EOF) {
			b.Fatal(err)
		}
	}
}
