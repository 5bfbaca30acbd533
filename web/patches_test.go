package web_test

import (
	"maps"
	"path"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"weir/api"
)

// TestPatches_SendWhatIsZero: a program that fills in the type of a patch can send false, 0, an
// empty text and an empty list, which all mean something else than a member that is absent.
func TestPatches_SendWhatIsZero(t *testing.T) {
	t.Parallel()
	types := map[string]reflect.Type{}
	for _, patch := range []reflect.Type{reflect.TypeFor[api.ChannelPatch](), reflect.TypeFor[api.WebhookPatch](), reflect.TypeFor[api.SurveyPatch](), reflect.TypeFor[api.RespondentPatch]()} {
		types[patch.Name()] = patch
	}
	described := patchesDescribed(t)
	if d := cmp.Diff(described, slices.Sorted(maps.Keys(types))); d != "" {
		t.Errorf("(-described +checked):\n%s", d)
	}
	types["ModePatch"] = reflect.TypeFor[api.ModePatch]()
	for name, patch := range types {
		for i := range patch.NumField() {
			f := patch.Field(i)
			_, options, _ := strings.Cut(f.Tag.Get("json"), ",")
			refused := f.Tag.Get("minLength") == "1" || f.Tag.Get("minItems") == "1"
			switch kind := f.Type.Kind(); {
			case refused, kind == reflect.Pointer:
			case kind == reflect.Map || kind == reflect.Slice:
				if options != "omitzero" {
					t.Errorf("%s.%s: an empty one would be left out; say omitzero", name, f.Name)
				}
			default:
				t.Errorf("%s.%s: its zero value would be left out; say *%s", name, f.Name, f.Type)
			}
		}
	}
}

// patchesDescribed returns the names of the schemas that bodies of PATCH have.
func patchesDescribed(t *testing.T) (names []string) {
	t.Helper()
	for _, ops := range described(t).Paths {
		if op, ok := ops["patch"]; ok {
			for _, c := range op.RequestBody.Content {
				ref, _ := c.Schema["$ref"].(string)
				names = append(names, path.Base(ref))
			}
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}
