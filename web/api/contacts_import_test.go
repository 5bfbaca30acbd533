package api_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"net/textproto"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"weir"
	"weir/api"
	"weir/web"
	"weir/web/auth"
	"weir/web/imports"
	"weir/web/webtest"
)

const importPath = "/v1/channels/a/contacts:import"

// listOfContacts has a good row, one that is no number, one of another number of cells, the first one again, and a good one.
const listOfContacts = "Phone;Text;label.ward\n+15550001;hello;7\nunknown;x;\n+15550003;x\n+15550001;hello;7\n+15550004;;8\n"

func TestImportContacts_RowsAreQueuedOnce(t *testing.T) {
	t.Parallel()
	trail := (*auth.Trail)(nil)
	r := webtest.New(t, func(o *web.Options) { trail = o.Trail })
	r.Channel("a", "texts")
	for i, want := range []api.ImportFigures{
		{Rows: 5, Queued: 1, Duplicates: 1, ImportRejects: api.ImportRejects{Rejected: 3, LastLine: 6}},
		{Rows: 5, Duplicates: 2, ImportRejects: api.ImportRejects{Rejected: 3, LastLine: 6}},
	} {
		got := webtest.Into[api.ContactImport](t, r.Do("POST", importPath, listOfContacts, "Content-Type", "text/csv"), 200)
		if got.ImportFigures != want {
			t.Errorf("%d: %+v", i, got.ImportFigures)
		}
		var reasons []string
		for _, why := range got.Errors {
			reasons = append(reasons, fmt.Sprintf("%d %s", why.Line, why.Column))
		}
		if !slices.Equal(reasons, []string{"3 Phone", "4 ", "6 Text"}) || got.Columns != nil || got.First != nil {
			t.Errorf("%d: %+v", i, got)
		}
	}
	list := r.All()
	if len(list) != 1 || list[0].To != "+15550001" || list[0].Messages[0] != "hello" || list[0].Labels["ward"] != "7" || !strings.HasPrefix(list[0].Key, "row-") {
		t.Errorf("%+v", list)
	}
	// Another run queues them again, and from_line leaves out the rows before it.
	for query, want := range map[string]int{"?run=may": 1, "?run=june&from_line=5": 1, "?run=july&from_line=6": 0} {
		if got := webtest.Into[api.ContactImport](t, r.Do("POST", importPath+query, listOfContacts, "Content-Type", "text/csv"), 200); got.Queued != want {
			t.Errorf("%s: %+v", query, got)
		}
	}
	// One entry of the audit log each, and none for a dry run.
	r.Do("POST", importPath+"?dry_run=true", listOfContacts, "Content-Type", "text/csv")
	if err := trail.Write(t.Context()); err != nil {
		t.Fatal(err)
	}
	entries := webtest.Into[api.AuditList](t, r.Do("GET", "/v1/audit", ""), 200).Entries
	if len(entries) != 5 || entries[4].Action != "import-contacts" || entries[4].Subject != "a" || entries[4].Changes[0].After != "1 queued, 1 duplicates, 3 rejected" {
		t.Errorf("%+v", entries)
	}
}

