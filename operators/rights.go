package operators

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// limitSign stands between a scope and the beginning of the names to which it is limited.
const limitSign = "@"

// MaxScopesText is the max length of the scopes of a token, joined by commas.
const MaxScopesText = 500

// namePrefix matches what a name of a channel or a survey may begin with.
var namePrefix = regexp.MustCompile(`^[a-z0-9][a-z0-9._-]{0,62}$`)

// LimitableScopes returns the scopes that can be limited to names.
func LimitableScopes() []Scope {
	return []Scope{ScopeContactsWrite, ScopeContactsRead, ScopeChannelsAdmin, ScopeSurveysAdmin}
}

// Limit returns the scope, limited to channels and surveys whose names begin with prefix.
func (s Scope) Limit(prefix string) Scope { return s + limitSign + Scope(prefix) }

// cut returns a scope without its limit, and the prefix of that; empty: it has none.
func (s Scope) cut() (base Scope, prefix string) {
	text, prefix, _ := strings.Cut(string(s), limitSign)
	return Scope(text), prefix
}

// ParseScope reads a scope of a token: a scope, or one of [LimitableScopes] with a limit, such as
// contacts:read@north-. A code that is not empty names a mistake, and detail says what is allowed.
func ParseScope(text string) (_ Scope, code, detail string) {
	name, prefix, limited := strings.Cut(text, limitSign)
	s := Scope(name)
	switch {
	case !s.Known():
		return "", "unknown", "must be one of " + JoinScopes(Scopes())
	case !limited:
	case !slices.Contains(LimitableScopes(), s):
		return "", "not_limitable", fmt.Sprintf("must have no %s: %s is for the whole installation; only %s can be limited", limitSign, s, JoinScopes(LimitableScopes()))
	case prefix == "":
		return "", "required", fmt.Sprintf("must have the beginning of names behind %s, such as %s", limitSign, s.Limit("north-"))
	case !namePrefix.MatchString(prefix):
		return "", "format", fmt.Sprintf("must have the beginning of names behind %s: 1 to 63 characters of a-z, 0-9, dot, underscore and hyphen, the first a letter or digit", limitSign)
	}
	return Scope(text), "", ""
}

// CheckScopesLength returns an error if the scopes of a token are together too long to be stored.
func CheckScopesLength(list []Scope) error {
	n := max(0, len(list)-1)
	for _, s := range list {
		n += len(s)
	}
	if n > MaxScopesText {
		return fmt.Errorf("must have at most %d characters together, and has %d: a shorter limit may stand for several", MaxScopesText, n)
	}
	return nil
}

// ScopesOf returns texts as scopes, of which some may be unknown here.
func ScopesOf(texts []string) []Scope {
	list := make([]Scope, len(texts))
	for i, text := range texts {
		list[i] = Scope(text)
	}
	return list
}

// JoinScopes returns scopes in one text.
func JoinScopes(list []Scope) string {
	words := make([]string, len(list))
	for i, scope := range list {
		words[i] = string(scope)
	}
	return strings.Join(words, ", ")
}

// Kind is a kind of what requests are about.
type Kind string

// The kinds to whose names scopes can be limited.
const (
	KindChannel Kind = "channel"
	KindSurvey  Kind = "survey"
)

// Subject is what a request is about. The zero Subject is the whole installation, for which no limited scope suffices.
type Subject struct {
	Kind Kind
	Name string
}

// Channel returns the subject of a channel: contacts are on channels.
func Channel(name string) Subject { return Subject{KindChannel, name} }

// Survey returns the subject of a survey.
func Survey(name string) Subject { return Subject{KindSurvey, name} }

// Rights are what the scopes of a token allow. The zero Rights allow nothing. All decisions about scopes are made here.
type Rights struct {
	whole  scopeSet // without a limit
	limits []limit  // of scopes that are not in whole; in order of the token
}

// limit is a scope that is limited to names with a prefix.
type limit struct {
	scope  Scope
	bit    scopeSet
	prefix string
}

// RightsOf returns the rights of the holder of all the scopes. Unknown ones, which a later version may have stored, allow
// nothing.
func RightsOf(scopes []Scope) Rights {
	r := Rights{whole: setOf(scopes)}
	for _, s := range scopes {
		base, prefix := s.cut()
		valid := slices.Contains(LimitableScopes(), base) && namePrefix.MatchString(prefix)
		known := slices.ContainsFunc(r.limits, func(l limit) bool { return l.scope == s })
		if valid && !known && r.whole&base.bit() == 0 {
			r.limits = append(r.limits, limit{s, base.bit(), prefix})
		}
	}
	return r
}

// May reports whether one of the wanted scopes allows a request about a subject.
func (r *Rights) May(oneOf []Scope, about Subject) bool {
	want := setOf(oneOf)
	if r.whole&want != 0 {
		return true
	}
	return about.Kind != "" && slices.ContainsFunc(r.limits, func(l limit) bool {
		return l.bit&want != 0 && strings.HasPrefix(about.Name, l.prefix)
	})
}

// MayAll reports whether one of the wanted scopes is held without a limit.
func (r *Rights) MayAll(oneOf ...Scope) bool { return r.May(oneOf, Subject{}) }

// MaySome reports whether one of the wanted scopes is held, be it with a limit.
func (r *Rights) MaySome(oneOf ...Scope) bool {
	return r.MayAll(oneOf...) || len(r.Prefixes(oneOf)) > 0
}

// Prefixes returns the limits of the wanted scopes, for explanations. They do not count if one of the scopes is held
// without a limit.
func (r *Rights) Prefixes(oneOf []Scope) (list []string) {
	want := setOf(oneOf)
	for _, l := range r.limits {
		if l.bit&want != 0 && !slices.Contains(list, l.prefix) {
			list = append(list, l.prefix)
		}
	}
	return list
}

// Contain reports whether a holder of the scope can do no more than a holder of the rights.
func (r *Rights) Contain(s Scope) bool {
	base, prefix := s.cut()
	if prefix == "" {
		return r.MayAll(base)
	}
	return r.May([]Scope{base}, Subject{KindChannel, prefix})
}

// Scopes returns the scopes that the rights consist of.
func (r *Rights) Scopes() []Scope {
	list := []Scope{}
	for _, s := range Scopes() {
		if r.whole&s.bit() != 0 {
			list = append(list, s)
		}
		for _, l := range r.limits {
			if l.bit == s.bit() {
				list = append(list, l.scope)
			}
		}
	}
	return list
}

// scopeSet is a set of scopes without limits, a bit for each.
type scopeSet uint16

func setOf(list []Scope) (set scopeSet) {
	for _, s := range list {
		set |= s.bit()
	}
	return set
}

// bit returns the bit of a scope; 0 for an unknown scope.
func (s Scope) bit() scopeSet {
	i := slices.Index(Scopes(), s)
	if i < 0 {
		return 0
	}
	return 1 << i
}
