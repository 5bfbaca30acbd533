package router

import (
	"log/slog"
	"net/http"
	"net/url"
	"reflect"
	"strconv"
	"time"

	"weir"
	"weir/internal/validation"
	"weir/router"
	"weir/router/journal"
	"weir/router/resource"
)

// Options configures the handler.
type Options struct {
	Engine router.Engine
	// Keys are the access keys; a request may be signed with any of them.
	Keys [][]byte
	// Open admits unsigned requests while it returns true, if there are no keys.
	// Use it only for servers reachable from this machine alone. nil: never.
	Open func() bool
	// Bearer authorizes requests that carry a bearer token instead of a signature.
	// nil: bearer tokens are not accepted.
	Bearer func(*http.Request) error
	// Address returns an error for a function or webhook address that must not be
	// called. nil: every address is allowed.
	Address func(string) error
	// Failing lists the functions whose calls fail, as seen by this process. nil:
	// none.
	Failing func() []router.FailingFunction
	// PublicURL is the address at which clients reach the server; may be empty.
	// Links use its scheme if they have its host.
	PublicURL string
	// Prefix precedes the paths of links. Requests arrive without it.
	Prefix string
	Logger *slog.Logger
	Now    func() time.Time // nil: time.Now
}

// Bounds that the API does not specify.
const (
	maxBody     = 1 << 20          // bytes of a request body
	maxSkew     = 15 * time.Minute // between a request's date and now
	maxPage     = 1000             // entries per page
	defaultPage = 100              // the same if the client does not specify
)

// version is a value of the parameter api-version.
type version string

const (
	version2023 version = "2023-11-01"
	version2024 version = "2024-01-18-preview"
)

// supported is the value of the header api-supported-versions.
const supported = string(version2023) + ", " + string(version2024)

func versions() []version { return []version{version2023, version2024} }

// do applies a command that does not depend on the state.
func do(c *call, engine router.Engine, command router.Command, see func(*router.State, []journal.Event)) error {
	return engine.Do(c.r.Context(), func(*router.State, time.Time) (router.Command, error) { return command, nil }, see)
}

func noSuchResource(kind resource.Kind, id string) error {
	return weir.Errorf(weir.CodeNotFound, "there is no %s %q", kind, id)
}

const (
	jsonType       = "application/json; charset=utf-8"
	plainJSONType  = "application/json"
	mergePatchType = "application/merge-patch+json"
	// maxDrained is the maximum number of bytes drained from the body of a failed
	// request.
	maxDrained = 16 << 20
)

// resourceKind describes a kind of resource.
type resourceKind struct {
	kind resource.Kind
	path string
	// spec is the type of what clients state, readOnly the members that they see besides, id and etag apart.
	spec     reflect.Type
	readOnly []string
	// complete changes the body of a patch before it is checked; may be nil.
	complete func(patch map[string]any, mistakes *validation.Errors)
	// render returns a resource as clients see it; ok is false if it does not exist.
	render func(s *router.State, id string, v version) (r rendered, ok bool)
	// patch returns the command that merges a patch into a resource.
	patch  func(s *router.State, id string, patch map[string]any, cond router.If) (router.Command, error)
	remove func(id string) router.Command
}

// rendered is a resource as clients see it.
type rendered struct {
	body      any
	version   router.Version
	changedAt time.Time
}

func (x rendered) answer(status int) response {
	return response{status: status, body: x.body, etag: etag(x.version), modified: x.changedAt}
}

// response is the result of a handler. Without a body the response is a 204.
type response struct {
	status   int
	body     any
	etag     string
	modified time.Time
}

// call is one admitted request.
type call struct {
	r       *http.Request
	ids     []string
	idArray [2]string // backing array of ids
	action  string    // the end of the path, behind a colon; empty: none
	version version
	query   url.Values
	body    []byte
}

// endpoint answers an admitted request.
type endpoint func(*call) (response, error)

// etag returns the entity tag of a version.
// Clients must treat it as opaque; it changes with every change of the resource, because a
// version is the number of the event that changed it last.
func etag(v router.Version) string { return `"` + strconv.FormatUint(uint64(v), 16) + `"` }