// A row is the same contact with the same key as NDJSON, with columns of other names, and with the rest from the form.
func TestImportContacts_WaysToSayTheSame(t *testing.T) {
	t.Parallel()
	r := webtest.New(t)
	r.Channel("a", "texts")
	form := func(defaults, kind, file string) (string, string) {
		var b bytes.Buffer
		w := multipart.NewWriter(&b)
		_ = w.WriteField("contact", defaults)
		part, _ := w.CreatePart(textproto.MIMEHeader{"Content-Disposition": {`form-data; name="file"; filename="x"`}, "Content-Type": {kind}})
		_, _ = io.WriteString(part, file)
		_ = w.Close()
		return b.String(), w.FormDataContentType()
	}
	rest, restKind := form(`{"messages":["hello"],"labels":{"ward":"7","x":"y"},"priority":""}`, "text/csv", "to,label.x\n+15550001,z\n")
	objects, objectsKind := form(`{"messages":["other"],"labels":{"x":"z"}}`, "application/x-ndjson", `{"to":"+15550001","messages":["hello"],"labels":{"ward":"7"},"survey":null,"weir_line":3}`)
	for i, c := range []struct{ query, kind, body string }{
		{"", "text/csv", "to,message,label.ward,label.x,not_before\n+15550001,hello,7,z,\n"},
		{"", "application/x-ndjson", `{"labels":{"x":"z","ward":"7"},"to":"+15550001","messages":["hello"]}`},
		{"?columns=Mobile%20no.%3Dto,%231%3Dmessage,c%3Dlabel.ward,*%3D,e%3Dlabel.x", "text/csv; charset=utf-8", "weir,Mobile no.,c,d,e\nhello,+15550001,7,ignored,z\n"},
		{"", restKind, rest},
		{"", objectsKind, objects},
	} {
		got := webtest.Into[api.ContactImport](t, r.Do("POST", importPath+c.query, c.body, "Content-Type", c.kind), 200)
		if got.Queued != min(1, max(0, 1-i)) || got.Duplicates != min(1, i) {
			t.Errorf("%d: %+v", i, got)
		}
	}
	dry := webtest.Into[api.ContactImport](t, r.Do("POST", importPath+"?dry_run=true&columns=*%3D", "to,message,x\n+15550001,hello,\n", "Content-Type", "text/csv"), 200)
	for _, c := range []struct {
		query, kind, body string
		status            int
		says              string
	}{
		{"?columns=*%3D&header=" + dry.Header, "text/csv", "to,message,x\n+15550001,other,\n", 200, `"queued":1`},
		{"?columns=*%3D&header=" + dry.Header, "text/csv", "message,to,x\n+15550001,other,\n", 422, `"pointer":"/header","code":"changed"`},
		{"", "application/json", "{}", 415, "text/csv"},
		{"", "text/csv", "", 422, "empty"},
		{"", "text/csv", "to,age\n+15550001,3\n", 422, `"pointer":"/columns/1"`},
		{"?columns=to%3Dkey", "text/csv", "to\n+15550001\n", 422, `"code":"required"`},
		{"?columns=to%3Dto", "application/x-ndjson", "{}", 422, "columns"},
		{"?encoding=latin", "text/csv", "to\n", 422, "encoding"},
	} {
		if g := r.Do("POST", importPath+c.query, c.body, "Content-Type", c.kind); g.Status != c.status || !strings.Contains(g.Body, c.says) {
			t.Errorf("%s: %d %s", c.body, g.Status, g.Body)
		}
	}
	bad, badKind := form(`{"to":"+1"}`, "text/csv", "to\n")
	if g := r.Do("POST", importPath, bad, "Content-Type", badKind); g.Status != 422 {
		t.Errorf("%d %s", g.Status, g.Body)
	}
	if g := r.Do("POST", "/v1/channels/none/contacts:import", "to\n+1\n", "Content-Type", "text/csv"); g.Status != 404 {
		t.Errorf("%d %s", g.Status, g.Body)
	}
}

// The answer can be the refused rows, and both; the figures are the same.
func TestImportContacts_RefusedRowsAreAFile(t *testing.T) {
	t.Parallel()
	r := webtest.New(t)
	r.Channel("a", "texts")
	g := r.Do("POST", importPath, listOfContacts, "Content-Type", "text/csv", "Accept", "text/csv")
	file := g.Body
	var figures api.ImportFigures
	if err := json.Unmarshal([]byte(g.Header.Get(imports.Counts)), &figures); err != nil || figures.Rejected != 3 || g.Status != 200 {
		t.Fatalf("%v %d %s", err, g.Status, g.Header)
	}
	if lines := strings.Split(file, "\n"); len(lines) != 5 || lines[0] != "weir_line;weir_column;weir_reason;Phone;Text;label.ward" || !strings.HasPrefix(lines[1], "3;Phone;") || !strings.HasSuffix(lines[2], ";+15550003;x") {
		t.Errorf("%q", file)
	}
	g = r.Do("POST", importPath, listOfContacts, "Content-Type", "text/csv", "Accept", "multipart/mixed, application/json")
	_, params, err := mime.ParseMediaType(g.Header.Get("Content-Type"))
	if err != nil {
		t.Fatal(err)
	}
	parts := multipart.NewReader(strings.NewReader(g.Body), params["boundary"])
	first, err := parts.NextPart()
	if err != nil {
		t.Fatal(err)
	}
	var told api.ContactImport
	if err := json.NewDecoder(first).Decode(&told); err != nil || told.Rejected != 3 || len(told.Errors) != 3 {
		t.Errorf("%v %+v", err, told)
	}
	second, err := parts.NextPart()
	if err != nil {
		t.Fatal(err)
	}
	if text, err := io.ReadAll(second); err != nil || string(text) != file {
		t.Errorf("%v %q", err, text)
	}
	// Mended, it is sent as it is.
	mended := strings.NewReplacer(";unknown;", ";+15550002;", ";+15550003;x", ";+15550003;x;", ";+15550004;;", ";+15550004;y;").Replace(file)
	if got := webtest.Into[api.ContactImport](t, r.Do("POST", importPath, mended, "Content-Type", "text/csv"), 200); got.Queued != 3 {
		t.Errorf("%+v", got)
	}
}

