package httpgateway

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"weir/channels"
)

// request is the template of an HTTP request.
type request struct {
	method  string
	base    string // scheme, host and port
	path    text   // escaped, with placeholders
	query   map[string]value
	headers map[string]value
	basic   *[2]text // username and password
	json    value
	form    map[string]value
	body    string // name of the placeholder that is the body
}

// requestKeys are the fields of a request.
func requestKeys(more ...string) []string {
	return append([]string{"method", "url", "query", "headers", "basic", "json", "form", "body"}, more...)
}

// readRequest reads a request.
func readRequest(o object, sc scope) request {
	q := request{method: o.choice("method", http.MethodPost, http.MethodGet, http.MethodPut, http.MethodPatch, http.MethodDelete)}
	o.need("url", "the address of the request")
	if o.has("url") {
		q.base, q.path = readAddress(o.wrong, o.text("url"), o.under("url"), sc)
	}
	q.query, q.headers = readFields(o, "query", sc), readFields(o, "headers", sc)
	for name := range q.headers {
		if !headerName(name) {
			o.wrong.fail(o.under("headers")+"/"+channels.Escape(name), "value", "is no header that a request may set")
		}
	}
	if b, ok := o.object("basic", "username", "password"); ok {
		b.need("username", "the user of HTTP basic authentication")
		b.need("password", "the password, such as {secret.NAME}")
		q.basic = &[2]text{sc.text(o.wrong, b.text("username"), b.under("username")), sc.text(o.wrong, b.text("password"), b.under("password"))}
	}
	// Which of them would win cannot be seen in a template, so that two are a mistake.
	bodies := 0
	for _, key := range []string{"json", "form", "body"} {
		if o.has(key) {
			bodies++
		}
	}
	if bodies > 1 || bodies == 1 && q.method == http.MethodGet {
		o.wrong.fail(o.at, "conflict", "a request has at most one of json, form and body, and GET has none")
	}
	if o.has("json") {
		q.json = readValue(o.wrong, o.fields["json"], o.under("json"), sc, false)
	}
	q.form = readFields(o, "form", sc)
	if o.has("body") {
		q.body = o.text("body")
		sc.check(o.wrong, q.body, o.under("body"))
	}
	return q
}

// readFields reads an object of values.
func readFields(o object, key string, sc scope) map[string]value {
	of, ok := o.object(key)
	if !ok {
		return nil
	}
	out := map[string]value{}
	for _, name := range of.keys() {
		out[name] = readValue(o.wrong, of.fields[name], of.under(name), sc, false)
	}
	return out
}

// readAddress reads a URL: placeholders may stand in its path only.
func readAddress(wrong *mistakes, s, at string, sc scope) (base string, path text) {
	scheme, rest, ok := strings.Cut(s, "://")
	host, below, _ := strings.Cut(rest, "/")
	u, err := url.Parse(scheme + "://" + host)
	switch {
	case !ok || scheme != "https" && scheme != "http" || host == "":
		wrong.fail(at, "format", "must be an http or https URL with a host")
		return "", nil
	case strings.ContainsAny(host, "{}"):
		wrong.fail(at, "placeholder", "scheme, host and port are fixed: a placeholder may stand in the path, and query parameters belong into query")
		return "", nil
	case err != nil || u.Host != host || u.User != nil:
		wrong.fail(at, "format", "must be an http or https URL with a host, and without user and password")
		return "", nil
	}
	// Literals of the path are sent as they stand, so they have to be escaped already; what
	// stands for a placeholder is escaped when it is filled in.
	path = sc.text(wrong, "/"+below, at)
	literal := path.join(func(string) string { return "x" })
	if strings.ContainsAny(literal, "?#") {
		wrong.fail(at, "format", "must end with the path: query parameters belong into query, and there is no fragment")
	} else if v, err := url.Parse(u.String() + literal); err != nil || v.EscapedPath() != literal {
		wrong.fail(at, "format", "the path must be escaped as in a URL")
	}
	return u.String(), path
}

