package surveys

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

// Tokens makes a token for each respondent: the id and a code that only this
// installation can compute. Ids of an import are consecutive and can be guessed,
// tokens cannot.
type Tokens struct{ key []byte }

// NewTokens returns the Tokens of a secret key.
func NewTokens(key []byte) Tokens { return Tokens{key} }

// tokenBytes is the number of bytes of the HMAC in a token.
const tokenBytes = 16

// Of returns the token of a respondent; without a key it is only the id.
func (t Tokens) Of(id RespondentID) string {
	if len(t.key) == 0 {
		return id.String()
	}
	mac := hmac.New(sha256.New, t.key)
	mac.Write([]byte("respondent " + id.String()))
	return id.String() + "-" + hex.EncodeToString(mac.Sum(nil)[:tokenBytes])
}

// Parse parses an id or a token. It rejects a token with another code.
func (t Tokens) Parse(s string) (RespondentID, error) {
	text, _, token := strings.Cut(s, "-")
	id, err := ParseRespondentID(text)
	if err == nil && token && !hmac.Equal([]byte(s), []byte(t.Of(id))) {
		return 0, errNoRespondent
	}
	return id, err
}
