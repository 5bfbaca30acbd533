package web_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"weir/surveys"
	"weir/web"
	surveyapi "weir/web/surveys"
	"weir/web/webtest"
)

// behind runs a test against the server with its timeouts, in virtual time.
func behind(t *testing.T, f func(t *testing.T, r *webtest.Rig, dial func() net.Conn), change ...func(*web.Options)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		r := webtest.New(t, change...)
		r.Put("s1", "")
		l := newPipes()
		server := webtest.NewServer(r.Handler)
		done := make(chan error)
		go func() { done <- server.Serve(l) }()
		f(t, r, l.dial)
		if err := server.Close(); err != nil {
			t.Error(err)
		}
		if err := <-done; !errors.Is(err, http.ErrServerClosed) {
			t.Error(err)
		}
	})
}

func say(t *testing.T, c io.Writer, format string, args ...any) {
	t.Helper()
	if _, err := fmt.Fprintf(c, format, args...); err != nil {
		t.Error(err)
	}
}

func chunk(s string) string { return fmt.Sprintf("%x\r\n%s\r\n", len(s), s) }

func importHead(query string) string {
	return "POST " + webtest.ImportPath + query + " HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer " + webtest.APICanary + "\r\nContent-Type: text/csv\r\nTransfer-Encoding: chunked\r\n\r\n"
}

// answerOf reads one response.
func answerOf(t *testing.T, c net.Conn) (int, string) {
	t.Helper()
	res, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := io.ReadAll(res.Body)
	if err != nil {
		t.Error(err)
	}
	_ = res.Body.Close()
	return res.StatusCode, string(raw)
}

// TestSurveyImport_MayTakeLongWhileRowsArrive: rows that keep arriving may take longer than any timeout of
// the server; when they stop arriving, the import ends.
func TestSurveyImport_MayTakeLongWhileRowsArrive(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{"none", "skip"} {
		for _, stalls := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s stalls %v", mode, stalls), func(t *testing.T) {
				t.Parallel()
				behind(t, func(t *testing.T, r *webtest.Rig, dial func() net.Conn) {
					c := dial()
					defer func() { _ = c.Close() }()
					say(t, c, "%s%s", importHead("?on_error="+mode), chunk("phone\n"))
					for i := range 10 {
						time.Sleep(20 * time.Second)
						say(t, c, "%s", chunk(webtest.PhoneNumber(i)+"\n"))
					}
					synctest.Wait()
					if n := r.Stored(); n < 9 {
						t.Errorf("%d rows are stored while others are waited for", n)
					}
					if !stalls {
						say(t, c, "0\r\n\r\n")
						if status, body := answerOf(t, c); status != 200 || !strings.Contains(body, `"added":10,`) || r.Stored() != 10 {
							t.Errorf("%d %s", status, body)
						}
						return
					}
					begin := time.Now()
					status, body := answerOf(t, c)
					if took := time.Since(begin); took < 20*time.Second || took > 90*time.Second || status != 400 || !strings.Contains(body, "no row came for 30s") {
						t.Errorf("%d after %v: %s", status, took, body)
					}
					want := 0
					if mode == "skip" {
						want = 10
					}
					if n := len(r.RespondentsOf("s1")); n != want || !strings.Contains(body, fmt.Sprintf(`"added":%d,`, want)) {
						t.Errorf("%d stay: %s", n, body)
					}
				})
			})
		}
	}
}

// TestSurveyImport_MayWaitForTheStore: the connection's deadlines do not end a request
// that waits for the store.
func TestSurveyImport_MayWaitForTheStore(t *testing.T) {
	t.Parallel()
	slow := func(o *web.Options) {
		slow := slowly{o.SurveyStore, o.Importer}
		o.SurveyStore, o.Importer = slow, slow
	}
	behind(t, func(t *testing.T, r *webtest.Rig, dial func() net.Conn) {
		c := dial()
		defer func() { _ = c.Close() }()
		say(t, c, "%s%s0\r\n\r\n", importHead(""), chunk("phone\n"+webtest.PhoneNumber(1)+"\n"))
		if status, body := answerOf(t, c); status != 200 || r.Stored() != 1 {
			t.Errorf("%d %s", status, body)
		}
	}, slow)
}

// slowly is a store that takes long to commit an import.
type slowly struct {
	surveyapi.Store
	surveys.Importer
}

