package auth_test

import (
	"net/http/httptest"
	"testing"

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
