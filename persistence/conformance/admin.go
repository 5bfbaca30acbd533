package conformance

import (
	"strings"
	"testing"
	"time"

	"weir"
	"weir/operators"
	"weir/persistence"
	"weir/persistence/storetest"
)

func testTokens(t *testing.T, backend Backend) {
	b := newBench(t, backend)
	at := now()
	live := func(want ...operators.Token) {
		t.Helper()
		got, ever, err := b.LiveTokens(b.ctx(), at)
		b.ok(err)
		byID := map[string]operators.Token{}
		for _, token := range got {
			byID[token.ID] = token
		}
		expected := map[string]operators.Token{}
		for _, token := range want {
			expected[token.ID] = token
		}
		same(t, "live tokens", byID, expected)
		if all := must[[]operators.Token](t)(b.Tokens(b.ctx())); ever != (len(all) > 0) {
			t.Errorf("ever %v with %d tokens", ever, len(all))
		}
	}
	live()
	one, _ := operators.NewToken("the ü program", []operators.Scope{operators.ScopeContactsWrite, operators.ScopePIIRead}, at.Add(-time.Hour), time.Time{})
	two, _ := operators.NewToken("", []operators.Scope{operators.ScopeRouter}, at, at.Add(time.Minute))
	b.ok(b.AddToken(b.ctx(), two, at))
	b.ok(b.AddToken(b.ctx(), one, at))
	same(t, "all tokens", must[[]operators.Token](t)(b.Tokens(b.ctx())), []operators.Token{one, two})
	live(one, two)
	at = at.Add(time.Minute)
	live(one)

	b.ok(b.TokensUsed(b.ctx(), map[string]time.Time{one.ID: at, "nobody": at}))
	b.ok(b.TokensUsed(b.ctx(), map[string]time.Time{one.ID: at.Add(-time.Second)}))
	one.Used = at
	live(one)

	b.ok(b.RevokeToken(b.ctx(), one.ID, at))
	b.ok(b.RevokeToken(b.ctx(), one.ID, at.Add(time.Second)))
	wantCode(t, b.RevokeToken(b.ctx(), "nobody", at), weir.CodeNotFound)
	live()
	one.Revoked = at
	same(t, "all tokens", must[[]operators.Token](t)(b.Tokens(b.ctx())), []operators.Token{one, two})
}

// Tokens are made by a process that is not a member, while another one is.
func testTokensBeside(t *testing.T, backend Backend) {
	if !backend.Leased {
		return // a database in memory has one process
	}
	url := backend.URL(t)
	running := benchOn(t, url, persistence.Options{})
	beside := storetest.OpenOnly(t, url, persistence.Options{})
	token, _ := operators.NewToken("n", []operators.Scope{operators.ScopeRouter}, now(), time.Time{})
	running.ok(beside.AddToken(running.ctx(), token, now()))
	got, ever, err := running.LiveTokens(running.ctx(), now())
	if err != nil || !ever || len(got) != 1 || got[0].ID != token.ID {
		t.Errorf("%+v %v %v", got, ever, err)
	}
}

func testMostTokens(t *testing.T, backend Backend) {
	b := newBench(t, backend)
	at := now()
	b.fill("tokens", operators.MaxTokens-1, map[string]string{
		"name": "'n'", "scopes": "'router'", "hash": "'" + strings.Repeat("0", 64) + "'", "created_at": "1", "expires_at": "0", "used_at": "0", "revoked_at": "0",
	})
	last, _ := operators.NewToken("n", []operators.Scope{operators.ScopeRouter}, at, at.Add(time.Second))
	b.ok(b.AddToken(b.ctx(), last, at))
	more, _ := operators.NewToken("n", []operators.Scope{operators.ScopeRouter}, at, time.Time{})
	wantCode(t, b.AddToken(b.ctx(), more, at), weir.CodeConflict)
	b.ok(b.AddToken(b.ctx(), more, at.Add(time.Second)))
}

