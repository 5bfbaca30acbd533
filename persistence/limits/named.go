package limits

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"sync/atomic"
	"time"

	"weir/internal/document"
	"weir/persistence/columns"
	"weir/persistence/commit"
)

// named are the rules of one kind, by name: a document D of each is a row, and memory has it as a T.
type named[D, T any] struct {
	db         *commit.DB
	table, key string // of the rows, and the column of their names
	kept       func(*D) *T
	all        atomic.Pointer[map[string]*T] // as they were committed last
	changed    map[string]*T                 // by the batch; nil: deleted. Used on the writer's goroutine only
}

func newNamed[D, T any](db *commit.DB, table, key string, kept func(*D) *T) *named[D, T] {
	n := &named[D, T]{db: db, table: table, key: key, kept: kept}
	n.all.Store(&map[string]*T{})
	return n
}

// load reads all into memory at the start.
func (n *named[D, T]) load(ctx context.Context) error {
	var rows []struct {
		Name  string `db:"name"`
		Rules string `db:"rules"`
	}
	if err := n.db.Read.SelectContext(ctx, &rows, "SELECT "+n.key+" AS name, rules FROM "+n.table); err != nil {
		return n.db.Failure("read the "+n.table, err)
	}
	all := make(map[string]*T, len(rows))
	for _, r := range rows {
		var d D
		if err := json.Unmarshal([]byte(r.Rules), &d); err != nil {
			return fmt.Errorf("the row %s of %s cannot be read: %w", r.Name, n.table, err)
		}
		all[r.Name] = n.kept(&d)
	}
	n.all.Store(&all)
	return nil
}

// committed returns them as they were committed last.
func (n *named[D, T]) committed() map[string]*T { return *n.all.Load() }

// begin begins a batch.
func (n *named[D, T]) begin() { n.changed = nil }

// now returns them as this batch leaves them.
func (n *named[D, T]) now() map[string]*T {
	if len(n.changed) == 0 {
		return n.committed()
	}
	now := maps.Clone(n.committed())
	for name, to := range n.changed {
		if now[name] = to; to == nil {
			delete(now, name)
		}
	}
	return now
}

// publish keeps what the batch has changed.
func (n *named[D, T]) publish() {
	if len(n.changed) > 0 {
		now := n.now()
		n.all.Store(&now)
	}
}

// change is the work that sets the rules of a name, or deletes them.
type change[D, T any] struct {
	of     *named[D, T]
	name   string
	to     *D // nil: delete them
	on     document.Condition
	step   int          // of the schema, with which programs begin to heed them
	refuse func() error // by what the batch leaves; nil: nothing speaks against it
	dry    bool         // check only
}

// Write implements [commit.Work].
func (w *change[D, T]) Write(t *commit.Tx, r *commit.Request) error {
	err := w.on.Check(w.name, w.of.now()[w.name] != nil)
	if err == nil && w.refuse != nil {
		err = w.refuse()
	}
	if err != nil {
		r.Refuse(err)
		return nil
	}
	if w.dry {
		r.Refuse(commit.CheckedError{})
		return nil
	}
	if w.of.changed == nil {
		w.of.changed = map[string]*T{}
	}
	if w.to == nil {
		t.AddOnce("DELETE FROM "+w.of.table+" WHERE "+w.of.key+" = ?", w.name)
		w.of.changed[w.name] = nil
		return nil
	}
	w.of.changed[w.name] = w.of.kept(w.to)
	return w.write(t, r.At)
}

// write sets the row, and keeps programs away that do not know it.
func (w *change[D, T]) write(t *commit.Tx, at time.Time) error {
	text, err := json.Marshal(w.to)
	if err != nil {
		return fmt.Errorf("limits: a row of %s: %w", w.of.table, err)
	}
	d := t.Dialect()
	t.AddOnce("INSERT INTO "+w.of.table+" ("+w.of.key+", rules, changed_at) VALUES "+columns.Marks(3)+d.Merge(w.of.key)+
		"rules = "+d.Fresh("rules")+", changed_at = "+d.Fresh("changed_at"), w.name, string(text), columns.Micros(at))
	t.RequireStep(w.step)
	return nil
}
