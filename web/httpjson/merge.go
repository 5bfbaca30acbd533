package httpjson

import "maps"

// Merge returns a document after a merge patch (RFC 7396). It modifies neither
// argument.
func Merge(doc, patch any) any {
	p, ok := patch.(map[string]any)
	if !ok {
		return patch
	}
	was, _ := doc.(map[string]any)
	out := make(map[string]any, len(was))
	maps.Copy(out, was)
	for name, v := range p {
		if v == nil {
			delete(out, name)
		} else {
			out[name] = Merge(out[name], v)
		}
	}
	return out
}
