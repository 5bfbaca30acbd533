package web

import (
	"bytes"
	"encoding/json"

	"weir"
	"weir/channels"
	"weir/events"
)

// APIVersion is the major version of the API: the number in its paths. The
// description that is kept in the repository carries it, where one that is
// served carries the version of the program.
const APIVersion = "1"

// Description is the description of the whole API as indented JSON, from the
// table of routes alone: nothing is running behind it.
func Description(directory *channels.Directory) ([]byte, error) {
	// The parts that may be missing are here; nobody calls them.
	s := &service{Options: Options{
		Version: APIVersion, Directory: directory,
		Surveys: struct{ Surveys }{}, SurveyStore: struct{ SurveyStore }{}, Events: struct{ events.Log }{},
		Trail: NewTrail(struct{ weir.AuditStore }{}), Minutes: struct{ weir.MinuteStore }{}, Dead: struct{ weir.DeadStore }{},
	}}
	routes := s.routes()
	if err := grant(routes); err != nil {
		return nil, err
	}
	doc, err := describe(routes, s.Options)
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
