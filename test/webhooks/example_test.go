package judge

import (
	"net/http"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
)

// check is the example in docs/webhooks.md.
func check(secret string, rawBody []byte, r *http.Request) error {
	wh, err := standardwebhooks.NewWebhook(secret) // github.com/standard-webhooks/standard-webhooks/libraries/go
	if err != nil {
		return err
	}
	return wh.Verify(rawBody, r.Header)
}

var _ = check
