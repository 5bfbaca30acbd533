package surveys_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"weir"
	"weir/surveys"
	"weir/web"
	surveyapi "weir/web/surveys"
	"weir/web/webtest"
)

// rows is a file of n rows, generated while it is read; it fails after breaks
// rows.
type rows struct {
	n, breaks int
	next      int
	bad       func(int) bool
	wide      string // value of the other columns
	buf       bytes.Buffer
}

func (f *rows) Read(p []byte) (int, error) {
	for f.buf.Len() < len(p) && f.next <= f.n {
		switch {
		case f.next == 0:
			f.buf.WriteString("phone,first_name,city,a,b,c,d,e,f,g,h,i,j,k,l,m,n,o,p,q,r,s,t\n")
		case f.breaks > 0 && f.next > f.breaks:
			if f.buf.Len() == 0 {
				return 0, io.ErrUnexpectedEOF
			}
			return f.buf.Read(p)
		case f.bad != nil && f.bad(f.next):
			f.buf.WriteString("nobody,x,y,,,,,,,,,,,,,,,,,,,,\n")
		default:
			fmt.Fprintf(&f.buf, "%s,Person %d,City of many words %d%s\n", webtest.PhoneNumber(f.next), f.next, f.next%100, strings.Repeat(","+f.wide, 20))
		}
		f.next++
	}
	return f.buf.Read(p)
}

// counting is a store that only counts added rows, and watches memory use.
type counting struct {
	*webtest.Store
	calls, rows int
	most        uint64
}

func (c *counting) Add(_ context.Context, _, _ int64, list []surveys.Respondent) ([]surveys.Added, error) {
	if c.calls++; c.calls%4 == 0 {
		c.most = max(c.most, inUse())
	}
	c.rows += len(list)
	return make([]surveys.Added, len(list)), nil
}

// counted is a response that keeps only its beginning; it counts the
// objects.
type counted struct {
	httptest.ResponseRecorder
	head                   bytes.Buffer
	writes, objects, lines int
	most                   uint64
}

func (c *counted) Write(p []byte) (int, error) {
	if c.writes++; c.writes%500 == 0 {
		c.most = max(c.most, inUse())
	}
	c.objects += bytes.Count(p, []byte("{"))
	c.lines += bytes.Count(p, []byte("\n"))
	if c.head.Len() < 100 {
		c.head.Write(p[:min(100, len(p))])
	}
	return len(p), nil
}

// inUse returns the memory in use after garbage collection.
func inUse() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// TestSurveyImport_FilesOfAnyLengthTakeBoundedMemory: neither 20 MB of rows nor 58,800
// bad rows are held in memory. It is not parallel: it measures the
// memory of the process.
func TestSurveyImport_FilesOfAnyLengthTakeBoundedMemory(t *testing.T) {
	const bound = 4 << 20
	for _, tc := range []struct {
		mode    string
		n, good int
		bad     func(int) bool
	}{
		{"none", 2_000, 2_000, nil},
		{"skip", 60_000, 1_200, func(i int) bool { return i%50 != 0 }},
	} {
		store := &counting{}
		r := webtest.New(t, func(o *web.Options) {
			store.Store, o.Logger = o.SurveyStore.(*webtest.Store), slog.New(slog.DiscardHandler)
			o.SurveyStore, o.Importer = store, store
		})
		r.Put("s1", "")
		before := inUse()
		req := httptest.NewRequestWithContext(t.Context(), "POST", webtest.ImportPath+"?on_error="+tc.mode, &rows{n: tc.n, bad: tc.bad, wide: strings.Repeat("x", 500)})
		req.Header.Set("Content-Type", "text/csv")
		req.Header.Set("Authorization", "Bearer "+webtest.APICanary)
		var answer counted
		r.Handler.ServeHTTP(&answer, req)
		want := fmt.Sprintf(`{"rows":%d,"added":%d,"duplicates":0,"rejected":%d,"errors":[`, tc.n, tc.good, tc.n-tc.good)
		if !strings.HasPrefix(answer.head.String(), want) || store.rows != tc.good || answer.objects != 1+min(1000, tc.n-tc.good) {
			t.Errorf("%s: %s, %d stored, %d objects", tc.mode, answer.head.String(), store.rows, answer.objects)
		}
		if grown := int64(max(store.most, answer.most)) - int64(before); store.calls < 4 || grown > bound {
			t.Errorf("%s: %d MB more in use, %d calls", tc.mode, grown>>20, store.calls)
		}
	}
}

