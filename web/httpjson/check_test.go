package httpjson

import (
	"reflect"
	"testing"

	"github.com/danielgtaylor/huma/v2"
)

// TestCheck_CompileRefusesWhatItWouldOverlook: a tag that the checker does not
// support is a startup error, not a gap in validation.
func TestCheck_CompileRefusesWhatItWouldOverlook(t *testing.T) {
	t.Parallel()
	registry := huma.NewMapRegistry("#/components/schemas/", huma.DefaultSchemaNamer)
	if _, err := Compile(registry, registry.Schema(reflect.TypeFor[struct {
		Key string            `json:"key,omitempty" maxLength:"2" pattern:"^a*$"`
		All []string          `json:"all" minItems:"1"`
		By  map[string]string `json:"by,omitempty" maxProperties:"3"`
	}](), true, "")); err != nil {
		t.Fatalf("a type with known keywords: %v", err)
	}
	for name, s := range map[string]*huma.Schema{
		"number": registry.Schema(reflect.TypeFor[struct {
			A float64 `multipleOf:"0.5"`
		}](), false, "a"),
		"no type": {},
		"format": registry.Schema(reflect.TypeFor[struct {
			A string `format:"email"`
		}](), false, "b"),
		"multipleOf": registry.Schema(reflect.TypeFor[struct {
			A int `multipleOf:"5"`
		}](), false, "c"),
		"anyOf":      {Type: "object", AnyOf: []*huma.Schema{{Type: "string"}}},
		"bad regexp": {Type: "string", Pattern: "("},
		"inside": registry.Schema(reflect.TypeFor[struct {
			A []struct {
				B int `exclusiveMinimum:"1"`
			}
		}](), false, "d"),
	} {
		if _, err := Compile(registry, s); err == nil {
			t.Errorf("%s: compiled", name)
		}
	}
}
