package operators_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"weir/operators"
)

// name draws a name, or the beginning of one, of few letters, so that many begin alike.
func name(t *rapid.T, label string) string {
	return rapid.StringMatching(`[ab][ab-]{0,3}`).Draw(t, label)
}

// heldScopes draws the scopes of a token.
func heldScopes(t *rapid.T) []operators.Scope {
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) operators.Scope {
		if rapid.Bool().Draw(t, "whole") {
			return rapid.SampledFrom(operators.Scopes()).Draw(t, "scope")
		}
		return rapid.SampledFrom(operators.LimitableScopes()).Draw(t, "limited").Limit(name(t, "prefix"))
	}), 0, 5).Draw(t, "scopes")
}

func subject(t *rapid.T) operators.Subject {
	return rapid.SampledFrom([]operators.Subject{{}, {Name: name(t, "without a kind")}, operators.Channel(name(t, "channel")), operators.Survey(name(t, "survey"))}).Draw(t, "subject")
}

// allows is the rule in the fewest words: a scope that is wanted allows everything, or what its limit begins.
func allows(held, wanted []operators.Scope, about operators.Subject) bool {
	return slices.ContainsFunc(held, func(s operators.Scope) bool {
		base, prefix, limited := strings.Cut(string(s), "@")
		return slices.Contains(wanted, operators.Scope(base)) && (!limited || about.Kind != "" && strings.HasPrefix(about.Name, prefix))
	})
}

func TestRights_AllowWhatOneOfTheScopesAllows(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		held, about := heldScopes(t), subject(t)
		wanted := rapid.SliceOfNDistinct(rapid.SampledFrom(operators.Scopes()), 1, 4, rapid.ID[operators.Scope]).Draw(t, "wanted")
		r := operators.RightsOf(held)
		if got, want := r.May(wanted, about), allows(held, wanted, about); got != want {
			t.Fatalf("%s for %+v, wanted %s: %v, want %v", operators.JoinScopes(held), about, operators.JoinScopes(wanted), got, want)
		}
		if got, want := r.MayAll(wanted...), allows(held, wanted, operators.Subject{}); got != want {
			t.Fatalf("all with %s: %v, want %v", operators.JoinScopes(held), got, want)
		}
		same := operators.RightsOf(r.Scopes())
		if got := same.May(wanted, about); got != r.May(wanted, about) {
			t.Fatalf("%s became %s", operators.JoinScopes(held), operators.JoinScopes(r.Scopes()))
		}
	})
}

// A token made by another one can do nothing that its maker cannot.
func TestRights_ContainOnlyWhatTheyAllow(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		maker, about := operators.RightsOf(heldScopes(t)), subject(t)
		for _, s := range heldScopes(t) {
			made := operators.RightsOf([]operators.Scope{s})
			for _, wanted := range operators.Scopes() {
				if maker.Contain(s) && made.May([]operators.Scope{wanted}, about) && !maker.May([]operators.Scope{wanted}, about) {
					t.Fatalf("%s makes %s, which allows %s for %+v", operators.JoinScopes(maker.Scopes()), s, wanted, about)
				}
			}
		}
	})
}

func TestRights_OfStoredScopesThatAreNotUnderstoodAllowNothing(t *testing.T) {
	t.Parallel()
	for _, s := range []operators.Scope{"", "contacts:read@", "contacts:read@-", "contacts:read@a@b", "pii:read@north-", "later:scope", "later:scope@north-"} {
		r := operators.RightsOf([]operators.Scope{s})
		if got := r.Scopes(); len(got) != 0 || r.MaySome(operators.Scopes()...) || r.May(operators.Scopes(), operators.Channel("a")) || r.May(operators.Scopes(), operators.Channel("north-a")) {
			t.Errorf("%q allows %s", s, operators.JoinScopes(got))
		}
	}
}

func TestScope_IsParsedWithItsLimit(t *testing.T) {
	t.Parallel()
	type parsed struct {
		Scope operators.Scope
		Code  string
	}
	for text, want := range map[string]parsed{
		"contacts:read": {"contacts:read", ""}, "surveys:admin@north-": {"surveys:admin@north-", ""}, "contacts:write@0.a_b-": {"contacts:write@0.a_b-", ""},
		"": {"", "unknown"}, "contacts": {"", "unknown"}, "contacts@north-": {"", "unknown"}, "@north-": {"", "unknown"},
		"pii:read@north-": {"", "not_limitable"}, "router@": {"", "not_limitable"}, "tokens:admin@a": {"", "not_limitable"},
		"contacts:read@": {"", "required"}, "contacts:read@-north": {"", "format"}, "contacts:read@North": {"", "format"}, "contacts:read@a@b": {"", "format"}, "contacts:read@a,b": {"", "format"}, "contacts:read@a\n": {"", "format"},
		"contacts:read@" + strings.Repeat("a", 63): {operators.Scope("contacts:read@" + strings.Repeat("a", 63)), ""}, "contacts:read@" + strings.Repeat("a", 64): {"", "format"},
	} {
		scope, code, detail := operators.ParseScope(text)
		if d := cmp.Diff(want, parsed{scope, code}); d != "" || (code == "") != (detail == "") {
			t.Errorf("%q (%s): %s", text, detail, d)
		}
	}
}
