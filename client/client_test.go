package client_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"weir/client"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const token = "s3cret-token"

// to returns a client of a server that handles each try with the next handler;
// the last one is repeated. tries counts the tries.
func to(t *testing.T, answers ...http.HandlerFunc) (c *client.Client, tries *atomic.Int32) {
	t.Helper()
	tries = new(atomic.Int32)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n := int(tries.Add(1))
		if got := r.Header.Get("Authorization"); got != "Bearer "+token {
			t.Errorf("Authorization is %q", got)
		}
		answers[min(n, len(answers))-1](w, r)
	}))
	t.Cleanup(server.Close)
	return dial(t, server.URL), tries
}

func dial(t *testing.T, address string) *client.Client {
	t.Helper()
	c, err := client.New(client.Options{URL: address, Token: token, RetryDelay: time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

func says(status int, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

// hangsUp reads the request and closes the connection without a response.
func hangsUp(w http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body)
	panic(http.ErrAbortHandler)
}

const (
	unavailable = `{"title":"Service Unavailable","status":503,"detail":"the store is down","code":"store_unavailable"}`
	draining    = `{"title":"Service Unavailable","status":503,"detail":"ending","code":"draining"}`
	conflict    = `{"title":"Conflict","status":409,"detail":"a survey that is done cannot pause","code":"conflict"}`
	missing     = `{"title":"Not Found","status":404,"code":"not_found"}`
	fine        = `{"state":"running"}`
)

func TestClient_RetriesOnlyWhatMayBeRepeated(t *testing.T) {
	t.Parallel()
	get, post := client.Request{Method: http.MethodGet}, client.Request{Method: http.MethodPost, Body: 1}
	again := post
	again.Idempotent = true
	remove := client.Request{Method: http.MethodDelete}
	for _, c := range []struct {
		name    string
		request client.Request
		answers []http.HandlerFunc
		tries   int32
		status  int // of the error; -1: no response; 0: none
	}{
		{"success", get, []http.HandlerFunc{says(200, fine)}, 1, 0},
		{"GET, no response", get, []http.HandlerFunc{hangsUp, hangsUp, says(200, fine)}, 3, 0},
		{"GET, store down", get, []http.HandlerFunc{says(503, unavailable), says(200, fine)}, 2, 0},
		{"GET, a proxy without Weir", get, []http.HandlerFunc{says(502, "<html>"), says(200, fine)}, 2, 0},
		{"GET, down for good", get, []http.HandlerFunc{says(503, unavailable)}, 4, 503},
		{"GET, rejected", get, []http.HandlerFunc{says(409, conflict)}, 1, 409},
		{"POST, no response", post, []http.HandlerFunc{hangsUp, says(200, fine)}, 1, -1},
		{"POST, store down: in doubt", post, []http.HandlerFunc{says(503, unavailable), says(200, fine)}, 1, 503},
		{"POST, draining: not executed", post, []http.HandlerFunc{says(503, draining), says(200, fine)}, 2, 0},
		{"POST, too many: not executed", post, []http.HandlerFunc{says(429, ""), says(200, fine)}, 2, 0},
		{"idempotent POST, no response", again, []http.HandlerFunc{hangsUp, says(200, fine)}, 2, 0},
		{"DELETE, the first one did it", remove, []http.HandlerFunc{hangsUp, says(404, missing)}, 2, 0},
		{"DELETE, there is none", remove, []http.HandlerFunc{says(404, missing)}, 1, 404},
		{"DELETE, not executed, there is none", remove, []http.HandlerFunc{says(503, draining), says(404, missing)}, 2, 404},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			to, tries := to(t, c.answers...)
			c.request.Path = "/v1/x"
			err := to.Do(t.Context(), c.request, nil)
			status := client.StatusOf(err)
			if client.NoResponse(err) {
				status = -1
			}
			if tries.Load() != c.tries || status != c.status || (err == nil) != (c.status == 0) {
				t.Errorf("%d tries, want %d; %v (%d), want %d", tries.Load(), c.tries, err, status, c.status)
			}
		})
	}
}

func TestClient_ErrorNamesAnUnreachableServer(t *testing.T) {
	t.Parallel()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := l.Addr().String()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	err = dial(t, "http://"+addr).Do(t.Context(), client.Request{Method: http.MethodPost, Path: "/v1/x"}, nil)
	if !client.NoResponse(err) || !strings.Contains(err.Error(), "http://"+addr) {
		t.Errorf("got %v", err)
	}
}

func TestClient_RetryDelayEndsWithTheContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	to, tries := to(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "9")
		says(503, unavailable)(w, nil)
		cancel()
	})
	if err := to.Do(ctx, client.Request{Method: http.MethodGet, Path: "/"}, nil); err == nil || tries.Load() != 1 {
		t.Errorf("%d tries, %v", tries.Load(), err)
	}
}

