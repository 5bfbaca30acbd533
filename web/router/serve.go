package router

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"mime"
	"net/http"
	"net/url"
	"regexp"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"time"

	"weir"
)

// clientRequestID is a header that clients may set; the response echoes it.
const clientRequestID = "X-Ms-Client-Request-Id"

// goodRequestID matches the values that are echoed.
var goodRequestID = regexp.MustCompile(`^[A-Za-z0-9._-]{1,128}$`)

// server admits requests, runs their handlers and writes the responses.
type server struct {
	log       *slog.Logger
	admission admission
	routes    routes
	queries   map[string]url.Values // parsed queries that contain only a version, by raw query; read-only
}

// serve handles every request.
func (s *server) serve(w http.ResponseWriter, r *http.Request) {
	id := rand.Text()
	watch := &responseTracker{ResponseWriter: w}
	h := w.Header()
	h.Set("X-Ms-Request-Id", id)
	h.Set("Api-Supported-Versions", supported)
	h.Set("X-Content-Type-Options", "nosniff")
	if theirs := r.Header[clientRequestID]; len(theirs) > 0 && goodRequestID.MatchString(theirs[0]) {
		h.Set(clientRequestID, theirs[0])
	}
	defer func() { s.recoverPanic(watch, r, id, recover()) }()
	out, err := s.answer(watch, r)
	if err == nil {
		err = write(watch, out)
	}
	if err == nil {
		return
	}
	_, _ = io.CopyN(io.Discard, r.Body, maxDrained) // drain, so that a client that is still sending can read the response
	if status := writeFault(watch, r.URL.EscapedPath(), err); status >= http.StatusInternalServerError {
		s.log.LogAttrs(r.Context(), slog.LevelInfo, "request to the job router failed", slog.String("method", r.Method),
			slog.Int("status", status), slog.String("request", id), slog.Any("error", err))
	}
}

// responseTracker records whether the response has begun.
type responseTracker struct {
	http.ResponseWriter
	begun bool
}

// WriteHeader implements http.ResponseWriter.
func (w *responseTracker) WriteHeader(status int) {
	w.begun = true
	w.ResponseWriter.WriteHeader(status)
}

// Unwrap supports http.ResponseController.
func (w *responseTracker) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// recoverPanic turns a panic into a 500.
// If the response has begun, nothing more is written: its status is already with the client, and
// an error body would be appended to the half-written one.
func (s *server) recoverPanic(w *responseTracker, r *http.Request, id string, v any) {
	if v == nil {
		return
	}
	// net/http handles this one by cutting the connection.
	if cause, _ := v.(error); errors.Is(cause, http.ErrAbortHandler) {
		panic(v)
	}
	s.log.ErrorContext(r.Context(), "panic in the job router API", "method", r.Method, "request", id,
		"panic", fmt.Sprint(v), "stack", string(debug.Stack()))
	if !w.begun {
		writeFault(w, r.URL.EscapedPath(), weir.Errorf(weir.CodeInternal, "panic"))
	}
}

// answer admits a request and runs its handler.
func (s *server) answer(w http.ResponseWriter, r *http.Request) (response, error) {
	body, err := s.admission.admit(w, r)
	if err != nil {
		return response{}, err
	}
	c := &call{r: r, body: body}
	methods, err := s.routes.find(c)
	if err != nil {
		return response{}, err
	}
	handler, ok := methods[r.Method]
	if !ok {
		allow := strings.Join(slices.Sorted(maps.Keys(methods)), ", ")
		w.Header().Set("Allow", allow)
		return response{}, weir.Errorf(weir.CodeMethod, "method not allowed; allowed: %s", allow)
	}
	if c.query = s.queries[r.URL.RawQuery]; c.query == nil {
		if c.query, err = url.ParseQuery(r.URL.RawQuery); err != nil {
			return response{}, invalid("query", "format", "malformed query")
		}
	}
	if c.version, err = versionOf(c.query); err != nil {
		return response{}, err
	}
	if err := checkContentType(r, body); err != nil {
		return response{}, err
	}
	return handler(c)
}

// admission decides which requests are served.
type admission struct {
	signatures signatures
	open       func() bool
	bearer     func(*http.Request) error // nil: bearer tokens are not accepted
	now        func() time.Time
}

