package webhooksign_test

import (
	"strings"
	"testing"
	"time"

	"weir/internal/webhooksign"
)

// The vector of the specification's libraries.
func TestWebhooksign_AgreesWithThePublishedVector(t *testing.T) {
	t.Parallel()
	h, err := webhooksign.Header("msg_p5jXN8AQM9LWM0D4loKWxJek", time.Unix(1614265330, 0), []byte(`{"test": 2432232314}`), "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
	if err != nil {
		t.Fatal(err)
	}
	if got := h.Get("webhook-signature"); got != "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=" {
		t.Errorf("the signature is %s", got)
	}
	if h.Get("webhook-id") != "msg_p5jXN8AQM9LWM0D4loKWxJek" || h.Get("webhook-timestamp") != "1614265330" {
		t.Errorf("%v", h)
	}
}

func TestWebhooksign_RefusesBadSecrets(t *testing.T) {
	t.Parallel()
	one, two := webhooksign.NewSecret(), webhooksign.NewSecret()
	if one == two {
		t.Fatal("two secrets are the same")
	}
	h, err := webhooksign.Header("a", time.Unix(1, 0), nil, one, two)
	if err != nil || strings.Count(h.Get("webhook-signature"), "v1,") != 2 {
		t.Errorf("%v (%v)", h, err)
	}
	for _, bad := range []string{"", "whsec_", "whsec_AAAA", "whsec_%%%", strings.TrimPrefix(one, "whsec_")} {
		if _, err := webhooksign.Header("a", time.Unix(1, 0), nil, bad); err == nil || bad != "" && strings.Contains(err.Error(), bad) && bad != "whsec_" {
			t.Errorf("secret %q: %v", bad, err)
		}
	}
}
