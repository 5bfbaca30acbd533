// Package digest makes one digest of several texts.
package digest

import (
	"crypto/sha256"
	"strings"
)

// Of returns the SHA-256 digest of texts in their order. Lists that differ have different digests, whatever bytes
// their texts hold: a NUL separates them, and one within a text is escaped. Texts without a NUL and
// without a byte 0xff, which UTF-8 has not, are hashed as they are.
func Of(texts ...string) [sha256.Size]byte {
	return sha256.Sum256([]byte(join(texts)))
}

func join(texts []string) string {
	escape := strings.NewReplacer("\x00", "\xff\x01", "\xff", "\xff\xff")
	var b strings.Builder
	for i, t := range texts {
		if i > 0 {
			b.WriteByte(0)
		}
		b.WriteString(escape.Replace(t))
	}
	return b.String()
}
