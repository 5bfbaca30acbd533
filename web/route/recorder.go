package route

import (
	"net/http"

	"weir"
	"weir/ops"
	"weir/web/wire"
)

// RequestID is the header that identifies a request, in the response and in the
// log.
const RequestID = "X-Request-Id"

// Recorder records what the log, the metrics and the audit log need of a
// response.
type Recorder struct {
	http.ResponseWriter
	Status  int
	Matched bool              // a route took the request
	muted   bool              // the mux's own response was replaced by a problem
	Err     error             // for the log
	Token   string            // ID of the token; empty: none was valid, or none was needed
	Route   *Route            // of the JSON API; nil: another route
	DryRun  bool              // a dry run
	Changes []ops.FieldChange // for the audit log
}

// Unwrap gives http.ResponseController access to the underlying writer.
func (w *Recorder) Unwrap() http.ResponseWriter { return w.ResponseWriter }

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
		wire.WriteProblem(w, weir.Errorf(weir.CodeMethod, "this path takes %s", w.Header().Get("Allow")))
	} else {
		wire.WriteProblem(w, weir.Errorf(weir.CodeNotFound, "not found"))
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

// NoteError records the error of the response for the log.
func (w *Recorder) NoteError(err error) { w.Err = err }

// traffic reports whether a route is excluded from the audit log although it
// changes something: such requests come by the thousand, and leave their own
// records.
func traffic(id string) bool { return id == "post-contacts" || id == "post-disposition" }

// Audited reports whether a request belongs in the audit log. Requests refused
// for lack of a valid token do not, or strangers could fill the store; nor do
// rate-limited requests and dry runs.
func (w *Recorder) Audited() bool {
	return w.Route != nil && w.Route.Method != http.MethodGet && !traffic(w.Route.ID) && !w.DryRun &&
		w.Status != http.StatusUnauthorized && w.Status != http.StatusTooManyRequests
}
