package openapi

import (
	"math"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"weir/ops"
	"weir/web/route"
	"weir/web/wire"
)

// namePattern is the pattern of names in paths; see ChannelName and surveyName.
const namePattern = "^[a-z0-9][a-z0-9._-]{0,62}$"

func parametersOf(rt *route.Route, fields map[string]string) []*huma.Param {
	var params []*huma.Param
	for part := range strings.SplitSeq(rt.Path, "/") {
		if name, ok := strings.CutPrefix(part, "{"); ok {
			name, _, _ = strings.Cut(name, "}")
			params = append(params, pathParameter(rt.Tag, name))
		}
	}
	for i := range rt.Query {
		p := &rt.Query[i]
		params = append(params, &huma.Param{Name: p.Name, In: "query", Description: describeParameter(p, fields), Schema: parameterSchema(p)})
	}
	return params
}

func parameterSchema(p *wire.Parameter) *huma.Schema {
	s := &huma.Schema{Type: p.Kind, Default: p.Default}
	switch p.Kind {
	case "integer":
		low, high := float64(p.Minimum), float64(p.Maximum)
		s.Minimum = &low
		// A float64 would round this maximum to a number out of range.
		if p.Maximum != math.MaxInt64 {
			s.Maximum = &high
		}
		if p.Maximum > math.MaxInt32 {
			s.Format = "int64"
		}
	case "string":
		s.MaxLength, s.Format = new(wire.MaxParameter), p.Format
		switch {
		case p.Enum != nil && p.Single:
			for _, word := range p.Enum {
				s.Enum = append(s.Enum, word)
			}
		case p.Enum != nil:
			word := "(" + strings.Join(p.Enum, "|") + ")"
			s.Pattern = "^(" + word + "(," + word + ")*)?$"
		}
	}
	return s
}

func describeParameter(p *wire.Parameter, fields map[string]string) string {
	text := p.Description
	if text == "" {
		text = fields[p.Name]
	}
	if p.Enum == nil {
		return text
	}
	return text + ": " + strings.Join(p.Enum, ", ")
}

// pathParameter describes a wildcard of a path.
func pathParameter(tag, name string) *huma.Param {
	p := &huma.Param{Name: name, In: "path", Required: true, Schema: &huma.Schema{Type: "string", MinLength: new(1)}}
	switch name {
	case "channel":
		p.Description, p.Schema.Pattern, p.Example = "name of the channel", namePattern, "texts"
	case "survey":
		p.Description, p.Schema.Pattern, p.Example = "name of the survey", namePattern, "flu"
	case "id":
		switch tag {
		case "respondents":
			p.Description, p.Schema.Pattern, p.Example = "id of the respondent", "^r[0-9a-z]+$", "r2s"
		default:
			p.Description, p.Schema.Pattern, p.Example = "id of the contact", "^[0-9a-z]+-[0-9a-z]+$", "1-2s"
		}
	case "secret":
		p.Description = "the secret of the channel's callbacks, which Weir made"
	case "path":
		p.Description = "what the channel type tells callbacks apart by; it may have several parts"
	}
	return p
}

// lastEventID is the header with which a client resumes a stream.
func lastEventID() *huma.Param {
	return &huma.Param{
		Name: "Last-Event-ID", In: "header", Description: "of a stream: id of the last event that was read; the stream goes on behind it",
		Schema: &huma.Schema{Type: "string", Pattern: "^[0-9]+$"},
	}
}

// security states in the API description that a token needs one of the scopes.
func security(oneOf []ops.Scope) []map[string][]string {
	out := make([]map[string][]string, len(oneOf))
	for i, scope := range oneOf {
		out[i] = map[string][]string{"token": {string(scope)}}
	}
	return out
}
