package persistence

import "encoding/json"

// textOrNull returns NULL for an empty text, which costs less to bind.
func textOrNull(text string) any {
	if text == "" {
		return nil
	}
	return text
}

func number(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

// appendText appends a JSON string. Most texts are plain and need no encoder.
func appendText(b []byte, text string) []byte {
	if !isPlain(text) {
		encoded, _ := json.Marshal(text) // a string always encodes
		return append(b, encoded...)
	}
	return append(append(append(b, '"'), text...), '"')
}

// isPlain reports whether a text is the same in JSON.
func isPlain(text string) bool {
	for i := range len(text) {
		if c := text[i]; c < 0x20 || c > 0x7e || c == '"' || c == '\\' {
			return false
		}
	}
	return true
}
