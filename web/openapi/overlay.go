package openapi

import (
	_ "embed"
	"encoding/json"
	"fmt"

	"github.com/danielgtaylor/huma/v2"
)

//go:embed overlay.json
var overlayFile []byte

// overlay holds the texts and examples that complete the description. Routes and the
// tags of their types hold the rest.
type overlay struct {
	About string      `json:"about"`
	Tags  []*huma.Tag `json:"tags"` // groups of operations, in display order
	// Schemas and Fields describe what has no description of its own. Fields are by
	// schema and name, because one name means different things in different schemas.
	Schemas map[string]string            `json:"schemas"`
	Fields  map[string]map[string]string `json:"fields"`
	// Problems are examples by code; "malformed" is the one for a body that is not
	// JSON.
	Problems map[string]*huma.Example `json:"problems"`
	// Requests are examples of bodies by operation; Bodies are those of types.
	Requests map[string]any `json:"requests"`
	Bodies   map[string]any `json:"bodies"`
	// Files are the beginnings of bodies that are not JSON, by content type, or by
	// operation and content type.
	Files map[string]string `json:"files"`
}

func readOverlay() (*overlay, error) {
	o := &overlay{}
	if err := json.Unmarshal(overlayFile, o); err != nil {
		return nil, fmt.Errorf("openapi: overlay.json: %w", err)
	}
	return o, nil
}
