package router

import (
	"reflect"
	"slices"
	"strings"

	"weir/router"
	"weir/router/label"
)

// viewNamed returns a queue or a policy as clients see it: what they state, as the tags of package
// resource say. Members are those of the kind of an object. Single members without a value are left
// out, and collections are always there, if need be empty: clients of the API rely on both. Secrets
// are redacted; clients send whole policies back, redacted credentials included, and withCredentials
// restores them.
func viewNamed[T any](n *router.Named[T]) map[string]any {
	out := viewObject(reflect.ValueOf(&n.Spec).Elem(), nil)
	out["etag"], out["id"] = etag(n.Version), n.ID
	return out
}

// viewObject returns the members of a struct, or only those with these names.
func viewObject(v reflect.Value, only []string) map[string]any {
	out := make(map[string]any, v.NumField()+2)
	kind := v.FieldByName("Kind")
	for f, field := range v.Fields() {
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		kinds, foreign := f.Tag.Lookup("kinds")
		switch {
		case f.Tag.Get("readOnly") != "", only != nil && !slices.Contains(only, name):
		case foreign && !slices.Contains(strings.Split(kinds, ","), kind.String()):
		case field.Kind() == reflect.Slice, field.Kind() == reflect.Map, options == "", f.Tag.Get("shown") != "", !field.IsZero():
			out[name] = viewMember(field, f.Tag)
		case f.Tag.Get("default") != "": // it is stored as the empty text
			out[name] = f.Tag.Get("default")
		}
	}
	return out
}

func viewMember(v reflect.Value, tag reflect.StructTag) any {
	switch v.Kind() {
	case reflect.Pointer:
		return viewMember(v.Elem(), tag)
	case reflect.Slice:
		out := make([]any, v.Len())
		for i := range out {
			out[i] = viewMember(v.Index(i), tag)
		}
		return out
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[label.Value]() {
			break
		}
		var only []string
		if names, ok := tag.Lookup("only"); ok {
			only = strings.Split(names, ",")
		}
		return viewObject(v, only)
	case reflect.Map:
		if v.IsNil() {
			return struct{}{}
		}
	default:
	}
	if tag.Get("secret") != "" {
		return redacted
	}
	return v.Interface() // the engine never modifies a specification that it has returned
}