// Scenario 429: what a dry run shows is masked without pii:read, and so are the names of columns in a file without a header.
func TestImportContacts_PreviewIsMasked(t *testing.T) {
	t.Parallel()
	clock := &webtest.Clock{Instant: webtest.Start()}
	tokens := webtest.NewBearers(t, clock.Now)
	r := webtest.New(t, func(o *web.Options) { o.Gate, o.Now = tokens.Gate, clock.Now })
	r.Channel("a", "texts")
	number, plain := webtest.PhoneCanary, webtest.PhoneCanary[1:]
	file := "to,message,key,label." + plain + ",note\n" + number + ",call " + number + ",k-" + plain + "," + plain + ",of " + number + "\n"
	with := r.Token("contacts:write", "pii:read")
	without := r.Token("contacts:write")
	for token, shown := range map[string]bool{with: true, without: false} {
		for _, query := range []string{"?dry_run=true&columns=*%3D", "?dry_run=true"} {
			g := r.Do("POST", importPath+query, file, "Content-Type", "text/csv", "Authorization", "Bearer "+token)
			if got := strings.Contains(g.Body, plain); got != shown || !strings.Contains(g.Body, `"header":"message"`) {
				t.Errorf("%s: %d %s", query, g.Status, g.Body)
			}
		}
		g := r.Do("POST", importPath+"?columns=%231%3Dto", number+"\n12\n", "Content-Type", "text/csv", "Authorization", "Bearer "+token)
		if got := strings.Contains(g.Body, plain); got != shown {
			t.Errorf("%d %s", g.Status, g.Body)
		}
	}
	if len(r.All()) != 0 {
		t.Error("a dry run queued something")
	}
}

// A dry run refuses the rows that the import refuses.
func TestImportContacts_DryRunSaysWhatTheImportDoes(t *testing.T) {
	t.Parallel()
	r := webtest.New(t)
	r.Channel("a", "texts", func(c *weir.Channel) { c.Capacity = 2 })
	run := 0
	rapid.Check(t, func(d *rapid.T) {
		cell := rapid.SampledFrom([]string{"", "+15550001", "+15550002", "12", "hello", "reply", "high", "2020-01-01T00:00:00Z", "2099-01-01T00:00:00Z", "k", "\"a\nb\"", "a,b"})
		run++
		// The channel knows no key of an earlier file, which only it could know.
		key := rapid.SampledFrom([]string{"", fmt.Sprint("k", run), fmt.Sprint("K", run), fmt.Sprint("+15550001", run), fmt.Sprintf("\"a\nb%d\"", run), fmt.Sprintf("\"a,b%d\"", run)})
		file := "to,message,message,priority,not_after,key,purpose,time_zone\n"
		for range rapid.IntRange(0, 30).Draw(d, "rows") {
			file += "+1555" + rapid.StringMatching(`[0-9]{1,4}`).Draw(d, "to") + ",x"
			for _, of := range []*rapid.Generator[string]{cell, cell, cell, key, cell, cell} {
				file += "," + of.Draw(d, "cell")
			}
			file += "\n"
		}
		query := fmt.Sprintf("?run=%d", run)
		said := webtest.Into[api.ContactImport](t, r.Do("POST", importPath+query+"&dry_run=true", file, "Content-Type", "text/csv"), 200)
		did := webtest.Into[api.ContactImport](t, r.Do("POST", importPath+query, file, "Content-Type", "text/csv"), 200)
		if !slices.Equal(said.Errors, did.Errors) || said.Rows != did.Rows || said.LastLine != did.LastLine {
			d.Fatalf("said %+v, did %+v\n%s", said, did, file)
		}
	})
}
