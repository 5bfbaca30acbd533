// Package plainjson writes and reads JSON texts that are written and read very
// often. What it writes is what encoding/json writes, byte for byte; what it reads
// is what encoding/json reads, and the rest it leaves to that.
package plainjson

import "encoding/json"

// AppendText adds a JSON string.
func AppendText(b []byte, s string) []byte {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c > '~' || c == '"' || c == '\\' || c == '<' || c == '>' || c == '&' {
			quoted, _ := json.Marshal(s) //nolint:errchkjson // a string has no error
			return append(b, quoted...)
		}
	}
	return append(append(append(b, '"'), s...), '"')
}
