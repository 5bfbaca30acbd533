package web

import (
	"bytes"
	"encoding/json"

	"weir/channels"
	"weir/events"
	"weir/ops"
	"weir/surveys"
	"weir/web/api"
	"weir/web/auth"
	"weir/web/openapi"
	"weir/web/surveyapi"
)

// APIVersion is the major version of the API: the number in its paths. The
// description stored in the repository has this version; a served one has the
// version of the program.
const APIVersion = "1"

// Description returns the description of the whole API as indented JSON, from
// the table of routes alone, without a running service.
func Description(directory *channels.Directory) ([]byte, error) {
	// Optional parts are set so that their routes are included; they are never
	// called.
	o := Options{
		Options: api.Options{
			Directory: directory, Events: struct{ events.Log }{}, Trail: auth.NewTrail(struct{ ops.AuditStore }{}), Minutes: struct{ ops.MinuteStore }{},
			Dead: struct{ ops.DeadLetterStore }{}, Webhooks: struct{ events.WebhookStore }{},
		},
		Version: APIVersion, Surveys: struct{ Surveys }{}, SurveyStore: struct{ surveyapi.Store }{}, Importer: struct{ surveys.Importer }{},
	}
	routes, _, err := o.routes(nil)
	if err != nil {
		return nil, err
	}
	doc, err := openapi.Describe(routes, o.Version, o.Prefix)
	if err != nil {
		return nil, err
	}
	raw, err := doc.MarshalJSON()
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
