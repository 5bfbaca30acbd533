package people

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
)

// Hash identifies an address under a key. It is the first half of an HMAC-SHA-256.
type Hash [16]byte

// Key is a secret under which addresses are hashed. Without it a phone number cannot be
// found from its hash; with it in seconds.
type Key struct {
	id     string
	secret []byte
}

// ConfiguredKey returns the key that a configured text of any length stands for.
func ConfiguredKey(text []byte) Key {
	digest := sha256.Sum256(text)
	return NewKey(digest[:])
}

// NewKey returns the key of a secret.
func NewKey(secret []byte) Key {
	return Key{id: hex.EncodeToString(mac(secret, "id")[:8]), secret: secret}
}

// ID identifies the key without revealing it.
func (k Key) ID() string { return k.id }

// History hashes a canonical address for the record of earlier contacts, so that it cannot
// be joined with consents.
func (k Key) History(address string) Hash {
	return Hash(mac(k.secret, "history 1:"+address)[:16])
}

// Hash hashes a canonical address. The label before it keeps these hashes apart from
// others of the same address under the same key; the number is the version of this form.
func (k Key) Hash(address string) Hash {
	return Hash(mac(k.secret, "consent 1:"+address)[:16])
}

func mac(secret []byte, text string) []byte {
	m := hmac.New(sha256.New, secret)
	m.Write([]byte(text))
	return m.Sum(nil)
}
