package config

import (
	"cmp"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	"weir/ops"
)

// shortToken is the length in bytes below which a key can be guessed.
const shortToken = 16

// warnings returns warnings about values that are allowed but probably not intended.
func (c *Config) warnings() []string {
	var out []string
	for _, t := range c.APITokens {
		if ops.WeakToken(t) {
			out = append(out, fmt.Sprintf("WEIR_API_TOKENS has a token of less than %d bits by its length and characters; it can be guessed, and wrong tokens of others hold it up; "+
				"use openssl rand -hex 16", ops.StrongBits))
			break
		}
	}
	for _, k := range c.RouterKeys {
		if len(k) < shortToken {
			out = append(out, fmt.Sprintf("JOB_ROUTER_ACCESS_KEYS has a key of less than %d bytes; it can be guessed", shortToken))
			break
		}
	}
	if c.Reachable() && len(c.APITokens) == 0 {
		out = append(out, "WEIR_API_TOKENS is not set: serve listens on LISTEN_ADDR, which other machines reach, only if weir token create has made a token")
	}
	if c.Reachable() && c.PublicURL == "" {
		out = append(out, "PUBLIC_URL is not set: providers are told to call back at "+
			cmp.Or(c.DerivePublicURL(c.ListenAddr), "the port that the system chooses")+", which those on other machines may not reach")
	}
	if u, _ := url.Parse(c.PublicURL); len(c.RouterKeys) > 0 && len(c.APITokens) == 0 && (u == nil || u.Hostname() == "" || loopback(u.Hostname())) {
		out = append(out, "JOB_ROUTER_ACCESS_KEYS is set, but neither WEIR_API_TOKENS nor a PUBLIC_URL with the host that clients use: behind a proxy, "+
			"while there is no token, requests under another host than localhost get 403, except signed ones below /routing/")
	}
	settle := min(c.SettleAfter.Duration(), c.GCIdle.Duration())
	if timeout := c.SendTimeout.Duration(); settle > 0 && settle < timeout {
		out = append(out, fmt.Sprintf("WEIR_SETTLE_AFTER and CHNL_BKR_GC_IDLE_MINUTES let a provider be asked after %v, while it may take %v "+
			"to answer (WEIR_SEND_TIMEOUT): a contact could be sent again that it is still taking in", settle, timeout))
	}
	return out
}

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
		if slices.Contains(names, name) || others(name) {
			continue
		}
		near := nearest(name, names)
		d := distance(name, near)
		switch typo := d <= mostTypos && len(name) >= shortestName && env[near] == ""; {
		case typo, ours(name) && d <= len(name)/2:
			out = append(out, name+" is not a variable of Weir and does nothing; did you mean "+near+"?")
		case ours(name):
			out = append(out, name+" is not a variable of Weir and does nothing")
		}
	}
	return out
}

const (
	mostTypos    = 2 // max edit distance of a typo
	shortestName = 8 // shorter names are too similar to each other
)

// others reports whether a name like Weir's belongs to something else: to commands that talk to a
// daemon, to tests, or to Kubernetes, which sets some in the pods beside a service called weir.
func others(name string) bool {
	switch name {
	case "WEIR_URL", "WEIR_TOKEN", "WEIR_TOKEN_FILE", "WEIR_ROUTER_KEY", "WEIR_ROUTER_KEY_FILE":
		return true
	}
	return slices.ContainsFunc([]string{"WEIR_TEST_", "WEIR_SERVICE_", "WEIR_PORT"}, func(prefix string) bool { return strings.HasPrefix(name, prefix) })
}

// ours reports whether a name has a prefix that only Weir uses.
func ours(name string) bool {
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
