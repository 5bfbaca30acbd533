package conformance

import (
	"testing"
	"time"

	"weir"
	"weir/ops"
	"weir/persistence"
)

// testRoles checks that the last process to acquire a role holds it until it is released.
func testRoles(t *testing.T, backend Backend) {
	b := benchOn(t, backend.URL(t), persistence.Options{Owner: "a", LeaseTTL: time.Hour})
	take := func() weir.Incarnation {
		t.Helper()
		l, ok, err := b.AcquireRole(b.ctx, ops.RoleRouter)
		if !ok || err != nil {
			t.Fatalf("%v, %v", ok, err)
		}
		return l
	}
	want := func(what string, l weir.Incarnation, kept bool) {
		t.Helper()
		if got := must[bool](t)(b.RenewRole(b.ctx, ops.RoleRouter, l)); got != kept {
			t.Errorf("%s: %v", what, got)
		}
	}
	want("never taken", weir.Incarnation{Owner: "a", Epoch: 0}, false)
	want("never taken, an epoch later", weir.Incarnation{Owner: "a", Epoch: 1}, false)
	first := take()
	want("taken", first, true)
	want("of another process", weir.Incarnation{Owner: "b", Epoch: first.Epoch}, false)
	second := take()
	want("taken once more", second, true)
	want("the lease before", first, false)
	b.ok(b.ReleaseRole(b.ctx, ops.RoleRouter, first)) // no effect: first is not the current lease
	want("an old lease was given back", second, true)
	b.ok(b.ReleaseRole(b.ctx, ops.RoleRouter, second))
	want("given back", second, false)
	third := take()
	want("taken after that", third, true)
	if first.Epoch >= second.Epoch || second.Epoch >= third.Epoch {
		t.Errorf("epochs %d, %d, %d", first.Epoch, second.Epoch, third.Epoch)
	}
}

// testRolesTogether checks that roles are renewed together, and that the loss of one
// does not affect another.
func testRolesTogether(t *testing.T, backend Backend) {
	url := backend.URL(t)
	a := benchOn(t, url, persistence.Options{Owner: "a", LeaseTTL: 300 * time.Millisecond})
	b := benchOn(t, url, persistence.Options{Owner: "b", LeaseTTL: time.Hour})
	take := func(role ops.Role) weir.Incarnation {
		l, ok, err := a.AcquireRole(a.ctx, role)
		if !ok || err != nil {
			t.Fatalf("%s: %v, %v", role, ok, err)
		}
		return l
	}
	renew := func(role ops.Role, l weir.Incarnation) bool { return must[bool](t)(a.RenewRole(a.ctx, role, l)) }
	router, old := take(ops.RoleRouter), take(ops.RoleSurveyBroker)
	is := take(ops.RoleSurveyBroker)
	for _, step := range []struct {
		name  string
		role  ops.Role
		lease weir.Incarnation
		want  bool
	}{
		{"an old lease", ops.RoleSurveyBroker, old, false},
		{"beside an old one", ops.RoleRouter, router, true},
		{"the lease", ops.RoleSurveyBroker, is, true},
		{"at once again", ops.RoleSurveyBroker, is, true},
		{"the old lease in the same moment", ops.RoleSurveyBroker, old, false},
		{"of another process", ops.RoleRouter, weir.Incarnation{Owner: "b", Epoch: router.Epoch}, false},
	} {
		if got := renew(step.role, step.lease); got != step.want {
			t.Errorf("%s: %v", step.name, got)
		}
	}
	// Renewing one role also renews another that was requested a short time ago, but not
	// for long.
	for taken := false; !taken; {
		if !renew(ops.RoleRouter, router) {
			t.Fatal("a role that is renewed was lost")
		}
		var err error
		_, taken, err = b.AcquireRole(b.ctx, ops.RoleSurveyBroker)
		b.ok(err)
	}
	if renew(ops.RoleSurveyBroker, is) || !renew(ops.RoleRouter, router) {
		t.Error("one role was taken, and not the other")
	}
}
