package web

import (
	"math"
	"strings"

	"github.com/danielgtaylor/huma/v2"
)

// namePattern is the pattern of names in paths; see channelName and surveyName.
const namePattern = "^[a-z0-9][a-z0-9._-]{0,62}$"

func (rt *route) parameters() []*huma.Param {
	var params []*huma.Param
	for part := range strings.SplitSeq(rt.path, "/") {
		if name, ok := strings.CutPrefix(part, "{"); ok {
			name, _, _ = strings.Cut(name, "}")
			params = append(params, pathParameter(rt.tag, name))
		}
	}
	for i := range rt.query {
		p := &rt.query[i]
		params = append(params, &huma.Param{Name: p.name, In: "query", Description: p.describe(), Schema: p.schema()})
	}
	return params
}

func (p *parameter) schema() *huma.Schema {
	s := &huma.Schema{Type: p.kind, Default: p.fallback}
	switch p.kind {
	case "integer":
		low, high := float64(p.minimum), float64(p.maximum)
		s.Minimum = &low
		// A float64 would round this maximum to a number out of range.
		if p.maximum != math.MaxInt64 {
			s.Maximum = &high
		}
		if p.maximum > math.MaxInt32 {
			s.Format = "int64"
		}
	case "string":
		s.MaxLength, s.Format = new(mostParameter), p.format
		switch {
		case p.enum != nil && p.single:
			for _, word := range p.enum {
				s.Enum = append(s.Enum, word)
			}
		case p.enum != nil:
			word := "(" + strings.Join(p.enum, "|") + ")"
			s.Pattern = "^(" + word + "(," + word + ")*)?$"
		}
	}
	return s
}

func (p *parameter) describe() string {
	text := p.description
	if text == "" {
		text = fieldHelp()[p.name]
	}
	if p.enum == nil {
		return text
	}
	return text + ": " + strings.Join(p.enum, ", ")
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
