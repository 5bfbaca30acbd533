package docs

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
)

// Curl returns the command for an operation, filled with the examples of the
// description.
func (op *operation) Curl() string {
	path := op.Path
	var query []string
	for _, p := range op.Parameters {
		switch {
		case p.In == "path":
			value := fmt.Sprint(p.Example)
			if p.Example == nil {
				value = "…"
			}
			path = strings.ReplaceAll(path, "{"+p.Name+"}", value)
		case p.In == "query" && p.Required:
			query = append(query, p.Name+"="+url.QueryEscape(fmt.Sprint(p.Example)))
		}
	}
	if len(query) > 0 {
		path += "?" + strings.Join(query, "&")
	}
	parts := []string{"curl"}
	if op.Method != "GET" {
		parts[0] += " -X " + op.Method
	}
	parts[0] += ` "$WEIR_URL` + path + `"`
	if len(op.Security) > 0 {
		parts = append(parts, `-H "Authorization: Bearer $WEIR_TOKEN"`)
	}
	if body, ok := op.RequestBody.Content["application/json"]; ok {
		parts = append(parts, `-H "Content-Type: application/json"`, "-d "+quoted(indented(body.Example)))
	}
	return strings.Join(parts, " \\\n  ")
}

// quoted quotes text as one shell word.
func quoted(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }

// indented formats JSON with indentation. A JSON string is unquoted, and invalid
// JSON stays as it is.
func indented(raw json.RawMessage) string {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return text
	}
	var out bytes.Buffer
	if err := json.Indent(&out, raw, "", "  "); err != nil {
		return string(raw)
	}
	return out.String()
}
