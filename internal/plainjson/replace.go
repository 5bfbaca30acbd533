package plainjson

import (
	"bytes"
	"encoding/json"
)

// ReplaceTexts returns a JSON text with each text in it replaced by what by returns, and each
// name by what rename returns; nil if it is not valid. by gets the name of the member that the
// text belongs to, alone or within arrays, and the number of objects and arrays around it.
func ReplaceTexts(raw []byte, rename func(name string) string, by func(name, text string, depth int) string) []byte {
	if !json.Valid(raw) { // below, a text without end would never end
		return nil
	}
	out := make([]byte, 0, len(raw)+32)
	var around []string // for each object and array around: the name before it
	name := ""
	for at := 0; at < len(raw); at++ {
		c := raw[at]
		if c == '"' {
			begin := at
			for at++; raw[at] != '"'; at++ {
				if raw[at] == '\\' {
					at++
				}
			}
			quoted := raw[begin : at+1]
			var text string
			_ = json.Unmarshal(quoted, &text) // it is valid
			if rest := bytes.TrimLeft(raw[at+1:], " \t\r\n"); len(rest) == 0 || rest[0] != ':' {
				out = AppendText(out, by(name, text, len(around)))
			} else if name = text; rename(name) != name {
				out = AppendText(out, rename(name))
			} else {
				out = append(out, quoted...)
			}
			continue
		}
		switch c {
		case '{', '[':
			around = append(around, name)
		case '}', ']':
			name, around = around[len(around)-1], around[:len(around)-1]
		}
		out = append(out, c)
	}
	return out
}
