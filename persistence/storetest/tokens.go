package storetest

import (
	"testing"
	"time"

	"weir"
	"weir/ops"
	"weir/persistence"
)

func testTokens(t *testing.T, backend Backend) {
	b := newBench(t, backend)
	at := now()
	live := func(want ...ops.Token) {
		t.Helper()
		got, ever, err := b.LiveTokens(b.ctx, at)
		b.ok(err)
		byID := map[string]ops.Token{}
		for _, token := range got {
			byID[token.ID] = token
		}
		expected := map[string]ops.Token{}
		for _, token := range want {
			expected[token.ID] = token
		}
		same(t, "live tokens", byID, expected)
		if all := must[[]ops.Token](t)(b.Tokens(b.ctx)); ever != (len(all) > 0) {
			t.Errorf("ever %v with %d tokens", ever, len(all))
		}
	}
	live()
	one, _ := ops.NewToken("the ü program", []ops.Scope{ops.ScopeContactsWrite, ops.ScopePIIRead}, at.Add(-time.Hour), time.Time{})
	two, _ := ops.NewToken("", []ops.Scope{ops.ScopeRouter}, at, at.Add(time.Minute))
	b.ok(b.AddToken(b.ctx, two, at))
	b.ok(b.AddToken(b.ctx, one, at))
	same(t, "all tokens", must[[]ops.Token](t)(b.Tokens(b.ctx)), []ops.Token{one, two})
	live(one, two)
	at = at.Add(time.Minute)
	live(one)

	b.ok(b.TokensUsed(b.ctx, map[string]time.Time{one.ID: at, "nobody": at}))
	b.ok(b.TokensUsed(b.ctx, map[string]time.Time{one.ID: at.Add(-time.Second)}))
	one.Used = at
	live(one)

	b.ok(b.RevokeToken(b.ctx, one.ID, at))
	b.ok(b.RevokeToken(b.ctx, one.ID, at.Add(time.Second)))
	wantCode(t, b.RevokeToken(b.ctx, "nobody", at), weir.CodeNotFound)
	live()
	one.Revoked = at
	same(t, "all tokens", must[[]ops.Token](t)(b.Tokens(b.ctx)), []ops.Token{one, two})
}

// Tokens are made by a process that is not a member, while another one is.
func testTokensBeside(t *testing.T, backend Backend) {
	if !backend.Members {
		return // a database in memory has one process
	}
	url := backend.URL(t)
	running := benchOn(t, url, persistence.Options{})
	beside := OpenOnly(t, url, persistence.Options{})
	token, _ := ops.NewToken("n", []ops.Scope{ops.ScopeRouter}, now(), time.Time{})
	running.ok(beside.AddToken(running.ctx, token, now()))
	got, ever, err := running.LiveTokens(running.ctx, now())
	if err != nil || !ever || len(got) != 1 || got[0].ID != token.ID {
		t.Errorf("%+v %v %v", got, ever, err)
	}
}

func testMostTokens(t *testing.T, backend Backend) {
	b := newBench(t, backend)
	at := now()
	for i := range ops.MaxTokens {
		expires := time.Time{}
		if i == 0 {
			expires = at.Add(time.Second)
		}
		token, _ := ops.NewToken("n", []ops.Scope{ops.ScopeRouter}, at, expires)
		b.ok(b.AddToken(b.ctx, token, at))
	}
	more, _ := ops.NewToken("n", []ops.Scope{ops.ScopeRouter}, at, time.Time{})
	wantCode(t, b.AddToken(b.ctx, more, at), weir.CodeConflict)
	b.ok(b.AddToken(b.ctx, more, at.Add(time.Second)))
}
