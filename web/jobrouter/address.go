package jobrouter

import (
	"maps"
	"slices"
	"strconv"

	"weir"
	"weir/routing/resource"
)

// addressesOf returns a mistake for each function or webhook address in a patch
// that must not be called: once set, every call to it would fail. Only distribution
// and classification policies are searched, because elsewhere a label may have any
// name.
func (s *service) addressesOf(kind resource.Kind, patch map[string]any) []weir.FieldError {
	if s.Address != nil && (kind == resource.Distribution || kind == resource.Classification) {
		return s.addresses("", patch)
	}
	return nil
}

func (s *service) addresses(at string, v any) (wrong []weir.FieldError) {
	switch v := v.(type) {
	case []any:
		for i := range v {
			wrong = append(wrong, s.addresses(at+"/"+strconv.Itoa(i), v[i])...)
		}
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			here := at + "/" + escapePointer(name)
			uri, ok := v[name].(string)
			switch name {
			case "functionUri", "webhookUri", "authorizationServerUri":
				if !ok || uri == "" {
					continue
				}
				if err := s.Address(uri); err != nil {
					wrong = weir.AddMistakes(wrong, weir.FieldError{Pointer: here, Code: "address", Detail: err.Error() + "; WEIR_OUTBOUND_ALLOW has the exceptions"})
				}
			default:
				wrong = append(wrong, s.addresses(here, v[name])...)
			}
		}
	}
	return wrong
}
