package router_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"strings"
	"testing"
	"time"

	"weir/web/router"
)

// flawOf returns the code of a signature error.
func flawOf(a answered) string {
	a.t.Helper()
	a.failed(401, "Unauthorized")
	if a.header.Get("WWW-Authenticate") != "HMAC-SHA256" {
		a.t.Errorf("WWW-Authenticate is %q", a.header.Get("WWW-Authenticate"))
	}
	e, _ := a.body["error"].(map[string]any)
	in, _ := e["innererror"].(map[string]any)
	s, _ := in["code"].(string)
	return s
}

func replace(header, from, to string) func(*http.Request) {
	return func(q *http.Request) {
		q.Header.Set(header, strings.Replace(q.Header.Get(header), from, to, 1))
	}
}

func without(header string) func(*http.Request) {
	return func(q *http.Request) { q.Header.Del(header) }
}

func twice(header string) func(*http.Request) {
	return func(q *http.Request) { q.Header.Add(header, q.Header.Get(header)) }
}

// Every signature error, one by one, on a request that would change something.
func TestSignature_EveryErrorIsRefused(t *testing.T) {
	t.Parallel()
	const auth, date, hash = "Authorization", "X-Ms-Date", "X-Ms-Content-Sha256"
	for name, c := range map[string]struct {
		spoil func(*http.Request)
		want  string
	}{
		"no authorization":    {without(auth), "MissingAuthorization"},
		"two authorizations":  {twice(auth), "MissingAuthorization"},
		"bearer token":        {func(q *http.Request) { q.Header.Set(auth, "Bearer abc") }, "UnknownScheme"},
		"empty authorization": {func(q *http.Request) { q.Header.Set(auth, "") }, "UnknownScheme"},
		"scheme alone":        {func(q *http.Request) { q.Header.Set(auth, "HMAC-SHA256") }, "InvalidAuthorization"},
		"no signature": {func(q *http.Request) {
			q.Header.Set(auth, "HMAC-SHA256 SignedHeaders=x-ms-date;host;x-ms-content-sha256")
		}, "InvalidAuthorization"},
		"more than it takes":      {func(q *http.Request) { q.Header.Set(auth, q.Header.Get(auth)+"&Credential=x") }, "InvalidAuthorization"},
		"fewer signed headers":    {replace(auth, "x-ms-date;host;", "host;"), "InvalidSignedHeaders"},
		"other order of headers":  {replace(auth, "x-ms-date;host", "host;x-ms-date"), "InvalidSignedHeaders"},
		"other signature":         {replace(auth, "Signature=", "Signature=A"), "InvalidSignature"},
		"signature of other size": {func(q *http.Request) { q.Header.Set(auth, strings.Split(q.Header.Get(auth), "&")[0]+"&Signature=YWJj") }, "InvalidSignature"},
		"signature is empty":      {func(q *http.Request) { q.Header.Set(auth, strings.Split(q.Header.Get(auth), "&")[0]+"&Signature=") }, "InvalidSignature"},
		"no date":                 {without(date), "MissingDate"},
		"two dates":               {twice(date), "MissingDate"},
		"unreadable date":         {func(q *http.Request) { q.Header.Set(date, "2026-03-02T09:00:00Z") }, "InvalidDate"},
		"date in another zone":    {replace(date, "GMT", "CET"), "InvalidDate"},
		"another date":            {replace(date, "09:00:00", "09:00:01"), "SignatureMismatch"},
		"no hash":                 {without(hash), "MissingContentHash"},
		"two hashes":              {twice(hash), "MissingContentHash"},
		"unreadable hash":         {func(q *http.Request) { q.Header.Set(hash, "***") }, "InvalidContentHash"},
		"hash of other size":      {func(q *http.Request) { q.Header.Set(hash, "YWJj") }, "InvalidContentHash"},
		"hash of nothing":         {func(q *http.Request) { q.Header.Set(hash, "47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=") }, "SignatureMismatch"},
		"another host":            {func(q *http.Request) { q.Host = "other.example:8080" }, "SignatureMismatch"},
		"another port":            {func(q *http.Request) { q.Host = "router.example:8081" }, "SignatureMismatch"},
		"another method":          {func(q *http.Request) { q.Method = http.MethodDelete }, "SignatureMismatch"},
		"another path":            {func(q *http.Request) { q.RequestURI = strings.Replace(q.RequestURI, "/queues/q", "/queues/r", 1) }, "SignatureMismatch"},
		"another query":           {func(q *http.Request) { q.RequestURI += "&x=y" }, "SignatureMismatch"},
		"another body":            {func(q *http.Request) { q.Body = http.NoBody }, "ContentHashMismatch"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			body := `{"name":"n"}`
			req := r.sign(r.request("PATCH", "/routing/queues/q", body), body)
			c.spoil(req)
			if got := flawOf(r.send(req)); got != c.want {
				t.Errorf("the flaw is %s; want %s", got, c.want)
			}
			r.do("GET", "/routing/queues/q", "").failed(404, "NotFound")
		})
	}
}

func TestSignature_AnyConfiguredKeyOpens(t *testing.T) {
	t.Parallel()
	r := rigWith(t, router.Options{Keys: [][]byte{key(1), key(2)}})
	for n, open := range map[byte]bool{1: true, 2: true, 3: false} {
		r.key = key(n)
		a := r.do("GET", "/routing/queues", "")
		if open != (a.status == 200) {
			t.Errorf("key %d: %d", n, a.status)
		}
		if !open && flawOf(a) != "SignatureMismatch" {
			t.Errorf("key %d: %s", n, a.text)
		}
	}
}

