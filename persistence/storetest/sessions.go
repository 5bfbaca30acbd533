package storetest

import (
	"testing"
	"time"

	"weir/ops"
)

func testSessions(t *testing.T, backend Backend) {
	b := newBench(t, backend)
	at := now()
	one := ops.Session{ID: ops.HashToken("one"), Token: "token", Created: at, Expires: at.Add(time.Hour)}
	two := ops.Session{ID: ops.HashToken("two"), Token: "token", Created: at, Expires: at.Add(time.Minute)}
	read := func(what string, id ops.TokenHash, at time.Time, want ops.Session) {
		t.Helper()
		got, ok, err := b.Session(b.ctx, id, at)
		b.ok(err)
		if ok != (want.Token != "") {
			t.Errorf("%s: found %v", what, ok)
		}
		same(t, what, got, want)
	}
	read("before it begins", one.ID, at, ops.Session{})
	b.ok(b.AddSession(b.ctx, one))
	b.ok(b.AddSession(b.ctx, two))
	read("the first", one.ID, at, one)
	read("the second", two.ID, at, two)
	read("the second at its end", two.ID, two.Expires, ops.Session{})

	two.Expires = at.Add(2 * time.Hour)
	b.ok(b.ExtendSession(b.ctx, two.ID, two.Expires))
	b.ok(b.ExtendSession(b.ctx, two.ID, at))
	read("the second, extended", two.ID, at, two)

	b.ok(b.EndSession(b.ctx, one.ID))
	b.ok(b.EndSession(b.ctx, one.ID))
	b.ok(b.ExtendSession(b.ctx, one.ID, two.Expires))
	read("after its end", one.ID, at, ops.Session{})
	read("the other one", two.ID, at, two)

	b.ok(b.AddSession(b.ctx, one))
	for _, want := range []int{1, 0} {
		if n := must[int](t)(b.PurgeSessions(b.ctx, one.Expires, 10)); n != want {
			t.Errorf("%d deleted, want %d", n, want)
		}
	}
	read("what had not expired", two.ID, at, two)
}
