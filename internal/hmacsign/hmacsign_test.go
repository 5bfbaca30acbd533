package hmacsign_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"weir/internal/hmacsign"
)

const secret = "YW4gYWNjZXNzIGtleSBvZiAzMiBieXRlcywgZXhhY3Q="

// The values were computed by another program from the published rule.
func TestHmacsign_SignsByThePublishedRule(t *testing.T) {
	t.Parallel()
	key, err := hmacsign.ParseKey(secret + "\n")
	if err != nil {
		t.Fatal(err)
	}
	now := time.Date(2023, 11, 6, 1, 59, 8, 9, time.FixedZone("", 3600))
	const nothing = "47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU="
	for _, c := range []struct{ method, target, body, hash, signature string }{
		{
			"PATCH", "/routing/workers/worker-1?api-version=2024-01-18-preview", `{"availableForOffers":false}`,
			"YyxSFahH89HrcbR5MfNMOIXBUitl+mNbRxD/1gV07DI=", "vrdRVr63OroLcU8QDhyMTRaZtA5juUXMhcWf4xeieyo=",
		},
		{"GET", "/routing/queues/a%20b%2Fc%3Ad?maxpagesize=2&api-version=2024-01-18-preview", "", nothing, "MXF0z28Q32LFwOmZBZP6B/NJllH82NSR+k5yUD7+YMI="},
	} {
		r, err := http.NewRequestWithContext(t.Context(), c.method, "https://router.example:8443"+c.target, strings.NewReader(c.body))
		if err != nil {
			t.Fatal(err)
		}
		key.Sign(r, []byte(c.body), now)
		want := "HMAC-SHA256 SignedHeaders=x-ms-date;host;x-ms-content-sha256&Signature=" + c.signature
		if got := r.Header.Get("Authorization"); got != want {
			t.Errorf("%s %s: %s", c.method, c.target, got)
		}
		if date, hash := r.Header.Get("x-ms-date"), r.Header.Get("x-ms-content-sha256"); date != "Mon, 06 Nov 2023 00:59:08 GMT" || hash != c.hash {
			t.Errorf("%s, %s", date, hash)
		}
	}
}

func TestHmacsign_KeysAreCheckedAndDoNotPrint(t *testing.T) {
	t.Parallel()
	for _, bad := range []string{"", "no base64!", "c2hvcnQ="} {
		if _, err := hmacsign.ParseKey(bad); err == nil || bad != "" && strings.Contains(err.Error(), bad) {
			t.Errorf("%q: %v", bad, err)
		}
	}
	key, _ := hmacsign.ParseKey(secret)
	marshaled, err := json.Marshal(map[string]any{"key": key})
	for _, s := range []string{fmt.Sprintf("%v %+v %#v %s %q %x", key, key, &key, key, struct{ K hmacsign.Key }{key}, key), string(marshaled)} {
		if err != nil || strings.Contains(s, "access") || strings.Contains(s, secret[:8]) || strings.Contains(s, "616e206163") {
			t.Errorf("it prints as %s", s)
		}
	}
}