func TestSignature_MayBeFifteenMinutesOff(t *testing.T) {
	t.Parallel()
	for off, open := range map[time.Duration]bool{
		0: true, 15 * time.Minute: true, -15 * time.Minute: true, 15*time.Minute + time.Second: false, -15*time.Minute - time.Second: false,
	} {
		r := newRig(t)
		req := r.sign(r.request("GET", "/routing/queues", ""), "")
		r.engine.wait(off)
		r.engine.at = time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC).Add(off)
		a := r.send(req)
		if open != (a.status == 200) {
			t.Errorf("a date that is off by %v: %d", off, a.status)
		}
		if !open && flawOf(a) != "DateOutOfRange" {
			t.Errorf("a date that is off by %v: %s", off, a.text)
		}
	}
}

// The example of the reference, signed by hand: key and text are fixed, so this
// fails if signing and verification ever change together.
func TestSignature_AgreesWithTheDocumentedExample(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	req := r.request("GET", "/routing/queues?maxpagesize=1", "")
	mac := hmac.New(sha256.New, key(1))
	mac.Write([]byte("GET\n/routing/queues?maxpagesize=1&api-version=2024-01-18-preview\n" +
		"Mon, 02 Mar 2026 09:00:00 GMT;router.example:8080;47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU="))
	req.Header.Set("Date", "Mon, 02 Mar 2026 09:00:00 GMT")
	req.Header.Set("X-Ms-Content-Sha256", "47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=")
	for headers, date := range map[string]string{"date;host;x-ms-content-sha256": "", "X-MS-Date;Host;X-MS-Content-SHA256": "Mon, 02 Mar 2026 09:00:00 GMT"} {
		req.Header.Set("X-Ms-Date", date)
		for _, form := range []string{"HMAC-SHA256 SignedHeaders=%h&Signature=%s", "hmac-sha256  Signature=%s&SignedHeaders=%h"} {
			form = strings.Replace(form, "%h", headers, 1)
			req.Header.Set("Authorization", strings.Replace(form, "%s", base64.StdEncoding.EncodeToString(mac.Sum(nil)), 1))
			if a := r.send(req); a.status != 200 {
				t.Errorf("%s: %d %s", form, a.status, a.text)
			}
		}
	}
}

// The JavaScript client signs the query as a form; other clients sign what they
// send.
func TestSignature_CoversEitherFormOfTheQuery(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	const sent = "/routing/jobs?queueId=q%20a%2Bb~!%27()*&empty=&none&status=active&api-version=2024-01-18-preview"
	for target, open := range map[string]bool{
		sent: true,
		"/routing/jobs?queueId=q+a%2Bb%7E%21%27%28%29*&empty=&none=&status=active&api-version=2024-01-18-preview":   true,
		"/routing/jobs?queueId=q%20a%2Bb%7E%21%27%28%29*&empty=&none=&status=active&api-version=2024-01-18-preview": false,
		"/routing/jobs?api-version=2024-01-18-preview&queueId=q+a%2Bb%7E%21%27%28%29*&empty=&none=&status=active":   false,
	} {
		if a := r.send(r.signAs(r.request("GET", sent, ""), target, "")); open != (a.status == 200) {
			t.Errorf("signed as %s: %d %s", target, a.status, a.text)
		}
	}
}

func TestSignature_WithoutKeysOnlyAnOpenRouterAnswers(t *testing.T) {
	t.Parallel()
	closed := rigWith(t, router.Options{Keys: [][]byte{}})
	if got := flawOf(closed.do("GET", "/routing/queues", "")); got != "NoAccessKeys" {
		t.Errorf("no keys: %s", got)
	}
	open := rigWith(t, router.Options{Open: func() bool { return true }})
	if a := open.send(open.request("GET", "/routing/queues", "")); a.status != 200 {
		t.Errorf("open: %d", a.status)
	}
	if a := open.do("GET", "/routing/queues", ""); a.status != 200 {
		t.Errorf("open, and signed with some key: %d", a.status)
	}
	page := open.request("POST", "/routing/jobs/j:cancel", "")
	page.Header.Set("Origin", "https://elsewhere.example")
	if got := flawOf(open.send(page)); got != "CrossOrigin" {
		t.Errorf("a page in a browser: %s", got)
	}
	keyed := rigWith(t, router.Options{Open: func() bool { return true }, Keys: [][]byte{key(1)}})
	if got := flawOf(keyed.send(keyed.request("GET", "/routing/queues", ""))); got != "MissingAuthorization" {
		t.Errorf("open and yet with keys: %s", got)
	}
}

func TestSignature_NewRejectsMissingOptions(t *testing.T) {
	t.Parallel()
	if _, err := router.New(router.Options{}); err == nil {
		t.Error("no engine, no error")
	}
	r := newRig(t)
	if _, err := router.New(router.Options{Engine: r.engine, Logger: discard(), Keys: [][]byte{{}}}); err == nil {
		t.Error("an empty key, no error")
	}
}

// Clients, proxies and transports differ in whether Host includes the port.
func TestSignature_HostMayLackItsPort(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for _, c := range []struct{ signed, sent string }{
		{"weir.example", "weir.example:8443"}, {"weir.example", "weir.example:443"}, {"weir.example:443", "weir.example"}, {"weir.example:80", "weir.example"},
		{"[::1]", "[::1]:8080"}, {"[::1]:443", "[::1]"}, {"weir.example:8443", "weir.example:8443"},
	} {
		req := r.request("GET", "/routing/queues", "")
		req.Host = c.signed
		r.sign(req, "")
		req.Host = c.sent
		if a := r.send(req); a.status != http.StatusOK {
			t.Errorf("%+v: %d %s", c, a.status, a.text)
		}
	}
}
