package surveyapi

import (
	"mime"
	"net/http"
	"strings"

	"weir"
	"weir/surveys/respondents"
	"weir/web/route"
	"weir/web/wire"
)

const (
	CSVType    = "text/csv"
	NDJSONType = "application/x-ndjson"
)

// postRespondents adds respondents: a few as JSON, or a file of any length row
// by row.
func (s *Service) postRespondents(c *route.Call, w http.ResponseWriter, rt *route.Route) error {
	ctx, cancel := route.StepTimeout(c)
	defer cancel()
	v, err := s.survey(ctx, c.Request.PathValue("survey"))
	if err == nil {
		err = checkAcceptsRespondents(v)
	}
	if err != nil {
		wire.Discard(c.Request.Body)
		return err
	}
	format, encoding, err := formatOf(c.Request, rt)
	if err != nil {
		wire.Discard(c.Request.Body)
		return err
	}
	if format == "" {
		return s.importJSON(&route.Call{Context: ctx, Request: c.Request, Query: c.Query}, w, v, rt)
	}
	if given := c.Query.Text("encoding"); given != "" {
		encoding = given
	}
	return s.importRows(c, w, v, format, encoding)
}

// formatOf returns the format by Content-Type; it is empty for JSON.
func formatOf(r *http.Request, rt *route.Route) (_ respondents.Format, encoding string, err error) {
	got, params, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	compression := r.Header.Get("Content-Encoding")
	known := compression == "" || strings.EqualFold(compression, "identity")
	switch {
	case err == nil && known && got == CSVType:
		return respondents.CSV, params["charset"], nil
	case err == nil && known && got == NDJSONType:
		return respondents.NDJSON, params["charset"], nil
	case err == nil && got == wire.JSONType:
		return "", "", nil // ReadJSON reports its errors
	}
	return "", "", weir.Errorf(weir.CodeContentType, "send the body as %s, not compressed", strings.Join(append([]string{wire.JSONType}, rt.Uploads...), ", "))
}
