package api

import (
	"encoding/json"
	"slices"
	"strings"

	"weir"
	"weir/internal/validation"
	"weir/web/httpjson"
	"weir/web/route"
)

// readBrake returns the brake of a document after the schema check; nil if there is none. It
// adds the mistakes that the schema does not find.
func readBrake(doc any, wrong *validation.Errors) *weir.Brake {
	if doc == nil {
		return nil
	}
	raw, err := json.Marshal(doc)
	if err != nil {
		return nil
	}
	b := &weir.Brake{}
	_ = json.Unmarshal(raw, b) // it skips values of a wrong type, which the schema reports
	bySchema := slices.Clone(*wrong)
	for _, f := range b.Check() {
		f.Pointer = "/brake" + f.Pointer
		reported := slices.ContainsFunc(bySchema, func(g weir.FieldError) bool {
			return g.Pointer == f.Pointer || f.Pointer == "/brake" && strings.HasPrefix(g.Pointer, "/brake")
		})
		if !reported {
			wrong.Append(f)
		}
	}
	return b
}

// patchBrake merges the brake of a patch into a channel. body checks the body that would
// write the channel.
func patchBrake(ch *weir.Channel, c *route.Call, body *httpjson.Checker) {
	patch, given := c.Body["brake"]
	switch patch.(type) {
	case nil:
		if given {
			ch.Brake = nil
		}
	case map[string]any:
		doc := httpjson.Merge(brakeDocument(ch.Brake), patch)
		body.Check(map[string]any{"type": ch.Type, "brake": doc}, "", &c.Errors)
		ch.Brake = readBrake(doc, &c.Errors)
	}
}

// brakeDocument returns a brake as decoded JSON.
func brakeDocument(b *weir.Brake) map[string]any {
	out := map[string]any{}
	if raw, err := json.Marshal(b); err == nil && b != nil {
		_ = json.Unmarshal(raw, &out)
	}
	return out
}
