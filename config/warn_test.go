package config_test

import (
	"strings"
	"testing"

	"weir/config"
)

func TestRouterBehindAProxyIsWarnedAbout(t *testing.T) {
	t.Parallel()
	const key = "JOB_ROUTER_ACCESS_KEYS=c2VjcmV0LXNlY3JldC1zZWNyZXQ="
	for _, c := range []struct {
		environ []string
		want    bool
	}{
		{[]string{key}, true}, {[]string{key, "PUBLIC_URL=http://localhost:8080"}, true},
		{[]string{key, "PUBLIC_URL=https://weir.example"}, false}, {[]string{key, "WEIR_API_TOKENS=a-token-that-is-long"}, false}, {nil, false},
	} {
		_, warnings, err := config.Load(c.environ)
		if got := strings.Contains(strings.Join(warnings, ""), "behind a proxy"); err != nil || got != c.want {
			t.Errorf("%v: %q, %v; want a warning: %v", c.environ, warnings, err, c.want)
		}
	}
}
