package route

import (
	"context"
	"encoding/base64"
	"net/http"
	"strings"
	"time"

	"weir"
	"weir/internal/validation"
	"weir/ops"
	"weir/web/auth"
	"weir/web/wire"
)

// Call is one request to a route, validated so far as its fields say.
type Call struct {
	context.Context
	Request   *http.Request
	Principal *auth.Principal
	Query     wire.Query
	// Body is the decoded body, and Errors lists its schema errors. A route with
	// a body adds the errors that only it can find, and then calls Invalid
	// before it changes anything.
	Body   map[string]any
	Errors validation.Errors
}

// PII reports whether phone numbers may be shown.
func (c *Call) PII() bool { return c.Principal.Has(ops.ScopePIIRead) }

// Invalid returns the error that lists all mistakes found so far; nil if there
// are none.
func (c *Call) Invalid() error { return wire.Invalid(c.Errors) }

// Reply is the response of a route.
type Reply struct {
	Status   int
	Body     any // nil: none
	Location string
	ETag     string
	DryRun   bool              // a dry run
	Changes  []ops.FieldChange // for the audit log
}

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
