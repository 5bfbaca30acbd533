package web

import (
	"bytes"
	"encoding/json"

	"weir/channels"
	"weir/limits"
	"weir/people"
	webapi "weir/web/api"
	"weir/web/openapi"
)

// APIVersion is the major version of the API: the number in its paths. The
// description stored in the repository has this version; a served one has the
// version of the program.
const APIVersion = "1"

// Description returns the description of the whole API as indented JSON, from
// the table of routes alone, without a running service.
func Description(directory *channels.Directory) ([]byte, error) {
	// The survey broker and the stores are never called: they are set so that their routes are included.
	o := Options{Options: webapi.Options{Directory: directory}, Version: APIVersion, Surveys: struct{ Surveys }{}, People: struct{ people.Store }{}, Limits: struct{ limits.Store }{}}
	routes, err := o.routes(nil)
	if err != nil {
		return nil, err
	}
	raw, err := openapi.JSON(routes, o.Version, o.Prefix)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	if err := json.Indent(&out, raw, "", "  "); err != nil {
		return nil, err
	}
	out.WriteByte('\n')
	return out.Bytes(), nil
}
