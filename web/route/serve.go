package route

import (
	"context"
	"encoding/base64"
	"mime"
	"net/http"
	"slices"
	"strings"
	"time"

	"weir"
	"weir/internal/document"
	"weir/internal/validation"
	"weir/operators"
	"weir/web/auth"
	"weir/web/httpjson"
)

// Handler returns the handler of the route: it checks the token, the query and the
// body, then runs the route.
func (rt *Route) Handler(gate *auth.Gate) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		MarkMatched(w)
		rec, recorded := w.(*Recorder)
		if recorded {
			rec.Route = rt
		}
		if serve := rt.serve(r); serve != nil {
			if err := rt.transfer(gate, w, r, serve); err != nil {
				NewDeadlines(w).ExtendWrite()
				httpjson.WriteProblem(w, err)
			}
			return
		}
		out, err := rt.answer(gate, w, r)
		if recorded {
			rec.DryRun, rec.Changes = out.DryRun, out.Changes
		}
		if err != nil {
			httpjson.WriteProblem(w, err)
			return
		}
		if out.Location != "" {
			w.Header().Set("Location", out.Location)
		}
		if out.ETag != "" {
			w.Header().Set("ETag", out.ETag)
		}
		httpjson.WriteJSON(w, out.Status, out.Body)
	})
}

// Admit identifies the sender of a request, for the log too, and rejects a
// sender who has none of the scopes for the whole installation.
func Admit(gate *auth.Gate, w http.ResponseWriter, r *http.Request, oneOf []operators.Scope) (*auth.Principal, error) {
	return admit(gate, w, r, auth.Access{OneOf: oneOf, Reach: auth.Installation})
}

func admit(gate *auth.Gate, w http.ResponseWriter, r *http.Request, need auth.Access) (*auth.Principal, error) {
	who, err := gate.Authenticate(r)
	if err != nil {
		return nil, err
	}
	if rec, ok := w.(*Recorder); ok {
		rec.Token = who.ID()
	}
	return who, need.Admit(who, r)
}

// call returns the call of an admitted request.
func (rt *Route) call(ctx context.Context, r *http.Request, who *auth.Principal) *Call {
	c := &Call{Context: ctx, Request: r, Principal: who, scopes: rt.Access.OneOf}
	c.Query = httpjson.ReadQuery(rt.Query, r.URL.RawQuery, &c.Errors)
	return c
}

// admit is [Admit] for the route, with the scopes that it needs besides.
func (rt *Route) admit(gate *auth.Gate, w http.ResponseWriter, r *http.Request) (*auth.Principal, error) {
	who, err := admit(gate, w, r, rt.Access)
	for _, scope := range rt.Also {
		if err == nil {
			err = who.Require([]operators.Scope{scope}, operators.Subject{})
		}
	}
	return who, err
}

// serve returns what serves a request and writes the response itself; nil: Handle answers it.
func (rt *Route) serve(r *http.Request) func(*Call, http.ResponseWriter) error {
	if rt.File == nil {
		return rt.Serve
	}
	if got, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err == nil && slices.Contains(rt.Uploads, got) {
		return rt.File
	}
	return rt.Serve
}

// transfer serves a request by a function that writes the response itself.
func (rt *Route) transfer(gate *auth.Gate, w http.ResponseWriter, r *http.Request, serve func(*Call, http.ResponseWriter) error) error {
	who, err := rt.admit(gate, w, r)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(r.Context(), TransferTime)
	defer cancel()
	c := rt.call(ctx, r, who)
	if err := c.Invalid(); err != nil {
		return err
	}
	return serve(c, w)
}

