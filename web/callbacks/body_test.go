package callbacks_test

import (
	"bytes"
	"compress/gzip"
	"net/http/httptest"
	"strings"
	"testing"

	"weir"
	"weir/web/webtest"
)

// A callback is read in every form in which gateways send it, and one that is none is refused.
func TestCallbacks_BodiesAreReadInEveryForm(t *testing.T) {
	t.Parallel()
	const form = "application/x-www-form-urlencoded"
	packed := func(text string) string {
		var b bytes.Buffer
		w := gzip.NewWriter(&b)
		_, _ = w.Write([]byte(text))
		_ = w.Close()
		return b.String()
	}
	for name, c := range map[string]struct {
		kind, query, body string
		status            int
	}{
		"form":            {form, "", "attempt=1-1-1&outcome=busy", 200},
		"raw percent":     {form, "", "attempt=1-1-1&outcome=busy&text=100%", 200},
		"raw semicolon":   {form, "", "attempt=1-1-1&text=a;b&outcome=busy", 200},
		"raw in the URL":  {form, "?text=100%&more=a;b", "attempt=1-1-1&outcome=busy", 200},
		"byte order mark": {form, "", "\ufeffattempt=1-1-1&outcome=busy", 200},
		"unlabeled":       {"", "", "attempt=1-1-1&outcome=busy", 200},
		"gzip":            {form, "", packed("attempt=1-1-1&outcome=busy"), 200},
		"multipart": {"multipart/form-data; boundary=x", "", "--x\r\nContent-Disposition: form-data; name=\"attempt\"\r\n\r\n1-1-1\r\n" +
			"--x\r\nContent-Disposition: form-data; name=\"outcome\"\r\n\r\nbusy\r\n--x--\r\n", 200},
		"gzip, too large":    {form, "", packed("attempt=1-1-1&outcome=busy&x=" + strings.Repeat("a", 1<<17)), 400},
		"multipart, cut off": {"multipart/form-data; boundary=x", "", "--x\r\nContent-Disposition: form-data; name=\"attempt\"\r\n\r\n1-1", 400},
		"JSON":               {"application/json", "", "{\"attempt\":\"1-1-1\"}", 400},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := webtest.New(t)
			ch := r.Channel("a", "texts")
			r.Contact(ch, weir.Progress{State: weir.Active, Attempt: 1})
			req := httptest.NewRequestWithContext(t.Context(), "POST", webtest.CallbackPath(ch, "form")+c.query, strings.NewReader(c.body))
			if c.kind != "" {
				req.Header.Set("Content-Type", c.kind)
			}
			g := r.Serve(req)
			if applied := len(r.Reports) == 1; g.Status != c.status || applied != (c.status == 200) {
				t.Errorf("%d %s; %v", g.Status, g.Body, r.Reports)
			}
		})
	}
}
