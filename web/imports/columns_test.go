package imports_test

import (
	"slices"
	"strings"
	"testing"

	"weir/surveys/respondents"
	"weir/web/imports"
)

func TestMap_SaysWhatColumnsAre(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ header, chosen, want, wrong string }{
		{"Phone,TEXT,text,Label.Ward", "", "to message message label.Ward", ""},
		{"weir_line,WEIR_REASON,to", "", "- - to", ""},
		{"to,age", "", "to -", "/columns/1 unknown"},
		{"to,age", "*=", "to -", ""},
		{"to,age", "age=", "to -", ""},
		{"to,age", "Age=label.age", "to label.age", ""},
		{"to,phone", "", "to to", "/columns/1 duplicate"},
		{"to,phone", "*=", "to -", ""},
		{"to,phone", "phone=to", "to to", "/columns/0 duplicate"},
		{"to,phone", "phone=to,*=", "- to", ""},
		{"a,a", "#2=to,#1=message", "message to", ""},
		{"a=b,c", "a=b=to,c=", "to -", ""},
		{`a,"b,c"`, `a=to,"b,c=label.x,y"`, "to label.x,y", ""},
		{"text", "", "message", "/columns required"},
		{"to,b", "b=none", "to -", "/columns/1 unknown"},
		{"to,b", "b=label.", "to label.", "/columns/1 required"},
		{"to,b,c", "b=label.x,c=label.x", "to label.x label.x", "/columns/2 duplicate"},
		{"to", "b=message", "to", "/columns unknown"},
		{"to", "#2=message", "to", "/columns unknown"},
		{"to", "nothing", "to", "/columns format"},
		{"to", `"`, "to", "/columns format"},
		{"B", "#1=to,B=label.0", "to", "/columns/0 duplicate"},
		{"B", "#1=to,B=", "to", ""},
		{"B", "B=,#1=to", "to", ""},
	} {
		header, err := respondents.SplitList(c.header)
		if err != nil {
			t.Fatal(err)
		}
		columns, wrong := imports.Map(fields(), imports.MaxColumns, header, c.chosen)
		var got, mistakes []string
		for _, column := range columns {
			if column.Field == "" {
				column.Field = "-"
			}
			got = append(got, column.Field)
		}
		for _, e := range wrong {
			mistakes = append(mistakes, e.Pointer+" "+e.Code)
		}
		if strings.Join(got, " ") != c.want || strings.Join(mistakes, ", ") != c.wrong {
			t.Errorf("%s as %q: %q, %q; want %q, %q", c.header, c.chosen, got, mistakes, c.want, c.wrong)
		}
	}
	if _, wrong := imports.Map(fields(), imports.MaxColumns, make([]string, imports.MaxColumns+1), ""); len(wrong) != 1 || wrong[0].Code != "length" {
		t.Errorf("too many columns: %v", wrong)
	}
}

// Every header and every choice gives each column a field or a mistake; what was understood is the same when it is chosen by numbers.
func FuzzMap(f *testing.F) {
	f.Add("Phone,text,label.a", "*=")
	f.Add("a,b,c", `#1=to,"b=label.x,y",*=`)
	f.Add("to,to,\"", "#1=,#2=to")
	f.Fuzz(func(t *testing.T, header, chosen string) {
		headers, err := respondents.SplitList(header)
		if err != nil {
			return
		}
		columns, wrong := imports.Map(fields(), imports.MaxColumns, headers, chosen)
		for _, e := range wrong {
			if e.Pointer == "" || e.Code == "" || e.Detail == "" {
				t.Fatalf("a mistake says nothing: %+v", e)
			}
		}
		if len(wrong) > 0 {
			return
		}
		again, wrong := imports.Map(fields(), imports.MaxColumns, headers, imports.Choices(columns))
		if len(wrong) > 0 || !slices.Equal(columns, again) {
			t.Fatalf("%q: %v, then %v %v", imports.Choices(columns), columns, again, wrong)
		}
	})
}

// FuzzRun checks that any file is read to its end, or refused with a reason, and that no row is lost.
func FuzzRun(f *testing.F) {
	f.Add(true, "to,message,label.a\n+15550001,hello,b\n\n+15550002,\"two\nlines\",c\n", "")
	f.Add(true, "\xef\xbb\xbfto\r\n1\r2\r\n", "utf-8")
	f.Add(true, "t\x00o\x00\n\x00", "utf-16le")
	f.Add(false, `{"to":"+15550001","messages":["x"]}`+"\n\n{}\n[1]\nnull {}", "")
	f.Fuzz(func(t *testing.T, csv bool, file, encoding string) {
		format := respondents.NDJSON
		if csv {
			format = respondents.CSV
		}
		table, err := imports.Open(strings.NewReader(file), format, encoding)
		if err != nil {
			return
		}
		columns, _ := imports.Map(fields(), imports.MaxColumns, table.Columns, "*=")
		if table.Columns != nil && columns == nil {
			return
		}
		r, err := imports.Run(t.Context(), &people{known: map[string]string{}}, table, columns, imports.Options{})
		if err != nil || r.Rows != r.Rejected+r.States["new"]+r.States["known"] {
			t.Fatalf("%v: %+v", err, r)
		}
		last := 0
		for _, why := range r.Reasons {
			if why.Line <= last || why.Reason == "" {
				t.Fatalf("line %d after %d: %q", why.Line, last, why.Reason)
			}
			last = why.Line
		}
	})
}