// However many rows of a file are bad, the response lists the first 1,000 and has the
// number of all.
func TestSurveyImport_ResponseToAnImportIsBounded(t *testing.T) {
	t.Parallel()
	const bad = 20_000
	for kind, file := range map[string]string{
		"text/csv": "phone\n" + strings.Repeat("x\n", bad), "application/x-ndjson": "{}\n" + strings.Repeat("x\n", bad-1),
	} {
		for mode, status := range map[string]int{"skip": 200, "none": 422} {
			r := webtest.New(t)
			r.Put("s1", "")
			req := httptest.NewRequestWithContext(t.Context(), "POST", "/v1/surveys/s1/respondents?on_error="+mode, strings.NewReader(file))
			req.Header.Set("Content-Type", kind)
			req.Header.Set("Authorization", "Bearer "+webtest.APICanary)
			g := r.Serve(req)
			v := importOf(t, g)
			if g.Status != status || len(v.Errors) != 1000 || v.Rejected != bad || len(g.Body) > 200_000 {
				t.Errorf("%s, %s: %d with %d bytes, %d of %d errors", kind, mode, g.Status, len(g.Body), len(v.Errors), v.Rejected)
			}
		}
	}
	r := webtest.New(t)
	r.Put("s1", "")
	list := strings.Repeat(`,{"phone":"x","attributes":{"First":"","Second":"","Third":"","Fourth":""}}`, 1000)[1:]
	g := r.Do("POST", "/v1/surveys/s1/respondents", `{"respondents":[`+list+`]}`)
	if g.Status != 422 || len(g.Body) > 50_000 || !strings.Contains(g.Body, "(at least 5000 mistakes; the first 100 are listed)") {
		t.Errorf("JSON: %d with %d bytes: %.300s", g.Status, len(g.Body), g.Body)
	}
}

// TestSurveyImport_ThatBreaksOffReportsWhatWasAdded: because of a store failure, a body that is truncated
// or too large, a survey that ends, or a shutdown.
func TestSurveyImport_ThatBreaksOffReportsWhatWasAdded(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name   string
		prep   func(*webtest.Rig)
		option func(*web.Options)
		body   rows
		status int
		stay   int // with on_error=skip
	}{
		{name: "the body ends", body: rows{n: 5000, breaks: 2500}, status: 400, stay: 2500},
		{name: "too large", option: func(o *web.Options) { o.MaxImport = 100_000 }, body: rows{n: 5000}, status: 413, stay: 1300},
		{name: "the store", prep: func(r *webtest.Rig) {
			r.Adding = func(context.Context, int) error {
				if r.Stored() >= 2000 {
					return webtest.ErrDown
				}
				return nil
			}
		}, body: rows{n: 5000}, status: 503, stay: 2000},
		{name: "the survey ends", prep: func(r *webtest.Rig) {
			r.Adding = func(context.Context, int) error {
				if r.Stored() >= 1000 && r.SurveyNow("s1").State != surveys.Stopping {
					r.Stands("s1", surveys.Stopping)
				}
				return nil
			}
		}, body: rows{n: 5000}, status: 409, stay: 1000}, // the store takes none once it is stopping
	} {
		for _, mode := range []string{"none", "skip"} {
			t.Run(tc.name+" "+mode, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) { // on a busy machine, batches end after ten seconds
					r := webtest.New(t, func(o *web.Options) {
						if tc.option != nil {
							tc.option(o)
						}
					})
					r.Put("s1", "")
					if tc.prep != nil {
						tc.prep(r)
					}
					body := tc.body
					req := httptest.NewRequestWithContext(t.Context(), "POST", webtest.ImportPath+"?on_error="+mode, &body)
					req.Header.Set("Content-Type", "text/csv")
					req.Header.Set("Authorization", "Bearer "+webtest.APICanary)
					g := r.Serve(req)
					r.Holds(req, g)
					v := importOf(t, g)
					if g.Status != tc.status || v == nil {
						t.Fatalf("%d %s", g.Status, g.Body)
					}
					stay := len(r.RespondentsOf("s1"))
					if mode == "none" && (stay != 0 || v.Added != 0 || v.LastLine != 0 || r.Aborted != 1) {
						t.Errorf("%d stay, %+v", stay, v)
					}
					if mode == "skip" && (stay < tc.stay || stay > tc.stay+600 || v.Added != stay || v.LastLine != stay+1 || len(r.People.Changes) != 2) {
						t.Errorf("%d stay, %+v", stay, v)
					}
				})
			})
		}
	}
}

// TestSurveyImport_IsCompleteOnceTheLastRowWasSent: a file that was sent completely is
// loaded completely.
func TestSurveyImport_IsCompleteOnceTheLastRowWasSent(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{"none", "skip"} {
		r := webtest.New(t)
		r.Put("s1", "")
		ctx, leave := context.WithCancel(t.Context())
		r.Adding = func(ctx context.Context, _ int) error {
			leave()
			return ctx.Err()
		}
		req := httptest.NewRequestWithContext(ctx, "POST", webtest.ImportPath+"?on_error="+mode, &rows{n: 1500})
		req.Header.Set("Content-Type", "text/csv")
		req.Header.Set("Authorization", "Bearer "+webtest.APICanary)
		if g := r.Serve(req); g.Status != 200 || len(r.RespondentsOf("s1")) != 1500 {
			t.Errorf("%s: %d, %d stay", mode, g.Status, len(r.RespondentsOf("s1")))
		}
	}
}

