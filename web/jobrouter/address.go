package jobrouter

import (
	"maps"
	"slices"
	"strconv"

	"weir"
)

// addresses finds addresses of functions and webhooks in a patch that may not be
// called. Set, they would let every call fail, and score 0.
func (s *service) addresses(at string, v any) (wrong []weir.FieldError) {
	if s.Address == nil {
		return nil
	}
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
					wrong = weir.AddMistakes(wrong, weir.FieldError{Pointer: here, Code: "address", Detail: err.Error()})
				}
			default:
				wrong = append(wrong, s.addresses(here, v[name])...)
			}
		}
	}
	return wrong
}
