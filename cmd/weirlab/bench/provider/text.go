package provider

import (
	"bytes"
	"encoding/json"
)

// text is a message of a request, as far as the provider needs it.
type text struct{ body, guid, token, to []byte }

// parseMessages reads a JSON array of messages. Objects of plain strings, as
// brokers send them, are read by hand.
func parseMessages(raw []byte) ([]text, bool) {
	if list, ok := parsePlain(raw); ok {
		return list, true
	}
	var list []struct{ Body, GUID, Token, To string }
	if json.Unmarshal(raw, &list) != nil {
		return nil, false
	}
	out := make([]text, len(list))
	for i, m := range list {
		out[i] = text{[]byte(m.Body), []byte(m.GUID), []byte(m.Token), []byte(m.To)}
	}
	return out, true
}

// parsePlain reads an array of objects whose values are strings without escapes, and
// that has no white space; false: it is something else.
func parsePlain(raw []byte) (list []text, ok bool) {
	rest, ok := bytes.CutPrefix(raw, []byte("[{"))
	for ok {
		var t text
		for ok {
			var name, value []byte
			if name, rest, ok = plainString(rest); !ok {
				return nil, false
			}
			if rest, ok = bytes.CutPrefix(rest, []byte(":")); !ok {
				return nil, false
			}
			if value, rest, ok = plainString(rest); !ok {
				return nil, false
			}
			switch string(name) {
			case "body":
				t.body = value
			case "guid":
				t.guid = value
			case "token":
				t.token = value
			case "to":
				t.to = value
			}
			rest, ok = bytes.CutPrefix(rest, []byte(","))
		}
		list = append(list, t)
		if bytes.Equal(rest, []byte("}]")) {
			return list, true
		}
		rest, ok = bytes.CutPrefix(rest, []byte("},{"))
	}
	return nil, false
}

// plainString reads a string without escapes.
func plainString(raw []byte) (value, rest []byte, ok bool) {
	if len(raw) == 0 || raw[0] != '"' {
		return nil, nil, false
	}
	end := bytes.IndexByte(raw[1:], '"')
	if end < 0 || bytes.IndexByte(raw[1:1+end], '\\') >= 0 {
		return nil, nil, false
	}
	return raw[1 : 1+end], raw[2+end:], true
}
