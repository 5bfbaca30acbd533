package dashboard_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/csv"
	"fmt"
	"html"
	"io"
	"mime/multipart"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// fileForm is a form with a file, as a browser sends it: pairs of name and value, in their order.
func fileForm(fields []string, name string, file io.Reader) (body io.Reader, kind string) {
	r, w := io.Pipe()
	form := multipart.NewWriter(w)
	go func() {
		for i := 0; i+1 < len(fields); i += 2 {
			_ = form.WriteField(fields[i], fields[i+1])
		}
		if file != nil {
			part, _ := form.CreateFormFile("file", name)
			if _, err := io.Copy(part, file); err != nil {
				w.CloseWithError(err)
				return
			}
		}
		_ = form.Close()
		_ = w.Close()
	}()
	return r, form.FormDataContentType()
}

// upload posts a form with a file.
func (b *browser) upload(path string, fields []string, file io.Reader) answer {
	b.t.Helper()
	body, kind := fileForm(fields, "people.csv", file)
	req := b.request("POST", path, url.Values{}, "Content-Type", kind)
	req.Body = io.NopCloser(body)
	req.ContentLength = -1
	w := httptest.NewRecorder()
	b.handler.ServeHTTP(w, req)
	return answer{b.t, w.Code, w.Result().Header, strings.ReplaceAll(w.Body.String(), "&#43;", "+")}
}

// again returns the fields of the preview's form, as a browser sends them. pairs replace some.
func again(page answer, pairs ...string) []string {
	fields := []string{"channel", "texts"}
	for _, name := range []string{"header", "name"} {
		fields = append(fields, name, hidden(page, name))
	}
	for _, s := range regexp.MustCompile(`(?s)<select id="column-\d+" name="column"[^>]*>(.*?)</select>`).FindAllStringSubmatch(page.body, -1) {
		value := ""
		if chosen := regexp.MustCompile(`value="([^"]*)" selected`).FindStringSubmatch(s[1]); chosen != nil {
			value = chosen[1]
		}
		fields = append(fields, "column", value)
	}
	for _, s := range regexp.MustCompile(`<input name="column_name" value="([^"]*)"`).FindAllStringSubmatch(page.body, -1) {
		fields = append(fields, "column_name", html.UnescapeString(s[1]))
	}
	return append(fields, pairs...)
}

// count returns a figure of the result.
func count(page answer, id string) string {
	found := regexp.MustCompile(`<dd id="` + id + `">([^<]*)<`).FindStringSubmatch(page.body)
	if found == nil {
		return "none"
	}
	return found[1]
}

func counts(page answer) string {
	return count(page, "accepted") + " " + count(page, "duplicates") + " " + count(page, "refused")
}

// refusedRows returns the file of refused rows that a result links to.
func refusedRows(t *testing.T, page answer) string {
	t.Helper()
	found := regexp.MustCompile(`href="data:text/csv;charset=utf-8;base64,([^"]*)"`).FindStringSubmatch(page.body)
	if found == nil {
		t.Fatalf("no file of refused rows:\n%s", page.body)
	}
	raw, err := base64.StdEncoding.DecodeString(strings.ReplaceAll(found[1], "&#43;", "+"))
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimPrefix(string(raw), "\ufeff")
}

const listOfPeople = "Phone;Name;Text;Ward\n+15550001;Ann;\"Come, please\nsoon\";7\n+15550002;Bob;hello;\n12;Cid;hello;8\n+15550004;Dan;;9\n+15550001;Ann;\"Come, please\nsoon\";7\n"