func (s slowly) CommitImport(ctx context.Context, survey, imp int64) error {
	select {
	case <-time.After(5 * time.Minute):
	case <-ctx.Done():
		return ctx.Err()
	}
	return s.Importer.CommitImport(ctx, survey, imp)
}

func (s slowly) Respondents(ctx context.Context, f surveys.Filter) ([]surveys.Respondent, surveys.RespondentID, error) {
	select {
	case <-time.After(10 * time.Second):
	case <-ctx.Done():
		return nil, 0, ctx.Err()
	}
	return s.Store.Respondents(ctx, f)
}

func TestSurveyImport_OfAClientThatIsGoneEnds(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{"none", "skip"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			behind(t, func(t *testing.T, r *webtest.Rig, dial func() net.Conn) {
				c := dial()
				say(t, c, "%s%s", importHead("?on_error="+mode), chunk("phone\n"+webtest.PhoneNumber(1)+"\n"+webtest.PhoneNumber(2)+"\n+5255"))
				synctest.Wait()
				_ = c.Close()
				synctest.Wait()
				want := 0
				if mode == "skip" {
					want = 2
				}
				if n := len(r.RespondentsOf("s1")); n != want || (mode == "none") != (r.Aborted == 1) {
					t.Errorf("%d stay, aborted %d", n, r.Aborted)
				}
			})
		})
	}
}

func downloadHead() string {
	return "GET /v1/surveys/s1/results.csv HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer " + webtest.APICanary + "\r\nConnection: close\r\n\r\n"
}

// TestSurveyDownload_ContinuesWhileTheClientReads: a download continues while the client keeps reading, even
// if the store takes longer than the server's timeouts; a client that reads
// nothing is disconnected.
func TestSurveyDownload_ContinuesWhileTheClientReads(t *testing.T) {
	t.Parallel()
	for _, stalls := range []bool{false, true} {
		t.Run(fmt.Sprint("stalls ", stalls), func(t *testing.T) {
			t.Parallel()
			behind(t, func(t *testing.T, r *webtest.Rig, dial func() net.Conn) {
				r.Crowd("s1", 3000, nil)
				c := dial()
				defer func() { _ = c.Close() }()
				say(t, c, "%s", downloadHead())
				wait := time.Second
				if stalls {
					time.Sleep(10 * time.Minute)
					wait = 0
				}
				var raw []byte
				res, err := http.ReadResponse(bufio.NewReader(lazy{c, func() { time.Sleep(wait) }}), nil)
				if err == nil {
					raw, err = io.ReadAll(res.Body)
					_ = res.Body.Close()
				}
				if (err == nil) == stalls || !stalls && strings.Count(string(raw), "\nr") != 3000 {
					t.Errorf("%v, %d bytes", err, len(raw))
				}
			}, func(o *web.Options) {
				slow := slowly{o.SurveyStore, o.Importer}
				o.SurveyStore, o.Importer = slow, slow
			})
		})
	}
}

// lazy is a client that pauses before it reads more.
type lazy struct {
	io.Reader
	wait func()
}

func (l lazy) Read(p []byte) (int, error) {
	l.wait()
	return l.Reader.Read(p)
}

// TestSurveyImport_ConcurrentTransfersAreBounded: the number of concurrent transfers is limited, so that memory
// stays bounded; further ones wait a while and then get a Retry-After.
func TestSurveyImport_ConcurrentTransfersAreBounded(t *testing.T) {
	t.Parallel()
	behind(t, func(t *testing.T, r *webtest.Rig, dial func() net.Conn) {
		var conns []net.Conn
		for i := range 8 {
			c := dial()
			conns = append(conns, c)
			head := importHead("")
			if i%2 == 1 { // one token may take half of the seats
				head = strings.ReplaceAll(head, webtest.APICanary, otherCanary)
			}
			say(t, c, "%s%s", head, chunk("phone\n"))
		}
		synctest.Wait()
		c := dial()
		say(t, c, "%s", downloadHead())
		status, body := answerOf(t, c)
		if status != 503 || !strings.Contains(body, "too many") {
			t.Errorf("%d %s", status, body)
		}
		_ = c.Close()
		for _, c := range conns {
			say(t, c, "0\r\n\r\n")
			if status, _ := answerOf(t, c); status != 200 {
				t.Errorf("%d", status)
			}
			_ = c.Close()
		}
	}, twoTokens)
}
