package operators

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"unicode/utf8"
)

// personPrefix begins the id of a person. No id of a token has a colon.
const personPrefix = "oidc:"

// MaxPersonID is the max length in characters of the id of a person. Columns for ids of tokens
// and people have this length.
const MaxPersonID = 63

// PersonID returns the id under which logs and the audit log have a person: oidc:ana@example.org.
// A longer name is cut, and a digest of the subject, by which the provider identifies the person,
// tells apart people whose names begin alike.
func PersonID(name, subject string) string {
	id := personPrefix + name
	if utf8.RuneCountInString(id) <= MaxPersonID {
		return id
	}
	digest := sha256.Sum256([]byte(subject))
	tail := "~" + hex.EncodeToString(digest[:4])
	return string([]rune(id)[:MaxPersonID-len(tail)]) + tail
}

// PersonName returns the name in the id of a person; ok is false for the id of a token.
func PersonName(id string) (name string, ok bool) { return strings.CutPrefix(id, personPrefix) }
