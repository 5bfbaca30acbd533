package jobrouter

import (
	"crypto/rand"
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
	"strings"
	"time"

	"weir"
)

const (
	jsonType       = "application/json; charset=utf-8"
	plainJSONType  = "application/json"
	mergePatchType = "application/merge-patch+json"
	// maxDrained is the maximum number of bytes drained from the body of a failed
	// request.
	maxDrained = 16 << 20
	// maxPooledBuffer is the maximum size of buffers kept for later responses, and of
	// buffers allocated for a body from its Content-Length.
	maxPooledBuffer = 64 << 10
)

// clientRequestID is a header that clients may set; the response echoes it.
const clientRequestID = "X-Ms-Client-Request-Id"

// goodRequestID matches the values that are echoed.
var goodRequestID = regexp.MustCompile(`^[A-Za-z0-9._-]{1,128}$`)

// call is one admitted request.
type call struct {
	r       *http.Request
	ids     []string
	idArray [2]string // backing array of ids
	version version
	query   url.Values
	body    []byte
}

// response is the result of a handler. Without a body the response is a 204.
type response struct {
	status   int
	body     any
	etag     string
	modified time.Time
}

// emptyResponse is the answer of an action that returns nothing.
func emptyResponse() response { return response{status: http.StatusOK, body: struct{}{}} }

// serve handles every request.
func (s *service) serve(w http.ResponseWriter, r *http.Request) {
	id := rand.Text()
	watch := &responseTracker{ResponseWriter: w, id: [1]string{id}}
	h := w.Header()
	h["X-Ms-Request-Id"] = watch.id[:]
	h["Api-Supported-Versions"] = s.headers.versions
	h["X-Content-Type-Options"] = s.headers.noSniffing
	if theirs := r.Header[clientRequestID]; len(theirs) > 0 && goodRequestID.MatchString(theirs[0]) {
		h[clientRequestID] = theirs[:1:1]
	}
	defer func() { s.recoverPanic(watch, r, id, recover()) }()
	out, err := s.answer(watch, r)
	if err == nil {
		err = s.write(watch, out)
	}
	if err == nil {
		return
	}
	_, _ = io.CopyN(io.Discard, r.Body, maxDrained) // drain, so that a client that is still sending can read the response
	if status := writeFault(watch, r.URL.EscapedPath(), err); status >= http.StatusInternalServerError {
		s.Logger.LogAttrs(r.Context(), slog.LevelInfo, "request to the job router failed", slog.String("method", r.Method),
			slog.Int("status", status), slog.String("request", id), slog.Any("error", err))
	}
}

// responseTracker records whether the response has begun.
type responseTracker struct {
	http.ResponseWriter
	begun bool
	id    [1]string // of the request, as a header value
}

// WriteHeader implements http.ResponseWriter.
func (w *responseTracker) WriteHeader(status int) {
	w.begun = true
	w.ResponseWriter.WriteHeader(status)
}

// Unwrap supports http.ResponseController.
func (w *responseTracker) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// recoverPanic turns a panic into a 500.
func (s *service) recoverPanic(w *responseTracker, r *http.Request, id string, v any) {
	if v == nil {
		return
	}
	if cause, _ := v.(error); errors.Is(cause, http.ErrAbortHandler) {
		panic(v)
	}
	s.Logger.ErrorContext(r.Context(), "panic in the job router API", "method", r.Method, "request", id,
		"panic", fmt.Sprint(v), "stack", string(debug.Stack()))
	if !w.begun {
		writeFault(w, r.URL.EscapedPath(), weir.Errorf(weir.CodeInternal, "panic"))
	}
}

// answer admits a request and runs its handler.
func (s *service) answer(w http.ResponseWriter, r *http.Request) (response, error) {
	body, err := s.admit(w, r)
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

// admit authenticates a request by its head, and reads the body only after that.
// The signed hash of the body is checked last.
func (s *service) admit(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	if s.Bearer != nil && !s.Open() && carriesBearer(r) {
		if err := s.Bearer(r); err != nil {
			return nil, err
		}
		return s.read(w, r)
	}
	if len(s.Keys) == 0 {
		if !s.Open() {
			return nil, signatureError("NoAccessKeys", "this server has no access keys; set JOB_ROUTER_ACCESS_KEYS")
		}
		// A page in a browser on this machine must not reach an open server.
		if err := http.NewCrossOriginProtection().Check(r); err != nil {
			return nil, signatureError("CrossOrigin", "requests from pages of other origins are rejected while the server is open")
		}
		return s.read(w, r)
	}
	hash, err := s.signatures.check(r, s.Now())
	if err != nil {
		return nil, err
	}
	body, err := s.read(w, r)
	if err != nil {
		return nil, err
	}
	if !sameHash(body, hash) {
		return nil, signatureError("ContentHashMismatch", "the body does not match the signed hash")
	}
	return body, nil
}

func carriesBearer(r *http.Request) bool {
	scheme, _, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	return strings.EqualFold(scheme, "Bearer")
}

func (s *service) read(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	if r.Body == http.NoBody {
		return nil, nil
	}
	if n := r.ContentLength; 0 < n && n <= min(s.Limits.Body, maxPooledBuffer) {
		body := make([]byte, n)
		if _, err := io.ReadFull(r.Body, body); err != nil {
			return nil, errBroken()
		}
		return body, nil
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, s.Limits.Body))
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

// headers holds header values that every response shares. They are read-only.
type headers struct{ versions, noSniffing, json []string }

// write writes the response of a handler.
func (s *service) write(w http.ResponseWriter, a response) error {
	h := w.Header()
	if a.body == nil {
		w.WriteHeader(http.StatusNoContent)
		return nil
	}
	buffer := s.buffers.Get().(*[]byte) //nolint:forcetypeassert // the pool has nothing else
	defer func() {
		if cap(*buffer) <= maxPooledBuffer {
			s.buffers.Put(buffer)
		}
	}()
	text, err := appendView((*buffer)[:0], a.body)
	if err != nil {
		return fmt.Errorf("encode a response: %w", err)
	}
	*buffer = text
	h["Content-Type"] = s.headers.json
	if a.etag != "" {
		values := []string{a.etag, a.modified.UTC().Format(http.TimeFormat)}
		h["Etag"], h["Last-Modified"] = values[:1:1], values[1:]
	}
	w.WriteHeader(a.status)
	_, _ = w.Write(text) // the client may have disconnected
	return nil
}