func testSessions(t *testing.T, backend Backend) {
	b := newBench(t, backend)
	at := now()
	one := operators.Session{ID: operators.HashToken("one"), Token: "token", Created: at, Expires: at.Add(time.Hour)}
	two := operators.Session{
		ID: operators.HashToken("two"), Token: strings.Repeat("t", 64), Created: at, Expires: at.Add(time.Minute),
		Person: operators.PersonID(strings.Repeat("ü", 100), "subject"), Groups: []string{"CN=ü", "b"},
	}
	read := func(what string, id operators.TokenHash, at time.Time, want operators.Session) {
		t.Helper()
		got, ok, err := b.Session(b.ctx(), id, at)
		b.ok(err)
		if ok != (want.Token != "") {
			t.Errorf("%s: found %v", what, ok)
		}
		same(t, what, got, want)
	}
	read("before it begins", one.ID, at, operators.Session{})
	b.ok(b.AddSession(b.ctx(), one))
	b.ok(b.AddSession(b.ctx(), two))
	read("the first", one.ID, at, one)
	read("the second", two.ID, at, two)
	read("the second at its end", two.ID, two.Expires, operators.Session{})

	two.Expires = at.Add(2 * time.Hour)
	b.ok(b.ExtendSession(b.ctx(), two.ID, two.Expires))
	b.ok(b.ExtendSession(b.ctx(), two.ID, at))
	read("the second, extended", two.ID, at, two)

	b.ok(b.EndSession(b.ctx(), one.ID))
	b.ok(b.EndSession(b.ctx(), one.ID))
	b.ok(b.ExtendSession(b.ctx(), one.ID, two.Expires))
	read("after its end", one.ID, at, operators.Session{})
	read("the other one", two.ID, at, two)

	b.ok(b.AddSession(b.ctx(), one))
	for _, want := range []int{1, 0} {
		if n := must[int](t)(b.PurgeSessions(b.ctx(), one.Expires, 10)); n != want {
			t.Errorf("%d deleted, want %d", n, want)
		}
	}
	read("what had not expired", two.ID, at, two)
	b.ok(b.EndSession(b.ctx(), two.ID))
	b.ok(b.AddSession(b.ctx(), two)) // nothing of it stayed
	if n := must[int](t)(b.PurgeSessions(b.ctx(), two.Expires, 10)); n != 1 {
		t.Errorf("%d deleted", n)
	}
	b.ok(b.AddSession(b.ctx(), two))
}

func testAudit(t *testing.T, backend Backend) {
	b := newBench(t, backend)
	entry := func(i int) operators.AuditEntry {
		return operators.AuditEntry{At: now().Add(time.Duration(i) * time.Second), Token: operators.PersonID(strings.Repeat("ü", 100), "subject"), Action: "put-channel", Subject: "ü", Status: 200, Request: "r"}
	}
	changed := []operators.FieldChange{{Field: "capacity", Before: "5", After: "50"}, {Field: "settings.password", Secret: true}}
	read := func(before int64, limit int) []operators.AuditEntry {
		t.Helper()
		return must[[]operators.AuditEntry](t)(b.Audit(b.ctx(), operators.AuditFilter{Before: before, Limit: limit}))
	}
	if len(read(0, 10)) != 0 {
		t.Error("entries of a new store")
	}
	b.ok(b.AddAudit(b.ctx(), nil))
	var want []operators.AuditEntry // newest first
	var list []operators.AuditEntry
	for i := range 1200 {
		list = append(list, entry(i))
	}
	list[3].Changes = changed
	b.ok(b.AddAudit(b.ctx(), list))
	got := read(0, 2000)
	for i := range got {
		e := list[len(list)-1-i]
		e.ID = got[i].ID
		if want = append(want, e); i > 0 && got[i].ID >= got[i-1].ID {
			t.Fatal("ids do not fall")
		}
	}
	same(t, "entries", got, want)
	same(t, "a page", read(got[9].ID, 5), want[10:15])
	between := operators.AuditFilter{Since: list[100].At.Truncate(time.Millisecond), Until: list[103].At.Truncate(time.Millisecond), Limit: 10}
	same(t, "between two instants", must[[]operators.AuditEntry](t)(b.Audit(b.ctx(), between)), want[1200-103:1200-100])
	same(t, "of a subject", must[[]operators.AuditEntry](t)(b.AuditOf(b.ctx(), "ü", 2)), []operators.AuditEntry{got[1199], got[1198]})
	same(t, "of another", must[[]operators.AuditEntry](t)(b.AuditOf(b.ctx(), "u", 2)), []operators.AuditEntry{})
	cut, gone := list[600].At, 0
	for {
		n := must[int](t)(b.PurgeAudit(b.ctx(), cut, 1000))
		if gone += n; n == 0 {
			break
		}
	}
	if left := read(0, 2000); gone != 600 || len(left) != 600 || left[599].At != cut {
		t.Errorf("%d deleted, %d left", gone, len(left))
	}
}
