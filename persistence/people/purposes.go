package people

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"sync/atomic"
	"time"

	"weir"
	"weir/internal/document"
	"weir/people"
	"weir/persistence/columns"
	"weir/persistence/commit"
)

// stored is a purpose as the owner of the database knows it.
type stored struct {
	*people.Purpose
	deleted bool // for what still waits its rules hold
}

// purposes are the purposes of an installation, ready for use. They are immutable.
type purposes struct {
	byName map[string]*stored
	live   map[string]*people.Purpose // those that are not deleted
	ruled  bool                       // one has rules
	kept   bool                       // contacts of all purposes are looked at: by a cap, or because strangers are answered
	window time.Duration
}

func newPurposes(byName map[string]*stored) *purposes {
	p := &purposes{byName: byName, live: make(map[string]*people.Purpose, len(byName))}
	for name, one := range byName {
		if !one.deleted {
			p.live[name] = one.Purpose
		}
		p.ruled = p.ruled || one.Ruled()
		p.window = max(p.window, one.Window())
		for i := range one.Caps {
			p.kept = p.kept || one.Caps[i].Over == people.OverAll
		}
	}
	if d := p.live[people.DefaultPurpose]; d != nil && d.Answers() { // who is no stranger is answered by its texts
		p.kept = true
	}
	return p
}

func (p *purposes) with(changed map[string]*stored) *purposes {
	byName := maps.Clone(p.byName)
	if byName == nil {
		byName = map[string]*stored{}
	}
	maps.Copy(byName, changed)
	return newPurposes(byName)
}

// of returns the purpose of a contact.
func (p *purposes) of(c *weir.Contact) (string, *people.Purpose) {
	name := c.Purpose
	if name == "" {
		name = people.DefaultPurpose
	}
	// The rules of a deleted purpose hold for what waits; only default is never gone, but without
	// rules.
	if known := p.byName[name]; known != nil && (!known.deleted || name != people.DefaultPurpose) {
		return name, known.Purpose
	}
	return name, people.NoRules()
}

// Steps of the schema with which programs begin to heed consents and purposes.
const (
	consentsStep = 23
	purposesStep = 24
)

// purposeStore keeps the purposes.
type purposeStore struct {
	*commit.DB
	current atomic.Pointer[purposes]
	changed map[string]*stored // by the batch; used on the writer's goroutine only
}

// begin begins a batch.
func (s *purposeStore) begin() { s.changed = nil }

// now returns the purposes as this batch leaves them.
func (s *purposeStore) now() *purposes {
	now := s.current.Load()
	if len(s.changed) > 0 {
		now = now.with(s.changed)
	}
	return now
}

// committed keeps the changes of a batch.
func (s *purposeStore) committed() {
	if len(s.changed) > 0 {
		s.current.Store(s.current.Load().with(s.changed))
	}
}

// loadAll reads the purposes.
func (s *purposeStore) loadAll(ctx context.Context) error {
	var rows []struct {
		Name    string `db:"name"`
		Rules   string `db:"rules"`
		Deleted bool   `db:"deleted"`
	}
	if err := s.Read.SelectContext(ctx, &rows, "SELECT name, rules, deleted FROM purposes"); err != nil {
		return s.Failure("read the purposes", err)
	}
	byName := make(map[string]*stored, len(rows))
	for _, r := range rows {
		var p people.Purpose
		if err := json.Unmarshal([]byte(r.Rules), &p); err != nil {
			return fmt.Errorf("the rules of the purpose %s cannot be read: %w", r.Name, err)
		}
		compiled, wrong := p.Compile()
		if len(wrong) > 0 {
			return fmt.Errorf("the rules of the purpose %s are wrong: %s %s", r.Name, wrong[0].Pointer, wrong[0].Detail)
		}
		byName[r.Name] = &stored{compiled, r.Deleted}
	}
	s.current.Store(newPurposes(byName))
	return nil
}

// Purposes implements [people.Purposes].
func (s *purposeStore) Purposes() map[string]*people.Purpose { return s.current.Load().live }

// PutPurpose implements [people.Purposes].
func (s *purposeStore) PutPurpose(ctx context.Context, name string, p *people.Purpose, on document.Condition) error {
	return s.DB.Change(ctx, &purposeChange{s: s, name: name, to: &stored{Purpose: p}, on: on})
}

// CheckPurpose implements [people.Purposes].
func (s *purposeStore) CheckPurpose(ctx context.Context, name string, p *people.Purpose, on document.Condition) error {
	return s.DB.Check(ctx, &purposeChange{s: s, name: name, to: &stored{Purpose: p}, on: on, dry: true})
}

// DeletePurpose implements [people.Purposes].
func (s *purposeStore) DeletePurpose(ctx context.Context, name string) error {
	known := s.Purposes()[name]
	if known == nil {
		return weir.Errorf(weir.CodeNotFound, "there is no purpose %q", name)
	}
	return s.DB.Change(ctx, &purposeChange{s: s, name: name, to: &stored{known, true}})
}

// purposeChange is the work of [purposeStore.PutPurpose] and [purposeStore.DeletePurpose].
type purposeChange struct {
	s    *purposeStore
	name string
	to   *stored
	on   document.Condition
	dry  bool // of [purposeStore.CheckPurpose]
}

// Write implements [commit.Work].
func (w *purposeChange) Write(t *commit.Tx, r *commit.Request) error {
	live := w.s.now().live
	if err := w.on.Check(w.name, live[w.name] != nil); err != nil {
		r.Refuse(err)
		return nil
	}
	if !w.to.deleted && live[w.name] == nil && len(live) >= people.MaxPurposes {
		r.Refuse(weir.Errorf(weir.CodeConflict, "there are %d purposes, the most that are possible", len(live)))
		return nil
	}
	if w.dry {
		r.Refuse(commit.CheckedError{})
		return nil
	}
	rules, err := json.Marshal(w.to.Purpose)
	if err != nil {
		return err
	}
	d := t.Dialect()
	var set []string
	for _, c := range []string{"rules", "deleted", "changed_at"} {
		set = append(set, c+" = "+d.Fresh(c))
	}
	t.AddOnce("INSERT INTO purposes (name, rules, deleted, changed_at) VALUES "+columns.Marks(4)+d.Merge("name")+strings.Join(set, ", "),
		w.name, string(rules), columns.Number(w.to.deleted), columns.Micros(r.At))
	t.RequireStep(purposesStep)
	if w.s.changed == nil {
		w.s.changed = map[string]*stored{}
	}
	w.s.changed[w.name] = w.to
	return nil
}
