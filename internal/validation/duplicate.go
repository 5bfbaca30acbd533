package validation

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strconv"
)

// Duplicate returns the first key that stands twice in an object of a JSON text, with its pointer. Keys that fold makes equal
// are the same. It returns an error if the text is not one JSON value.
func Duplicate(raw []byte, fold func(string) string) (at, key string, err error) {
	decoder := json.NewDecoder(bytes.NewReader(raw))
	at, key, err = duplicateIn(decoder, fold, "", 0)
	if err != nil || key != "" {
		return at, key, err
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return "", "", errors.New("something follows its end")
	}
	return "", "", nil
}

// maxDepth is more than a document has.
const maxDepth = 25

// duplicateIn passes one value.
func duplicateIn(d *json.Decoder, fold func(string) string, at string, depth int) (_, key string, err error) {
	if depth > maxDepth {
		return "", "", errors.New("it is nested too deep")
	}
	token, err := d.Token()
	open, nested := token.(json.Delim)
	if err != nil || !nested {
		return "", "", err
	}
	seen := map[string]bool{}
	for i := 0; d.More(); i++ {
		inner := at + "/" + strconv.Itoa(i)
		if open == '{' {
			token, err := d.Token()
			if err != nil {
				return "", "", err
			}
			name, _ := token.(string)
			inner = at + "/" + Token(name)
			folded := fold(name)
			if seen[folded] {
				return inner, name, nil
			}
			seen[folded] = true
		}
		if at, key, err := duplicateIn(d, fold, inner, depth+1); err != nil || key != "" {
			return at, key, err
		}
	}
	_, err = d.Token() // the end
	return "", "", err
}
