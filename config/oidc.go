package config

import (
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"weir/operators"
)

// Bounds of WEIR_OIDC_SCOPES: a session stores the groups that gave it scopes.
const (
	maxGroups    = 100
	maxGroupName = 200
	maxGroupText = 4000 // of all names
	maxSecret    = 1024
)

// PeopleLogIn reports whether people can log in at an OpenID Connect provider.
func (c *Config) PeopleLogIn() bool { return c.OIDCIssuer != "" }

// oidcIssuer checks the issuer. A variable that needs it and is set without it is a mistake of
// this one, which is missing.
func (c *Config) oidcIssuer() bool {
	if c.OIDCIssuer == "" {
		return c.OIDCClientID == "" && len(c.OIDCClientSecret) == 0 && len(c.OIDCScopes) == 0
	}
	u, err := url.Parse(c.OIDCIssuer)
	return err == nil && publicURL(c.OIDCIssuer) && (u.Scheme == "https" || loopback(u.Hostname()))
}

// returnsPeople reports whether PUBLIC_URL is an address to which the provider may send people
// back: the code in it must not travel in the clear, and an address derived from LISTEN_ADDR leads
// others nowhere.
func (c *Config) returnsPeople() bool {
	if !c.PeopleLogIn() || strings.HasPrefix(strings.ToLower(c.PublicURL), "https:") {
		return true
	}
	return c.localURL() && (c.PublicURL != "" || !c.Reachable())
}

// word reports whether a text is 1 to most printable ASCII characters without blanks.
func word(text string, most int) bool {
	return text != "" && len(text) <= most && !strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r > '~' })
}

// printable reports whether a text is 1 to most printable characters, without blanks at its ends.
func printable(text string, most int) bool {
	return text != "" && utf8.RuneCountInString(text) <= most && strings.TrimSpace(text) == text &&
		!strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) })
}

func requestScopes(text string) bool {
	words := strings.Fields(text)
	return slices.Contains(words, "openid") && !slices.ContainsFunc(words, func(w string) bool { return !word(w, 200) })
}

// mistake is the error of a value that says what of it is wrong, in addition to what is allowed.
type mistake string

// Error returns what is wrong.
func (m mistake) Error() string { return string(m) }

// Decode takes a secret as it is.
func (s *Secret) Decode(text string) error {
	if !word(text, maxSecret) {
		return errNotAllowed
	}
	*s = Secret(text)
	return nil
}

// String returns a placeholder.
func (s Secret) String() string {
	if len(s) == 0 {
		return ""
	}
	return redacted
}

// Decode parses groups with their scopes.
func (g *GroupScopes) Decode(text string) error {
	groups, names := GroupScopes{}, 0
	for pair := range strings.SplitSeq(text, ";") {
		if pair = strings.TrimSpace(pair); pair == "" {
			continue // a semicolon at the end
		}
		// The last one: names of groups may be distinguished names, which contain some. Scopes contain none.
		at := strings.LastIndex(pair, "=")
		if at < 0 {
			return mistake(fmt.Sprintf("%q has no =", pair))
		}
		name := strings.TrimSpace(pair[:at])
		if !printable(name, maxGroupName) {
			return mistake(fmt.Sprintf("%q is no name of a group", name))
		}
		if groups[name] != nil {
			return mistake(fmt.Sprintf("the group %q is there twice", name))
		}
		scopes, err := parseScopes(name, pair[at+1:])
		if err != nil {
			return err
		}
		groups[name] = scopes
		names += len(name) + 1
	}
	if len(groups) == 0 || len(groups) > maxGroups || names > maxGroupText {
		return mistake(fmt.Sprintf("there are %d groups whose names have %d bytes; at most %d and %d", len(groups), names, maxGroups, maxGroupText))
	}
	*g = groups
	return nil
}

func parseScopes(group, text string) ([]operators.Scope, error) {
	var scopes []operators.Scope
	var wrong []string
	for name := range strings.SplitSeq(text, ",") {
		name = strings.TrimSpace(name)
		scope, code, detail := operators.ParseScope(name)
		switch {
		case code == "unknown":
			wrong = append(wrong, fmt.Sprintf("the group %q has the unknown scope %q; the scopes are %s", group, name, operators.JoinScopes(operators.Scopes())))
		case code != "":
			wrong = append(wrong, fmt.Sprintf("the scope %q of the group %q %s", name, group, detail))
		case !slices.Contains(scopes, scope):
			scopes = append(scopes, scope)
		}
	}
	if wrong != nil {
		return nil, mistake(strings.Join(wrong, "; "))
	}
	return scopes, nil
}

func scopeNames(list []operators.Scope) []string {
	names := make([]string, len(list))
	for i, scope := range list {
		names[i] = string(scope)
	}
	return names
}

// String returns the form that Decode parses.
func (g GroupScopes) String() string {
	var pairs []string
	for _, name := range slices.Sorted(maps.Keys(g)) {
		pairs = append(pairs, name+"="+strings.Join(scopeNames(g[name]), ","))
	}
	return strings.Join(pairs, ";")
}