// Scenario 315: a file is sent in two steps, nobody twice, and the refused rows can be mended and sent.
func TestContactImport_FileIsPreviewedAndSentOnce(t *testing.T) {
	t.Parallel()
	r := newRig(t, "contacts:read contacts:write", "contacts:read contacts:write pii:read")
	r.channel("texts")
	r.login("contacts:read contacts:write").upload("/contacts/_import", []string{"channel", "texts"}, strings.NewReader(listOfPeople)).want(200).
		has("Preview: 5 of 5 rows", "***01", "Come, please").hasNot("15550001")
	b := r.login("contacts:read contacts:write pii:read")
	b.get("/contacts/_import?channel=texts").want(200).has(`enctype="multipart/form-data"`, "<option selected>texts</option>")
	page := b.upload("/contacts/_import", []string{"channel", "texts"}, strings.NewReader(listOfPeople)).want(200).
		has("Preview: 5 of 5 rows", "+15550001", "Come, please", `<option value="to" selected>`, `<option value="message" selected>`, `name="carried"`).hasNot(`name="file"`)
	if got := r.contactsOf("texts"); len(got) != 0 {
		t.Fatalf("the preview sent %d contacts", len(got))
	}
	fields := again(page, "text", "A default", "carried", hidden(page, "carried"))
	result := b.upload("/contacts/_import/send", fields, nil).want(200)
	if got := counts(result); got != "3 1 1" {
		t.Fatalf("accepted, duplicates, refused: %s\n%s", got, result.body)
	}
	refused := refusedRows(t, result)
	table := csv.NewReader(strings.NewReader(refused))
	table.Comma = ';'
	rows, err := table.ReadAll()
	if err != nil || len(rows) != 2 || strings.Join(rows[0], ",") != "weir_line,weir_column,weir_reason,Phone,Name,Text,Ward" || rows[1][0] != "5" || rows[1][1] != "Phone" || rows[1][3] != "12" {
		t.Fatalf("refused rows: %v %q", err, refused)
	}
	texts := map[string]string{}
	for _, c := range r.contactsOf("texts") {
		texts[c.To] = c.Messages[0]
	}
	if len(texts) != 3 || texts["+15550001"] != "Come, please\nsoon" || texts["+15550004"] != "A default" {
		t.Errorf("sent %v", texts)
	}

	// A placeholder would be sent as it is: nothing is sent.
	before := len(r.contactsOf("texts"))
	b.upload("/contacts/_import/send", again(page, "text", "Hello {{Name}}", "carried", hidden(page, "carried"), "run", "braces"), nil).want(422).has("nothing is put in for {{…}}")
	if after := len(r.contactsOf("texts")); after != before {
		t.Errorf("%d contacts were sent with a placeholder", after-before)
	}
	// Loading the page again sends the form again: nobody is contacted twice.
	if got := counts(b.upload("/contacts/_import/send", fields, nil).want(200)); got != "0 4 1" {
		t.Errorf("the second time: %s", got)
	}
	// The mended row alone, as the file of refused rows has it; its remarks are not sent.
	mended := strings.Replace(refused, ";12;", ";+15550003;", 1)
	page = b.upload("/contacts/_import", []string{"channel", "texts"}, strings.NewReader(mended)).want(200).has("+15550003")
	if got := counts(b.upload("/contacts/_import/send", again(page, "text", "A default", "carried", hidden(page, "carried")), nil).want(200)); got != "1 0 0" {
		t.Errorf("the mended row: %s", got)
	}
	// The whole mended file: the rows that were sent are known, however the lines have moved.
	whole := "Phone;Name;Text;Ward\n" + strings.Replace(strings.SplitN(listOfPeople, "\n", 2)[1], "12;", "+15550003;", 1)
	page = b.upload("/contacts/_import", []string{"channel", "texts"}, strings.NewReader(whole))
	if got := counts(b.upload("/contacts/_import/send", again(page, "text", "A default", "carried", hidden(page, "carried")), nil)); got != "0 5 0" {
		t.Errorf("the mended file: %s", got)
	}
	// Another run sends them again, on purpose.
	if got := counts(b.upload("/contacts/_import/send", again(page, "text", "A default", "run", "may", "carried", hidden(page, "carried")), nil)); got != "4 1 0" {
		t.Errorf("another run: %s", got)
	}
	if strings.Contains(r.logs.String(), "15550001") {
		t.Error("a number is in the log")
	}
}

