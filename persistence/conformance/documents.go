package conformance

import (
	"fmt"
	"slices"
	"sync"
	"testing"

	"weir"
	"weir/internal/document"
	"weir/limits"
	"weir/people"
	"weir/surveys"
)

// testCreatorsAtOnce: of several who create a document at once one does, and the document stays as that one made it; the others are
// refused, and so is a dry run.
func testCreatorsAtOnce(t *testing.T, backend Backend) {
	b := withKeys(t, backend)
	const name = "new"
	limitOf := func(title string) *limits.Limit {
		return &limits.Limit{Title: title, Channels: []string{"a"}, InFlight: 1}
	}
	on := document.Condition{Kind: "document", Pointer: "/name", Create: true}
	for kind, x := range map[string]struct {
		create func(title string) error
		title  func() string
	}{
		"limit":   {func(title string) error { return b.PutLimit(b.ctx(), name, limitOf(title), on) }, func() string { return b.Limits()[name].Title }},
		"purpose": {func(title string) error { return b.PutPurpose(b.ctx(), name, &people.Purpose{Title: title}, on) }, func() string { return b.Purposes()[name].Title }},
		"survey": {
			func(title string) error {
				_, _, err := b.PutSurvey(b.ctx(), surveys.Survey{Name: name, Title: title}, on)
				return err
			},
			func() string { return must[surveys.Survey](t)(b.Survey(b.ctx(), name)).Title },
		},
		"channel": {
			func(title string) error {
				_, created, err := b.PutChannel(b.ctx(), weir.Channel{Name: name, Type: "test", Title: title, Capacity: 1})
				if err == nil {
					err = on.Check(name, !created)
				}
				return err
			},
			func() string { return must[weir.Channel](t)(b.Channel(b.ctx(), name)).Title },
		},
	} {
		var done sync.WaitGroup
		refused := make([]error, 8)
		for i := range refused {
			done.Go(func() { refused[i] = x.create(fmt.Sprint("of ", i)) })
		}
		done.Wait()
		winner := slices.Index(refused, nil)
		for i, err := range refused {
			if i != winner && weir.CodeOf(err) != weir.CodeConflict {
				t.Errorf("%s: %d creates one, too: %v", kind, i, err)
			}
		}
		if title := x.title(); winner < 0 || title != fmt.Sprint("of ", winner) {
			t.Errorf("%s: it is that %s, and %d has created one", kind, title, winner)
		}
	}
	for kind, err := range map[string]error{
		"limit": b.CheckLimit(b.ctx(), name, limitOf("dry"), on), "purpose": b.CheckPurpose(b.ctx(), name, &people.Purpose{}, on),
	} {
		if weir.CodeOf(err) != weir.CodeConflict {
			t.Errorf("a dry run that creates a %s again: %v", kind, err)
		}
	}
	b.ok(b.CheckLimit(b.ctx(), "other", limitOf("dry"), on))
	b.ok(b.CheckPurpose(b.ctx(), "other", &people.Purpose{}, on))
}
