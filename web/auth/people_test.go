package auth_test

import (
	"context"
	"net/http/httptest"
	"testing"
	"time"

	"weir"
	"weir/operators"
	"weir/web/auth"
)

// A person in two groups has the scopes of both, each within its own limit.
func TestPeople_HaveTheUnionOfTheirGroups(t *testing.T) {
	t.Parallel()
	k := newSessionKeeper(t)
	gate := auth.NewGate(auth.GateOptions{Store: k.store, Sessions: k.sessions, Now: k.clock.Now, People: &auth.People{Provider: "p", Groups: map[string][]operators.Scope{
		"north": {"surveys:admin@north-", "contacts:read@north-"}, "south": {"surveys:admin@south-"}, "readers": {"contacts:read"}, "others": {"tokens:admin"},
	}}})
	who := func(groups ...string) *auth.Principal {
		t.Helper()
		text, err := gate.BeginPerson(t.Context(), operators.PersonID("ana", "1"), groups)
		if err != nil {
			t.Fatal(err)
		}
		r := httptest.NewRequestWithContext(auth.WithSession(t.Context()), "GET", "/", nil)
		r.Header.Set("Authorization", "Bearer "+text)
		v, err := gate.Authenticate(r)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	for _, x := range []struct {
		groups []string
		want   string
	}{
		{[]string{"north"}, "contacts:read@north-, surveys:admin@north-"},
		{[]string{"north", "south", "unknown"}, "contacts:read@north-, surveys:admin@north-, surveys:admin@south-"},
		{[]string{"south", "readers", "north"}, "contacts:read, surveys:admin@south-, surveys:admin@north-"},
	} {
		if got := operators.JoinScopes(who(x.groups...).Scopes()); got != x.want {
			t.Errorf("%q: %s, want %s", x.groups, got, x.want)
		}
	}
	v := who("north", "south")
	surveys := []operators.Scope{operators.ScopeSurveysAdmin}
	if !v.May(surveys, operators.Survey("south-a")) || !v.May(surveys, operators.Survey("north-a")) || v.May(surveys, operators.Survey("east-a")) || v.Has(operators.ScopeSurveysAdmin) {
		t.Error("the rights of two groups are not their union")
	}
}

// regrouped is a store that has other groups of the people of its sessions.
type regrouped struct {
	operators.SessionStore
	groups []string
}

// Session implements [operators.SessionStore].
func (s *regrouped) Session(ctx context.Context, id operators.TokenHash, now time.Time) (operators.Session, bool, error) {
	found, ok, err := s.SessionStore.Session(ctx, id, now)
	found.Groups = s.groups
	return found, ok, err
}

// A session whose groups have no scopes is void only as long as that is so, although it is cached
// as a void one.
func TestPeople_AVoidSessionIsValidOnceItsGroupsAreBack(t *testing.T) {
	t.Parallel()
	k := newSessionKeeper(t)
	store := &regrouped{SessionStore: k.sessions}
	gate := auth.NewGate(auth.GateOptions{Store: k.store, Sessions: store, Now: k.clock.Now, People: &auth.People{
		Provider: "p", Groups: map[string][]operators.Scope{"readers": {operators.ScopeContactsRead}},
	}})
	text, err := gate.BeginPerson(t.Context(), operators.PersonID("ana", "1"), []string{"readers"})
	if err != nil {
		t.Fatal(err)
	}
	r := httptest.NewRequestWithContext(auth.WithSession(t.Context()), "GET", "/", nil)
	r.Header.Set("Authorization", "Bearer "+text)
	for i, x := range []struct {
		groups []string
		want   weir.Code
	}{{[]string{"readers"}, ""}, {nil, weir.CodeUnauthorised}, {nil, weir.CodeUnauthorised}, {[]string{"readers"}, ""}} {
		store.groups = x.groups
		k.clock.advance(5 * time.Second) // until then another process may not know
		if _, err := gate.Authenticate(r); weir.CodeOf(err) != x.want {
			t.Errorf("request %d, with the groups %v: %v, want %q", i+1, x.groups, err, x.want)
		}
	}
}