func TestContactImport_MistakesAreReported(t *testing.T) {
	t.Parallel()
	r := newRig(t, "contacts:read contacts:write")
	r.channel("texts")
	b := r.login("contacts:read contacts:write")
	for _, path := range []string{"/contacts/_import", "/contacts/_import/send"} {
		b.upload(path, nil, nil).want(422).has("Choose a channel.", "hoose")
		b.upload(path, []string{"channel", "texts"}, strings.NewReader("")).want(422).has("The file is empty.")
		b.post(path, url.Values{"channel": {"texts"}}).want(400)
		b.upload(path, []string{"text", strings.Repeat("x", 70<<10)}, strings.NewReader(listOfPeople)).want(400)
		b.upload(path, []string{"channel", "texts"}, strings.NewReader("name,text\nAnn,hi\n")).want(422).has("No column has the phone number")
		b.upload(path, []string{"channel", "texts"}, strings.NewReader(strings.Repeat("a,", 101)+"b\n")).want(422).has("at most 100")
	}
	page := b.upload("/contacts/_import", []string{"channel", "texts"}, strings.NewReader("to,key,sms\n+15550001,one,a\n+15550002,one,b\n"))
	twice := strings.Replace(strings.Join(again(page), "\x00"), "column\x00key", "column\x00to", 1)
	b.upload("/contacts/_import/send", strings.Split(twice, "\x00"), strings.NewReader("to,key,sms\n")).want(422).has("2 columns have the same field")
	// Another file with the choices of this one.
	b.upload("/contacts/_import/send", again(page), strings.NewReader("sms,to,key\nhi,+15550001,k\n")).want(422).has("other columns than the one of the preview")
	b.upload("/contacts/_import/send", append(again(page), "x", "y"), nil).want(422).has("Choose a file")
	if got := r.contactsOf("texts"); len(got) != 0 {
		t.Errorf("sent %d contacts", len(got))
	}
	// A key of the file that is known with other content is refused, with the field.
	result := b.upload("/contacts/_import/send", again(page), strings.NewReader("to,key,sms\n+15550001,k-1,a\n+15550002,two,b\n+15550002,two,b\n")).want(200)
	if got := counts(result); got != "1 1 1" || !strings.Contains(refusedRows(t, result), "k-1") {
		t.Errorf("%s\n%s", got, refusedRows(t, result))
	}
	// Rows that cannot be read, and a channel that does not exist.
	result = b.upload("/contacts/_import/send", again(page), strings.NewReader("to,key,sms\n+15550005,five\n\n+15550006,\xff,x\n+15550007,,c\n")).want(200)
	if got := counts(result); got != "1 0 2" {
		t.Errorf("%s", got)
	}
	b.upload("/contacts/_import/send", append(again(page)[2:], "channel", "none"), strings.NewReader("to,key,sms\n+15550001,z,a\n")).want(404).has("there is no channel none", "0 contacts are queued")
}

// An upload that breaks off, and a session that ends meanwhile, leave what was sent, and the page
// says so; the same file again continues.
func TestContactImport_ContinuesAfterAnInterruption(t *testing.T) {
	t.Parallel()
	r := newRig(t, "contacts:read contacts:write")
	r.channel("texts")
	b := r.login("contacts:read contacts:write")
	head := "phone,text\n"
	page := b.upload("/contacts/_import", []string{"channel", "texts"}, strings.NewReader(head+"+15550001,x\n"))
	fields := again(page)
	row := func(i int) string { return fmt.Sprintf("+1555%07d,hello\n", i) }
	var file strings.Builder
	file.WriteString(head)
	for i := range 3500 {
		file.WriteString(row(i))
	}
	text := file.String()
	broken := io.MultiReader(strings.NewReader(text[:len(head)+2500*len(row(0))]), failing{})
	stopped := b.upload("/contacts/_import/send", fields, broken).has("Not all of people.csv was sent", "did not arrive whole", "Send the same file again")
	if stopped.status != 400 {
		t.Errorf("status %d", stopped.status)
	}
	before := count(stopped, "accepted")
	if before != "2,500" {
		t.Errorf("%s were accepted", before)
	}
	// The session ends while the file arrives: whoever has it logs out in another window.
	other := r.login("contacts:read contacts:write")
	cut := len(head) + 1500*len(row(0))
	leaving := io.MultiReader(strings.NewReader(text[:cut]), &once{do: func() { other.post("/logout", nil) }}, strings.NewReader(text[cut:]))
	ended := other.upload("/contacts/_import/send", append(fields, "run", "second"), leaving).want(401).has("the session has ended", "Send the same file again")
	if got := counts(ended); got != "1,000 0 0" {
		t.Errorf("accepted, duplicates, refused: %s", got)
	}
	admin := r.login("admin")
	if got := counts(admin.upload("/contacts/_import/send", fields, strings.NewReader(text)).want(200)); got != "1,000 2,500 0" {
		t.Errorf("the whole file afterwards: %s", got)
	}
}

