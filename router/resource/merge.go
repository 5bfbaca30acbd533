package resource

import (
	"encoding/json"
	"errors"
	"reflect"

	"weir"
)

// Merge returns a specification merged with a JSON merge patch (RFC 7396): objects
// member by member, arrays as a whole; null removes a member. It does not modify
// the patch.
func Merge[T any](spec T, patch map[string]any) (out T, err error) {
	// Through JSON, because a patch is about the members of the JSON form, and a member that it
	// removes gets its default by being absent.
	current := map[string]any{}
	if !reflect.ValueOf(spec).IsZero() { // most jobs are new
		text, err := json.Marshal(spec)
		if err == nil {
			err = json.Unmarshal(text, &current)
		}
		if err != nil {
			return out, err
		}
	}
	text, err := json.Marshal(mergeObject(current, patch))
	if err != nil {
		return out, err
	}
	if len(text) > maxSpec {
		return out, Invalid("", "length", "all members together must have at most %d bytes", maxSpec)
	}
	if err := json.Unmarshal(text, &out); err != nil {
		return out, wrongType(err)
	}
	return out, nil
}

// mergeObject merges a patch into an object, in place.
func mergeObject(into, patch map[string]any) map[string]any {
	for k, v := range patch {
		switch v := v.(type) {
		case nil:
			delete(into, k)
		case map[string]any:
			below, ok := into[k].(map[string]any)
			if !ok {
				// RFC 7396: whatever was there, the member becomes an object, without the nulls
				// of the patch.
				below = map[string]any{}
			}
			into[k] = mergeObject(below, v)
		default:
			into[k] = v
		}
	}
	return into
}

// wrongType returns an error that names the member with the wrong type.
func wrongType(err error) error {
	if e, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return Invalid("/"+e.Field, "type", "must not be a %s", e.Value)
	}
	return weir.Errorf(weir.CodeInvalid, "the body cannot be decoded: %s", err.Error())
}
