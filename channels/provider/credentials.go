package provider

import (
	"fmt"
	"net/http"
)

// Credentials are a bearer token or, without one, a user and a password. They
// print only as a placeholder.
type Credentials struct {
	Token    string
	Username string
	Password string
}

func (c Credentials) apply(request *http.Request) {
	switch {
	case c.Token != "":
		request.Header.Set("Authorization", "Bearer "+c.Token)
	case c.Username != "" || c.Password != "":
		request.SetBasicAuth(c.Username, c.Password)
	}
}

const redacted = "[redacted]"

// Format implements fmt.Formatter, so that no verb shows a secret.
func (c Credentials) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte(redacted)) }

// MarshalText implements encoding.TextMarshaler, for the same reason.
func (c Credentials) MarshalText() ([]byte, error) { return []byte(redacted), nil }