// answer runs a route that returns its response.
func (rt *Route) answer(gate *auth.Gate, w http.ResponseWriter, r *http.Request) (out Reply, _ error) {
	who, err := rt.admit(gate, w, r)
	if err != nil {
		return Reply{}, err
	}
	ctx, cancel := context.WithTimeout(r.Context(), requestTime)
	defer cancel()
	c := rt.call(ctx, r, who)
	defer func() { out.DryRun = out.DryRun || c.DryRun() }() // also one that is refused
	if rt.Method == http.MethodPost && r.Header.Get("Idempotency-Key") != "" {
		httpjson.Discard(r.Body)
		return Reply{}, errIdempotencyKey() // ignored, a repetition would do everything twice
	}
	if rt.Body == nil {
		if err := c.Invalid(); err != nil {
			return Reply{}, err
		}
		return rt.Handle(c)
	}
	v, err := httpjson.ReadJSON(w, r, rt.BodyTypes, rt.BodyLimit)
	if err != nil {
		httpjson.Discard(r.Body)
		return Reply{}, err
	}
	if !rt.Lenient {
		rt.Check.Check(v, "", &c.Errors)
	}
	c.Body, _ = v.(map[string]any)
	if c.Body == nil {
		if rt.Lenient {
			c.Errors.Add("", "type", "must be an object")
		}
		return Reply{}, c.Invalid()
	}
	return rt.Handle(c)
}

func errIdempotencyKey() error {
	return weir.Errorf(weir.CodeInvalid, "the header Idempotency-Key is not supported; put the key into the body: the field key of each contact, or of a report on a respondent")
}

// Call is one request to a route, validated so far as its fields say.
type Call struct {
	context.Context
	Request   *http.Request
	Principal *auth.Principal
	Query     httpjson.Query
	// Body is the decoded body, and Errors lists its schema errors. A route with
	// a body adds the errors that only it can find, and then calls Invalid
	// before it changes anything.
	Body   map[string]any
	Errors validation.Errors
	scopes []operators.Scope // of which the route needs one
}

// Reaches reports whether the sender's scopes for the route reach a subject. A route with the reach
// [auth.Filtered] leaves out all else.
func (c *Call) Reaches(about operators.Subject) bool { return c.Principal.May(c.scopes, about) }

// Limited reports whether the sender's scopes for the route are limited to some names.
func (c *Call) Limited() bool { return !c.Reaches(operators.Subject{}) }

// Limits returns the limits of the sender's scopes for the route, for people.
func (c *Call) Limits() string { return strings.Join(c.Principal.Prefixes(c.scopes), " or ") }

// RequireReach returns an error that names the limit if the sender's scopes for the route do not reach a subject.
func (c *Call) RequireReach(about operators.Subject) error {
	return c.Principal.Require(c.scopes, about)
}

// PII reports whether phone numbers may be shown.
func (c *Call) PII() bool { return c.Principal.Has(operators.ScopePIIRead) }

// Decode sets what to points to from the body, but for values of a wrong type, which the schema reports.
func (c *Call) Decode(to any) { httpjson.Decode(c.Body, to) }

// Invalid returns the error that lists all mistakes found so far; nil if there
// are none.
func (c *Call) Invalid() error { return httpjson.Invalid(c.Errors) }

// Condition returns what the request demands of the document that it sets, a kind whose name has a pointer in mistakes.
func (c *Call) Condition(kind, pointer string) document.Condition {
	return document.Condition{Kind: kind, Pointer: pointer, Create: c.Query.Bool("create")}
}

// Taken returns the error of a request that is to create a document of a name that there is: the refusal, or all mistakes if there
// are others.
func (c *Call) Taken(on document.Condition, name string) error {
	err := on.Exists(name)
	if len(c.Errors) == 0 {
		return err
	}
	c.Errors.Append(err.Fields...)
	return c.Invalid()
}

// Reply is the response of a route.
type Reply struct {
	Status   int
	Body     any // nil: none
	Location string
	ETag     string
	DryRun   bool                    // a dry run
	Changes  []operators.FieldChange // for the audit log
}

// DryRun reports whether the request is to be checked only; see [DryRun].
func (c *Call) DryRun() bool { return c.Query.Bool("dry_run") }

// Instant reads a query parameter that is an instant.
func (c *Call) Instant(name string) (time.Time, bool) {
	text := c.Query.Text(name)
	if text == "" {
		return time.Time{}, false
	}
	t, code, detail := weir.ParseInstant(text)
	if code != "" {
		c.Errors.Add("/"+name, code, "%s", detail)
	}
	return t, code == ""
}

