package plainjson

import "encoding/json"

// ReplaceTexts returns a JSON text with each text in it replaced by what by returns, and each
// name by what rename returns; nil if it is not valid. by gets the name of the member that the
// text belongs to, alone or within arrays, and the number of objects and arrays around it.
func ReplaceTexts(raw []byte, rename func(name string) string, by func(name, text string, depth int) string) []byte {
	if !json.Valid(raw) { // below, a text without end would never end
		return nil
	}
	out := make([]byte, 0, len(raw)+32)
	r := reader{raw: raw}
	var around []string // for each object and array around: the name before it
	name := ""
	for r.at < len(raw) {
		c := raw[r.at]
		if c == '"' {
			quoted, plain, valid := r.text()
			value, _ := decoded(quoted, plain && valid)
			text, _ := value.(string)
			if r.space() == ':' {
				name = text
				if shown := rename(name); shown != name {
					out = AppendText(out, shown)
				} else {
					out = append(out, quoted...)
				}
			} else {
				out = AppendText(out, by(name, text, len(around)))
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
		r.at++
	}
	return out
}
