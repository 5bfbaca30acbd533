// Package plainjson writes and reads JSON texts of very frequent kinds. It writes
// what encoding/json writes, byte for byte; it reads what encoding/json reads, and
// leaves everything that it does not support to that package.
package plainjson

import "encoding/json"

// AppendText appends a JSON string.
func AppendText(b []byte, s string) []byte {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c > '~' || c == '"' || c == '\\' || c == '<' || c == '>' || c == '&' {
			quoted, _ := json.Marshal(s) //nolint:errchkjson // a string has no error
			return append(b, quoted...)
		}
	}
	return append(append(append(b, '"'), s...), '"')
}
