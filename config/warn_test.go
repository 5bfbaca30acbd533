package config_test

import (
	"strings"
	"testing"
	"time"

	"weir/config"
)

func TestWarnings_RouterBehindAProxyIsWarnedAbout(t *testing.T) {
	t.Parallel()
	const key = "JOB_ROUTER_ACCESS_KEYS=c2VjcmV0LXNlY3JldC1zZWNyZXQ="
	for _, c := range []struct {
		environ []string
		want    bool
	}{
		{[]string{key}, true}, {[]string{key, "PUBLIC_URL=http://localhost:8080"}, true},
		{[]string{key, "PUBLIC_URL=https://weir.example"}, false}, {[]string{key, "WEIR_API_TOKENS=0123456789abcdef0123456789abcdef"}, false}, {nil, false},
	} {
		_, warnings, err := config.Load(c.environ)
		if got := strings.Contains(strings.Join(warnings, ""), "behind a proxy"); err != nil || got != c.want {
			t.Errorf("%v: %q, %v; want a warning: %v", c.environ, warnings, err, c.want)
		}
	}
}

// A lease that is longer than a standby holds requests is allowed, and warned about, where there
// can be standbys.
func TestWarnings_LongLeaseIsWarnedAbout(t *testing.T) {
	t.Parallel()
	const database = "DATABASE_URL=mysql://weir:p@db.example:3306/weir"
	for _, c := range []struct {
		environ []string
		want    bool
	}{
		{[]string{database}, false}, {[]string{database, "WEIR_LEASE_TTL=8s"}, false}, {[]string{database, "WEIR_LEASE_TTL=9s"}, true}, {[]string{"WEIR_LEASE_TTL=9s"}, false},
	} {
		_, warnings, err := config.Load(c.environ)
		if got := strings.Contains(strings.Join(warnings, ""), "WEIR_LEASE_TTL is 9s"); err != nil || got != c.want {
			t.Errorf("%v: %q, %v; want a warning: %v", c.environ, warnings, err, c.want)
		}
	}
}

func TestConfig_KeepFinishedIsBounded(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]time.Duration{"": 24 * time.Hour, "7d": 7 * 24 * time.Hour, "1m": time.Minute, "10s": 0, "91d": 0} {
		var environ []string
		if text != "" {
			environ = []string{"JOB_ROUTER_KEEP_FINISHED=" + text}
		}
		c, _, err := config.Load(environ)
		if got := c.RouterKeep.Duration(); (err == nil) != (want != 0) || err == nil && got != want {
			t.Errorf("%q: %v, %v; want %v", text, got, err, want)
		}
	}
}