// admit authenticates a request by its head, and reads the body only after that.
// The signed hash of the body is checked last.
// An unauthenticated client thus cannot make the server hold a body in memory or hash it.
func (a *admission) admit(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	if a.bearer != nil && !a.open() && carriesBearer(r) {
		if err := a.bearer(r); err != nil {
			return nil, err
		}
		return readBody(w, r)
	}
	if len(a.signatures.keys) == 0 {
		if !a.open() {
			return nil, signatureError("NoAccessKeys", "this server has no access keys; set JOB_ROUTER_ACCESS_KEYS")
		}
		// A page in a browser on this machine must not reach an open server.
		if err := http.NewCrossOriginProtection().Check(r); err != nil {
			return nil, signatureError("CrossOrigin", "requests from pages of other origins are rejected while the server is open")
		}
		return readBody(w, r)
	}
	hash, err := a.signatures.check(r, a.now())
	if err != nil {
		return nil, err
	}
	body, err := readBody(w, r)
	if err != nil {
		return nil, err
	}
	if !sameHash(body, hash) {
		return nil, signatureError("ContentHashMismatch", "the body does not match the signed hash")
	}
	return body, nil
}

// carriesBearer reports whether a request has a bearer token. The scheme is
// case-insensitive (RFC 9110, 11.1).
func carriesBearer(r *http.Request) bool {
	scheme, _, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	return strings.EqualFold(scheme, "Bearer")
}

// readBody reads a body of limited size.
func readBody(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	if r.Body == http.NoBody {
		return nil, nil
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if tooLarge, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return nil, weir.Errorf(weir.CodeTooLarge, "the body is larger than %d bytes", tooLarge.Limit)
	}
	if err != nil {
		return nil, errBroken()
	}
	return body, nil
}

func errBroken() error {
	return weir.Errorf(weir.CodeInvalid, "the body is incomplete")
}

// versionOf returns the api-version of a request, which every request must state once.
func versionOf(query url.Values) (version, error) {
	switch given := query["api-version"]; {
	case len(given) == 0:
		return "", invalid("api-version", "required", "required; one of "+supported)
	case len(given) > 1 || !slices.Contains(versions(), version(given[0])):
		return "", invalid("api-version", "unknown", "the supported versions are "+supported)
	default:
		return version(given[0]), nil
	}
}

// checkContentType requires JSON for the body of a PATCH or POST.
// The first switch accepts the usual spellings without parsing, because this runs for every
// request. A missing Content-Type is refused too.
func checkContentType(r *http.Request, body []byte) error {
	if len(body) == 0 || r.Method != http.MethodPatch && r.Method != http.MethodPost {
		return nil
	}
	switch got := r.Header["Content-Type"]; {
	case len(got) != 1 || len(r.Header["Content-Encoding"]) > 0:
	case got[0] == mergePatchType, got[0] == plainJSONType, got[0] == jsonType:
		return nil
	}
	got, params, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	charset, encoding := params["charset"], r.Header.Get("Content-Encoding")
	if err != nil || got != plainJSONType && got != mergePatchType || charset != "" && !strings.EqualFold(charset, "utf-8") ||
		encoding != "" && !strings.EqualFold(encoding, "identity") {
		return weir.Errorf(weir.CodeContentType, "the body must be %s or %s in UTF-8, uncompressed", mergePatchType, plainJSONType)
	}
	return nil
}

// write writes the response of a handler.
func write(w http.ResponseWriter, a response) error {
	h := w.Header()
	if a.body == nil {
		w.WriteHeader(http.StatusNoContent)
		return nil
	}
	text, err := json.Marshal(a.body)
	if err != nil {
		return fmt.Errorf("encode a response: %w", err)
	}
	h.Set("Content-Type", jsonType)
	if a.etag != "" {
		h.Set("Etag", a.etag)
		h.Set("Last-Modified", a.modified.UTC().Format(http.TimeFormat))
	}
	w.WriteHeader(a.status)
	_, _ = w.Write(text) // the client may have disconnected
	return nil
}

// writeFault writes an error response and returns its status.
func writeFault(w http.ResponseWriter, target string, err error) int {
	f := faultOf(err)
	f.Target = target
	h := w.Header()
	h.Set("Content-Type", jsonType)
	h.Set("X-Ms-Error-Code", f.Code)
	if f.wait > 0 {
		h.Set("Retry-After", strconv.Itoa(int((f.wait+time.Second-1)/time.Second)))
	}
	if f.status == http.StatusUnauthorized {
		h.Set("WWW-Authenticate", scheme)
	}
	w.WriteHeader(f.status)
	_ = json.NewEncoder(w).Encode(map[string]fault{"error": f}) // the client may have disconnected
	return f.status
}