// An error contains all details of the problem, and no secret.
func TestClient_ErrorHasAllDetailsAndNoSecret(t *testing.T) {
	t.Parallel()
	to, _ := to(t, says(422, `{"type":"about:blank","title":"Unprocessable","status":422,"code":"invalid","detail":"the request has mistakes",
		"more":[1,{"a":2}],"errors":[{"pointer":"/cutoff","code":"range","detail":"must be from 0 to 9"},{"pointer":"","code":"x","detail":"y"}]}`))
	err := to.Do(t.Context(), client.Request{Method: http.MethodGet, Path: "/"}, nil)
	e := (*client.Error)(nil)
	if !errors.As(err, &e) {
		t.Fatalf("got %v", err)
	}
	want := &client.Error{Status: 422, Code: "invalid", Detail: "the request has mistakes", Fields: []client.FieldError{
		{Pointer: "/cutoff", Code: "range", Detail: "must be from 0 to 9"}, {Code: "x", Detail: "y"},
	}}
	if diff := cmp.Diff(want, e); diff != "" {
		t.Error(diff)
	}
	text := "Weir answered 422 (invalid): the request has mistakes\n  /cutoff: must be from 0 to 9\n  (body): y"
	if diff := cmp.Diff(text, err.Error()); diff != "" {
		t.Error(diff)
	}
}

func TestClient_ResponsesOfOtherServersAreErrorsWithoutSecrets(t *testing.T) {
	t.Parallel()
	for _, answer := range []http.HandlerFunc{
		says(404, "<html>no such page, "+token+"</html>"), says(404, `{"error":"`+token+`"}`), says(404, ""), says(400, `[]`),
		func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://other.example/", http.StatusFound)
		},
		says(200, "<html>"+token), says(200, ""),
	} {
		to, _ := to(t, answer)
		var into struct{}
		err := to.Do(t.Context(), client.Request{Method: http.MethodGet, Path: "/"}, &into)
		if err == nil || !strings.Contains(err.Error(), "Weir") || strings.Contains(err.Error(), token) {
			t.Errorf("got %v", err)
		}
	}
}

func TestClient_InvalidOptionsAreRefusedWithoutSecrets(t *testing.T) {
	t.Parallel()
	for _, o := range []client.Options{
		{URL: "localhost:8080"}, {URL: "ftp://weir"}, {URL: "http://"}, {URL: "http://ann:hunter2@weir"}, {URL: "http://weir?token=hunter2"},
		{URL: "http://weir/\x00hunter2"}, {Token: "hunter2\n"}, {Token: "hunter2 b"},
	} {
		if _, err := client.New(o); err == nil || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%+v: got %v", o, err)
		}
	}
	c, err := client.New(client.Options{URL: "https://weir.example/prefix/"})
	if err != nil || c.URL() != "https://weir.example/prefix" {
		t.Errorf("got %v, %v", c, err)
	}
}

func TestClient_ReadsEveryPage(t *testing.T) {
	t.Parallel()
	to, tries := to(t, func(w http.ResponseWriter, r *http.Request) {
		q := r.URL.Query()
		switch {
		case r.URL.Path != "/v1/surveys" || q.Get("state") != "draft" || q.Get("limit") == "":
			t.Errorf("asked for %s", r.URL)
		case q.Get("cursor") == "":
			says(200, `{"surveys":[{"survey":"a"},{"survey":"b"}],"next_cursor":"x&y"}`)(w, r)
		case q.Get("cursor") == "x&y":
			says(200, `{"surveys":[],"next_cursor":"z"}`)(w, r)
		default:
			says(200, `{"surveys":[{"survey":"c"}]}`)(w, r)
		}
	})
	var got []string
	for s, err := range to.Surveys(t.Context(), client.ListSurveysParams{State: "draft"}) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, s.Survey)
	}
	if diff := cmp.Diff([]string{"a", "b", "c"}, got); diff != "" || tries.Load() != 3 {
		t.Errorf("%d requests\n%s", tries.Load(), diff)
	}
}

func TestClient_NamesAreEscaped(t *testing.T) {
	t.Parallel()
	to, _ := to(t, func(w http.ResponseWriter, r *http.Request) {
		says(200, fmt.Sprintf(`{"survey":%q}`, r.URL.EscapedPath()))(w, r)
	})
	if s, err := to.GetSurvey(t.Context(), "a/../b?c"); err != nil || s.Survey != "/v1/surveys/a%2F..%2Fb%3Fc" {
		t.Errorf("%v, %v", s, err)
	}
}