// headerName reports whether a template may set a header.
func headerName(name string) bool {
	for _, c := range []byte(name) {
		if c <= ' ' || c >= 0x7f || strings.IndexByte(`()<>@,;:\"/[]?={}`, c) >= 0 {
			return false
		}
	}
	// The transport sets these from the request. A second value could frame the body differently
	// for a proxy than for the gateway.
	return name != "" && !slices.Contains([]string{"Host", "Content-Length", "Transfer-Encoding", "Connection", "Upgrade", "Trailer", "Te"}, http.CanonicalHeaderKey(name))
}

// Rendered is a request as it is sent.
type Rendered struct {
	Method string
	URL    *url.URL
	Header http.Header
	Body   []byte
}

var (
	errPath   = errors.New("a value does not fit into the path of the URL")
	errHeader = errors.New("a value does not fit into a header")
	errSize   = errors.New("the request is larger than 1 MiB")
)

// maxRequest is the max size of a request in bytes, and of what is filled into it.
const maxRequest = 1 << 20

// render returns the request. An error means that what a placeholder stands for cannot
// stand there, or that the request would be larger than maxRequest.
func (q *request) render(of *content) (Rendered, error) {
	bounded, room := *of, maxRequest
	bounded.room = &room
	out, err := q.fill(&bounded)
	if room < 0 || len(out.Body) > maxRequest || out.URL != nil && len(out.URL.RawQuery) > maxRequest {
		return Rendered{}, errSize
	}
	return out, err
}

func (q *request) fill(c *content) (Rendered, error) {
	out := Rendered{Method: q.method, Header: http.Header{"User-Agent": {"weir"}}}
	empty := false
	path := q.path.join(func(name string) string {
		v := c.value(name)
		empty = empty || v == ""
		return url.PathEscape(v)
	})
	// PathEscape leaves dots as they are, and a recipient or label is chosen by a client: an
	// empty segment, "." or ".." would lead to another resource of the gateway.
	if empty || !sameSegments(path, q.path) {
		return out, errPath
	}
	u, err := url.Parse(q.base + path)
	if err != nil {
		return out, errPath
	}
	u.RawQuery = pairs(q.query, c).Encode()
	out.URL = u
	switch {
	case q.json != nil:
		v, _ := q.json.render(c)
		out.Body = encodeJSON(v)
		out.Header.Set("Content-Type", "application/json; charset=utf-8")
	case q.form != nil:
		out.Body = []byte(pairs(q.form, c).Encode())
		out.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	case q.body != "":
		out.Body = []byte(c.value(q.body))
		out.Header.Set("Content-Type", "application/octet-stream")
	}
	if q.basic != nil {
		user, password := q.basic[0].join(c.value), q.basic[1].join(c.value)
		out.Header.Set("Authorization", "Basic "+base64.StdEncoding.EncodeToString([]byte(user+":"+password)))
	}
	for name, v := range q.headers {
		list, ok := renderText(name, v, c)
		for _, s := range list {
			// A line break could begin another header. Refused here, the value fails this
			// contact; refused by the transport, it would count as a fault of the channel.
			if strings.ContainsFunc(s, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }) {
				return out, errHeader
			}
		}
		if ok {
			out.Header[http.CanonicalHeaderKey(name)] = list
		}
	}
	return out, nil
}

// sameSegments reports whether a rendered path has the segments of its template, none of
// them empty or a step up because of what a placeholder stands for.
func sameSegments(path string, t text) bool {
	template := strings.Split(t.join(func(string) string { return "x" }), "/")
	rendered := strings.Split(path, "/")
	if len(template) != len(rendered) {
		return false
	}
	for i, s := range rendered {
		if s != template[i] && (s == "" || s == "." || s == "..") {
			return false
		}
	}
	return true
}

func pairs(fields map[string]value, c *content) url.Values {
	out := url.Values{}
	for name, v := range fields {
		if list, ok := renderText(name, v, c); ok {
			out[name] = list
		}
	}
	return out
}

func encodeJSON(v any) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	// Go would write < as \u003c: the same JSON, but a gateway that signs or compares bytes
	// differs.
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil { // a template holds what JSON can hold
		return []byte(strconv.Quote(err.Error()))
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}
