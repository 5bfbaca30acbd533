package storetest

import (
	"testing"
	"time"

	"weir/ops"
)

func testAudit(t *testing.T, backend Backend) {
	b := newBench(t, backend)
	entry := func(i int) ops.AuditEntry {
		return ops.AuditEntry{At: now().Add(time.Duration(i) * time.Second), Token: "t", Action: "put-channel", Subject: "ü", Status: 200, Request: "r"}
	}
	changed := []ops.FieldChange{{Field: "capacity", Before: "5", After: "50"}, {Field: "settings.password", Secret: true}}
	read := func(before int64, limit int) []ops.AuditEntry {
		t.Helper()
		return must[[]ops.AuditEntry](t)(b.Audit(b.ctx, ops.AuditFilter{Before: before, Limit: limit}))
	}
	if len(read(0, 10)) != 0 {
		t.Error("entries of a new store")
	}
	b.ok(b.AddAudit(b.ctx, nil))
	var want []ops.AuditEntry // newest first
	var list []ops.AuditEntry
	for i := range 1200 {
		list = append(list, entry(i))
	}
	list[3].Changes = changed
	b.ok(b.AddAudit(b.ctx, list))
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
	between := ops.AuditFilter{Since: list[100].At.Truncate(time.Millisecond), Until: list[103].At.Truncate(time.Millisecond), Limit: 10}
	same(t, "between two instants", must[[]ops.AuditEntry](t)(b.Audit(b.ctx, between)), want[1200-103:1200-100])
	same(t, "of a subject", must[[]ops.AuditEntry](t)(b.AuditOf(b.ctx, "ü", 2)), []ops.AuditEntry{got[1199], got[1198]})
	same(t, "of another", must[[]ops.AuditEntry](t)(b.AuditOf(b.ctx, "u", 2)), []ops.AuditEntry{})
	cut, gone := list[600].At, 0
	for {
		n := must[int](t)(b.PurgeAudit(b.ctx, cut, 1000))
		if gone += n; n == 0 {
			break
		}
	}
	if left := read(0, 2000); gone != 600 || len(left) != 600 || left[599].At != cut {
		t.Errorf("%d deleted, %d left", gone, len(left))
	}
}