// A request that is canceled while its file arrives sends nothing more.
func TestContactImport_StopsWithItsRequest(t *testing.T) {
	t.Parallel()
	r := newRig(t, "contacts:write")
	r.channel("texts")
	b := r.login("contacts:write")
	fields := again(b.upload("/contacts/_import", []string{"channel", "texts"}, strings.NewReader("phone,text\n+15550001,x\n")))
	ctx, cancel := context.WithCancel(t.Context())
	body, kind := fileForm(fields, "people.csv", io.MultiReader(&generated{rows: 5000}, &once{do: cancel}, &generated{rows: 20_000}))
	req := b.request("POST", "/contacts/_import/send", url.Values{}, "Content-Type", kind).WithContext(ctx)
	req.Body = io.NopCloser(body)
	w := httptest.NewRecorder()
	b.handler.ServeHTTP(w, req)
	page := answer{t, w.Code, w.Header(), w.Body.String()}.want(503).has("Not all of people.csv was sent")
	if n, err := strconv.Atoi(strings.ReplaceAll(count(page, "accepted"), ",", "")); err != nil || n < 2000 || n > 5000 {
		t.Errorf("%d contacts were accepted: %v", n, err)
	}
}

// failing breaks off.
type failing struct{}

func (failing) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

// once does something when it is reached.
type once struct{ do func() }

func (o *once) Read([]byte) (int, error) {
	o.do()
	return 0, io.EOF
}

// A file of 100,000 rows is sent as it arrives; it is larger than what travels in the form, and so it
// is chosen again.
func TestContactImport_LargeFilesAreStreamed(t *testing.T) {
	t.Parallel()
	r := newRig(t, "contacts:write")
	r.channel("texts")
	b := r.login("contacts:write")
	const rows = 20_000
	file := func() io.Reader { return &generated{rows: rows} }
	page := b.upload("/contacts/_import", []string{"channel", "texts"}, file()).want(200).has("Preview: the first rows", `name="file"`, "people.csv again").hasNot(`name="carried"`)
	result := b.upload("/contacts/_import/send", again(page), file()).want(200)
	if got := counts(result); got != "19,980 0 20" {
		t.Errorf("accepted, duplicates, refused: %s", got)
	}
}

// The file of refused rows that a page links to is bounded, and each of its rows is whole.
func TestContactImport_RefusedRowsOfAPageAreWhole(t *testing.T) {
	t.Parallel()
	r := newRig(t, "contacts:write")
	r.channel("texts")
	b := r.login("contacts:write")
	const rows = 25_000
	var file strings.Builder
	file.WriteString("phone,text\n")
	for i := range rows {
		fmt.Fprintf(&file, "%d,\"a \"\"text\"\"\n%s\n1,\"\n", i%10, strings.Repeat("of several lines ", 10))
	}
	page := b.upload("/contacts/_import", []string{"channel", "texts"}, strings.NewReader(file.String())).want(200)
	result := b.upload("/contacts/_import/send", again(page), strings.NewReader(file.String())).want(200).has("Mend the rows in it", "Or mend and send the whole file")
	if got := counts(result); got != "0 0 25,000" {
		t.Errorf("accepted, duplicates, refused: %s", got)
	}
	list, err := csv.NewReader(strings.NewReader(refusedRows(t, result))).ReadAll()
	if err != nil || len(list) < rows/2 || len(list) >= rows {
		t.Fatalf("%d rows: %v", len(list), err)
	}
	if last := list[len(list)-1]; !strings.HasSuffix(last[4], "\n1,") {
		t.Errorf("the last row is %q", last)
	}
	result.has("the first " + fmt.Sprintf("%d,%03d", (len(list)-1)/1000, (len(list)-1)%1000) + " refused rows")
}

// generated is a file of many rows, of which one in a thousand is wrong.
type generated struct {
	rows, at int
	rest     bytes.Buffer
}

func (g *generated) Read(p []byte) (int, error) {
	if g.rest.Len() == 0 {
		switch {
		case g.at > g.rows:
			return 0, io.EOF
		case g.at == 0:
			g.rest.WriteString("phone,text\n")
		case g.at%1000 == 7:
			g.rest.WriteString("7,a text that is as long as others are in such files\n")
		default:
			fmt.Fprintf(&g.rest, "+1555%07d,a text that is as long as others are in such files\n", g.at)
		}
		g.at++
	}
	return g.rest.Read(p)
}