func TestSurveyImport_FileThatIsAnnouncedAsTooLargeIsRefusedAtOnce(t *testing.T) {
	t.Parallel()
	r := webtest.New(t, func(o *web.Options) { o.MaxImport = 100 })
	r.Put("s1", "")
	g := r.Load("?on_error=skip", "text/csv", "phone\n"+strings.Repeat(webtest.PhoneNumber(1)+"\n", 10))
	if g.Status != 413 || len(r.RespondentsOf("s1")) != 0 || importOf(t, g) != nil {
		t.Errorf("%d %s", g.Status, g.Body)
	}
}

func TestSurveyImport_TransfersEndWhenTheProcessDoes(t *testing.T) {
	t.Parallel()
	draining := false
	r := webtest.New(t, func(o *web.Options) { o.Ending = func() bool { return draining } })
	r.Put("s1", "")
	draining = true
	if g := r.Load("", "text/csv", "phone\n"+webtest.PhoneNumber(0)+"\n"); g.Status != 503 || g.Problem(t).Code != weir.CodeDraining || r.Aborted != 1 {
		t.Errorf("%d %s", g.Status, g.Body)
	}
	for _, file := range []string{"results.csv", "log.csv", "dispositions.csv", "incentives.csv"} {
		if g := r.Do("GET", "/v1/surveys/s1/"+file, ""); g.Status != 503 {
			t.Errorf("%s: %d", file, g.Status)
		}
	}
}

// breaking is a store that cannot read the second page of the second pass of a download.
type breaking struct {
	surveyapi.Store
	pages *atomic.Int32
}

func (s breaking) Respondents(ctx context.Context, f surveys.Filter) ([]surveys.Respondent, surveys.RespondentID, error) {
	if s.pages.Add(1) == 5 {
		return nil, 0, webtest.ErrDown
	}
	return s.Store.Respondents(ctx, f)
}

// TestSurveyDownload_ThatBreaksOffDoesNotLookComplete: a truncated file must not look complete.
func TestSurveyDownload_ThatBreaksOffDoesNotLookComplete(t *testing.T) {
	t.Parallel()
	var pages atomic.Int32
	r := webtest.New(t, func(o *web.Options) { o.SurveyStore = breaking{o.SurveyStore, &pages} })
	r.Put("s1", "")
	r.Crowd("s1", 3000, nil)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		pages.Store(0)
		r.Handler.ServeHTTP(w, req)
	}))
	defer server.Close()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	req, err := http.NewRequestWithContext(t.Context(), "GET", server.URL+"/v1/surveys/s1/results.csv", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+webtest.APICanary)
	res, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := io.ReadAll(res.Body)
	_ = res.Body.Close()
	if err == nil || res.StatusCode != 200 || len(raw) == 0 || errors.Is(err, io.EOF) {
		t.Errorf("%d: %d bytes and %v", res.StatusCode, len(raw), err)
	}
	if !strings.Contains(r.Logs.String(), "download aborted") {
		t.Error(r.Logs)
	}
}

// FuzzImport: any file, in any encoding, gets a documented response with
// consistent counts.
func FuzzImport(f *testing.F) {
	f.Add([]byte("phone,a\n+525500000000,x\n"), "", true, true)
	f.Add([]byte(`{"phone":"+525500000000","a":1}`+"\n{}\n"), "utf-8", false, false)
	f.Add([]byte(utf16File("phone\n+525500000000\n")), "utf-16le", true, true)
	f.Add([]byte("phone;a\n\"+525500000000;\xE9\n"), "windows-1252", true, false)
	r := webtest.New(f)
	f.Fuzz(func(t *testing.T, body []byte, encoding string, csv, skip bool) {
		r.T = t
		if s, err := r.Store.Survey(t.Context(), "s1"); err == nil {
			if err := r.RemoveSurvey(t.Context(), s.ID); err != nil {
				t.Fatal(err)
			}
		}
		r.Put("s1", "")
		contentType, query := "application/x-ndjson", "?on_error=none&encoding="
		if csv {
			contentType = "text/csv"
		}
		if skip {
			query = "?on_error=skip&encoding="
		}
		switch encoding {
		case "utf-8", "utf-16le", "utf-16be", "windows-1252":
			query += encoding
		default:
			query = strings.TrimSuffix(query, "&encoding=")
		}
		req := httptest.NewRequestWithContext(t.Context(), "POST", webtest.ImportPath+query, bytes.NewReader(body))
		req.Header.Set("Content-Type", contentType)
		req.Header.Set("Authorization", "Bearer "+webtest.APICanary)
		g := r.Serve(req)
		r.Holds(req, g)
		v := importOf(t, g)
		switch {
		case g.Status == 422 && (v == nil || v.Rejected > 0) && len(r.RespondentsOf("s1")) == 0:
		case g.Status == 200 && v.Added == len(r.RespondentsOf("s1")) && v.Rejected == len(v.Errors) && (skip || v.Rejected == 0):
		default:
			t.Errorf("%d %s with %d respondents", g.Status, g.Body, len(r.RespondentsOf("s1")))
		}
	})
}
