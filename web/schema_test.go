package web

import (
	"testing"

	"github.com/danielgtaylor/huma/v2"
)

// TestCompileRefusesWhatItWouldOverlook: a tag that the checker does not
// support is a startup error, not a gap in validation.
func TestCompileRefusesWhatItWouldOverlook(t *testing.T) {
	t.Parallel()
	registry := huma.NewMapRegistry("#/components/schemas/", huma.DefaultSchemaNamer)
	if _, err := compile(registry, registry.Schema(typeOf[ContactsBody](), true, "")); err != nil {
		t.Fatalf("a type of the API: %v", err)
	}
	for name, s := range map[string]*huma.Schema{
		"number": registry.Schema(typeOf[struct {
			A float64 `multipleOf:"0.5"`
		}](), false, "a"),
		"no type": {},
		"format": registry.Schema(typeOf[struct {
			A string `format:"email"`
		}](), false, "b"),
		"multipleOf": registry.Schema(typeOf[struct {
			A int `multipleOf:"5"`
		}](), false, "c"),
		"anyOf":      {Type: "object", AnyOf: []*huma.Schema{{Type: "string"}}},
		"bad regexp": {Type: "string", Pattern: "("},
		"inside": registry.Schema(typeOf[struct {
			A []struct {
				B int `exclusiveMinimum:"1"`
			}
		}](), false, "d"),
	} {
		if _, err := compile(registry, s); err == nil {
			t.Errorf("%s: compiled", name)
		}
	}
}
