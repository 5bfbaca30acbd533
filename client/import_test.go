package client_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"weir/api"
	"weir/client"
)

func TestImport_StreamsTheFile(t *testing.T) {
	t.Parallel()
	const rows = 1000
	to, tries := to(t, func(w http.ResponseWriter, r *http.Request) {
		n, err := io.Copy(io.Discard, r.Body)
		if err != nil || r.Method != http.MethodPost || r.Header.Get("Content-Type") != "text/csv" || r.URL.String() != "/v1/surveys/s/respondents?on_error=skip" {
			t.Errorf("%s %s of %s: %v", r.Method, r.URL, r.Header.Get("Content-Type"), err)
		}
		_, _ = fmt.Fprintf(w, `{"new":{"x":[1]},"errors":[`)
		for i := range rows {
			_, _ = fmt.Fprintf(w, `%s{"line":%d,"column":"phone","reason":"is none"}`, strings.Repeat(",", min(i, 1)), i+2)
		}
		_, _ = fmt.Fprintf(w, `],"added":%d,"duplicates":2,"rejected":20000}`, n)
	})
	body := strings.Repeat("+15550001,x\n", 100_000)
	sent := 0
	done, err := to.Import(t.Context(), client.Import{
		Survey: "s", Params: client.PostRespondentsParams{OnError: "skip"}, ContentType: "text/csv", Body: strings.NewReader(body), Size: int64(len(body)),
		Progress: func(part []byte) { sent += len(part) },
	})
	want := client.ImportView{Added: len(body), Duplicates: 2, ImportRejects: api.ImportRejects{Rejected: 20_000}}
	for i := range rows {
		want.Errors = append(want.Errors, client.RowError{Line: i + 2, Column: "phone", Reason: "is none"})
	}
	if diff := cmp.Diff(want, done); diff != "" || err != nil || sent != len(body) || tries.Load() != 1 {
		t.Errorf("%v; %d bytes, %d tries\n%s", err, sent, tries.Load(), diff)
	}
}

// A rejection arrives before the body, so that no body is sent for nothing.
func TestImport_IsRejectedBeforeTheBodyIsSent(t *testing.T) {
	t.Parallel()
	to, tries := to(t, says(401, `{"code":"unauthorised","detail":"no"}`))
	read := 0
	_, err := to.Import(t.Context(), client.Import{Survey: "s", Body: reader(func(p []byte) (int, error) {
		read++
		return copy(p, "x"), nil
	})})
	if client.StatusOf(err) != 401 || read != 0 || tries.Load() != 1 {
		t.Errorf("%v after %d reads, %d tries", err, read, tries.Load())
	}
}

type reader func([]byte) (int, error)

func (r reader) Read(p []byte) (int, error) { return r(p) }

func TestImport_FailuresAreReported(t *testing.T) {
	t.Parallel()
	drain := func(then http.HandlerFunc) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			then(w, r)
		}
	}
	broken := func(p []byte) (int, error) { return 0, errors.New("the disk is gone") }
	for _, c := range []struct {
		name   string
		answer http.HandlerFunc
		body   io.Reader
		done   client.ImportView
		err    string
	}{
		{"no response", drain(hangsUp), strings.NewReader("x"), client.ImportView{}, "no response from Weir"},
		{"store down", drain(says(503, unavailable)), strings.NewReader("x"), client.ImportView{}, "503 (store_unavailable)"},
		{"half a response", drain(says(200, `{"added":3,"errors":[{"line":2},`)), strings.NewReader("x"), client.ImportView{}, "incomplete"},
		{"another response", drain(says(200, `[]`)), strings.NewReader("x"), client.ImportView{}, "incomplete or unexpected response"},
		{"nothing was loaded", drain(says(422, `{"code":"invalid","detail":"bad rows","import":{"added":0,"rejected":2,"errors":[{"line":2},{"line":3}]}}`)),
			strings.NewReader("x"), client.ImportView{ImportRejects: api.ImportRejects{Rejected: 2}, Errors: []client.RowError{{Line: 2}, {Line: 3}}}, "422 (invalid): bad rows"},
		{"the file cannot be read", drain(says(200, `{}`)), reader(broken), client.ImportView{}, "read the file to import: the disk is gone"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			to, tries := to(t, c.answer)
			done, err := to.Import(t.Context(), client.Import{Survey: "s", Body: c.body})
			if err == nil || !strings.Contains(err.Error(), c.err) || !cmp.Equal(done, c.done) || tries.Load() > 1 {
				t.Errorf("%+v, %d tries: %v; want %+v, %q", done, tries.Load(), err, c.done, c.err)
			}
		})
	}
}

func TestOpen_FindsATruncatedFile(t *testing.T) {
	t.Parallel()
	const text = "a,b\n1,2\n"
	read := func(c *client.Client) (string, error) {
		body, err := c.Open(t.Context(), client.Request{Method: http.MethodGet, Path: "/x.csv"})
		if err != nil {
			return "", err
		}
		got, err := io.ReadAll(body)
		return string(got), errors.Join(err, body.Close())
	}
	whole, _ := to(t, says(200, text))
	if got, err := read(whole); err != nil || got != text {
		t.Errorf("got %q, %v", got, err)
	}
	half, _ := to(t, func(w http.ResponseWriter, r *http.Request) {
		says(200, text)(w, r)
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	})
	if _, err := read(half); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("half a file: %v", err)
	}
}
