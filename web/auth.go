package web

import (
	"crypto/sha256"
	"crypto/subtle"
	"net/http"
	"strings"

	"weir"
)

// tokenHash is what is kept of a token.
type tokenHash [sha256.Size]byte

func hashTokens(tokens []string) []tokenHash {
	hashes := make([]tokenHash, 0, len(tokens))
	for _, t := range tokens {
		hashes = append(hashes, sha256.Sum256([]byte(t)))
	}
	return hashes
}

// authorised tells whether a request may use the API. Every token is compared,
// in constant time, so that the answer's timing says nothing.
func (s *service) authorised(r *http.Request) bool {
	if len(s.tokens) == 0 {
		return true
	}
	scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	given := sha256.Sum256([]byte(strings.TrimSpace(token)))
	found := 0
	for i := range s.tokens {
		found |= subtle.ConstantTimeCompare(given[:], s.tokens[i][:])
	}
	return found == 1 && strings.EqualFold(scheme, "Bearer")
}

func errUnauthorised() error {
	return weir.Errorf(weir.CodeUnauthorised, "a bearer token is needed: Authorization: Bearer <token>")
}