// AfterName returns the name in a cursor that NameCursor made for the list;
// empty if there is no cursor.
func (c *Call) AfterName(list string) (string, error) {
	cursor := c.Query.Text("cursor")
	if cursor == "" {
		return "", nil
	}
	text, err := base64.RawURLEncoding.Strict().DecodeString(cursor)
	name, ours := strings.CutPrefix(string(text), list+"/")
	if err != nil || !ours || name == "" {
		c.Errors.Add("/cursor", "format", "must be the next_cursor of a page before")
	}
	return name, c.Invalid()
}

// RequestID is the header that identifies a request, in the response and in the
// log.
const RequestID = "X-Request-Id"

// Recorder records what the log, the metrics and the audit log need of a
// response.
type Recorder struct {
	http.ResponseWriter
	Status  int
	Matched bool                    // a route took the request
	muted   bool                    // the mux's own response was replaced by a problem
	Err     error                   // for the log
	Token   string                  // ID of the token; empty: none was valid, or none was needed
	Route   *Route                  // of the JSON API; nil: another route
	DryRun  bool                    // a dry run
	Changes []operators.FieldChange // for the audit log
}

// Unwrap gives http.ResponseController access to the underlying writer.
func (w *Recorder) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// orList turns "A, B, C" into "A, B or C".
func orList(list string) string {
	if i := strings.LastIndex(list, ", "); i >= 0 {
		return list[:i] + " or " + list[i+2:]
	}
	return list
}

// WriteHeader replaces the mux's own responses (404, 405, a redirect to a
// cleaned path) with a problem.
func (w *Recorder) WriteHeader(status int) {
	if w.Status != 0 {
		return
	}
	if w.Matched {
		w.Status = status
		w.ResponseWriter.WriteHeader(status)
		return
	}
	w.Matched = true
	w.Header().Del("Location")
	if status == http.StatusMethodNotAllowed {
		httpjson.WriteProblem(w, weir.Errorf(weir.CodeMethod, "method not allowed; use %s", orList(w.Header().Get("Allow"))))
	} else {
		httpjson.WriteProblem(w, weir.Errorf(weir.CodeNotFound, "not found"))
	}
	w.muted = true
}

// Write writes the body, unless it is the mux's own.
func (w *Recorder) Write(b []byte) (int, error) {
	if w.Status == 0 {
		w.WriteHeader(http.StatusOK)
	}
	if w.muted {
		return len(b), nil
	}
	return w.ResponseWriter.Write(b)
}

// MarkMatched records that a route matched the request.
func MarkMatched(w http.ResponseWriter) {
	if rec, ok := w.(*Recorder); ok {
		rec.Matched = true
	}
}

// Matched is a handler outside the JSON API that a route matched.
func Matched(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		MarkMatched(w)
		h.ServeHTTP(w, r)
	})
}

// NoteError records the error of the response for the log.
func (w *Recorder) NoteError(err error) { w.Err = err }

// traffic reports whether a route is excluded from the audit log although it
// changes something: such requests come by the thousand, and leave their own
// records. Those with changes that are to be in it are.
func traffic(id string) bool { return id == "post-contacts" || id == "post-disposition" }

// Audited reports whether a request belongs in the audit log. Requests refused
// for lack of a valid token do not, or strangers could fill the store; nor do
// rate-limited requests and dry runs.
func (w *Recorder) Audited() bool {
	return w.Route != nil && w.Route.Method != http.MethodGet && (!traffic(w.Route.ID) || len(w.Changes) > 0) && !w.DryRun &&
		w.Status != http.StatusUnauthorized && w.Status != http.StatusTooManyRequests
}

// Note records what a route that writes its response itself is to have in the audit log, and
// whether it was a dry run, which is not in it.
func Note(w http.ResponseWriter, dryRun bool, changes []operators.FieldChange) {
	if rec, ok := w.(*Recorder); ok {
		rec.DryRun, rec.Changes = dryRun, changes
	}
}
