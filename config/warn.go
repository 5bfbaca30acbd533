package config

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"weir/operators"
)

// minKeyBytes is the length in bytes below which a key can be guessed.
const minKeyBytes = 16

// warnings returns warnings about values that are allowed but probably not intended.
func (c *Config) warnings() []string {
	var out []string
	for _, t := range c.APITokens {
		if operators.WeakToken(t) {
			out = append(out, fmt.Sprintf("WEIR_API_TOKENS has a token of less than %d bits by its length and characters, which can be guessed; "+
				"create one with openssl rand -hex 16", operators.StrongBits))
			break
		}
	}
	for _, k := range c.RouterKeys {
		if len(k) < minKeyBytes {
			out = append(out, fmt.Sprintf("JOB_ROUTER_ACCESS_KEYS has a key of less than %d bytes, which can be guessed", minKeyBytes))
			break
		}
	}
	if c.Reachable() && len(c.APITokens) == 0 && !c.PeopleLogIn() {
		out = append(out, "WEIR_API_TOKENS is not set: LISTEN_ADDR is reachable by other machines, so serve needs a token of weir token create to start")
	}
	if c.Reachable() && c.PublicURL == "" {
		out = append(out, "PUBLIC_URL is not set: providers call back at "+
			cmp.Or(c.DerivePublicURL(c.ListenAddr), "a port chosen by the system")+", which other machines may not reach")
	}
	if len(c.RouterKeys) > 0 && len(c.APITokens) == 0 && !c.PeopleLogIn() && c.localURL() {
		out = append(out, "JOB_ROUTER_ACCESS_KEYS is set, but neither WEIR_API_TOKENS nor a PUBLIC_URL with the host that clients use: "+
			"behind a proxy, requests without a token to any host other than localhost get 403, except signed ones below /routing/")
	}
	if lease := c.LeaseTTL.Duration(); lease > maxHeldLease && strings.HasPrefix(c.DatabaseURL, "mysql:") {
		out = append(out, fmt.Sprintf("WEIR_LEASE_TTL is %v: when the owner of the database dies, a standby takes over only after that, and a look at the database; "+
			"requests that it holds for 10 s get 503 meanwhile, unless the lease is at most %v", lease, maxHeldLease))
	}
	if c.PeopleLogIn() && len(c.OIDCClientSecret) == 0 {
		out = append(out, "WEIR_OIDC_CLIENT_SECRET is not set: Weir logs people in as a public client, which the provider has to allow")
	}
	settle := min(c.SettleAfter.Duration(), c.GCIdle.Duration())
	if timeout := c.SendTimeout.Duration(); settle > 0 && settle < timeout {
		out = append(out, fmt.Sprintf("WEIR_SETTLE_AFTER and CHNL_BKR_GC_IDLE_MINUTES query the provider after %v, but a dispatch may take %v "+
			"(WEIR_SEND_TIMEOUT): a contact could be sent a second time while the provider is still accepting it", settle, timeout))
	}
	return out
}

// maxHeldLease is the longest lease with which a standby takes over before the requests that it
// holds for 10 s are given up: a look at the database comes on top.
const maxHeldLease = 8 * time.Second

// Unknown finds variables that look like Weir's but are not: they have one of its prefixes, or a
// name that is a typo away from a variable that is not set. It returns a sentence for each.
func Unknown(environ []string) []string {
	env := index(environ)
	var names []string
	for _, v := range variables(&Config{}) {
		names = append(names, v.name)
		if v.secret {
			names = append(names, v.fileName())
		}
	}
	var out []string
	for _, name := range slices.Sorted(maps.Keys(env)) {
		if slices.Contains(names, name) || otherPrograms(name) {
			continue
		}
		near := nearest(name, names)
		d := distance(name, near)
		// A name like that of a variable which is set is hardly a typo of it.
		switch typo := d <= maxTypos && len(name) >= minTypoName && env[near] == ""; {
		case typo, weirPrefix(name) && d <= len(name)/2:
			out = append(out, name+" is not a variable of Weir and has no effect; did you mean "+near+"?")
		case weirPrefix(name):
			out = append(out, name+" is not a variable of Weir and has no effect")
		}
	}
	return out
}

const (
	maxTypos    = 2 // max edit distance of a typo
	minTypoName = 8 // shorter names are too similar to each other
)

// otherPrograms reports whether a name like Weir's belongs to something else: to commands that talk to a
// daemon, to tests, or to Kubernetes, which sets some in the pods beside a service called weir.
func otherPrograms(name string) bool {
	switch name {
	case "WEIR_URL", "WEIR_TOKEN", "WEIR_TOKEN_FILE", "WEIR_ROUTER_KEY", "WEIR_ROUTER_KEY_FILE":
		return true
	}
	return slices.ContainsFunc([]string{"WEIR_TEST_", "WEIR_SERVICE_", "WEIR_PORT"}, func(prefix string) bool { return strings.HasPrefix(name, prefix) })
}

// weirPrefix reports whether a name has a prefix that only Weir uses.
func weirPrefix(name string) bool {
	return strings.HasPrefix(name, "WEIR_") || strings.HasPrefix(name, "CHNL_BKR_") || strings.HasPrefix(name, "JOB_ROUTER_")
}

// nearest returns the name with the smallest edit distance.
func nearest(name string, names []string) string {
	return slices.MinFunc(names, func(a, b string) int { return distance(name, a) - distance(name, b) })
}

// distance returns the Levenshtein distance.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			change := diagonal
			if a[i] != b[j] {
				change++
			}
			diagonal = row[j+1]
			row[j+1] = min(change, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
