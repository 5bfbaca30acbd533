package contacts_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"weir"
	"weir/persistence/storetest"
)

// What does not fit the columns of every database is refused, with all fields that are too
// long, and nothing of the request is stored; what just fits is.
func TestAccept_RefusesWhatDoesNotFitTheColumns(t *testing.T) {
	t.Parallel()
	s := storetest.SQLite(t)
	id, _ := storetest.OpenChannel(t, s, "a")
	long := func(n int) string { return strings.Repeat("ä", n) }
	const room = 1<<20 - 200 - len("1")
	stored := int64(0)
	for name, c := range map[string]struct {
		fits, not weir.Spec
		field     string
		most      string
	}{
		"key":     {weir.Spec{To: "1", Key: strings.Repeat("k", 1020)}, weir.Spec{To: "1", Key: strings.Repeat("k", 1021)}, "key", "1020"},
		"address": {weir.Spec{To: long(255)}, weir.Spec{To: long(256)}, "to", "255"},
		"survey":  {weir.Spec{To: "1", Survey: long(255)}, weir.Spec{To: "1", Survey: long(256)}, "survey", "255"},
		"number of messages": {
			weir.Spec{To: "1", Messages: make([]string, 1000)}, weir.Spec{To: "1", Messages: make([]string, 1001)}, "messages", "1000",
		},
		"messages": {
			weir.Spec{To: "1", Messages: []string{strings.Repeat("m", room-4)}}, weir.Spec{To: "1", Messages: []string{strings.Repeat("m", room-3)}}, "messages", "1048576",
		},
		"labels": {
			weir.Spec{To: "1", Labels: map[string]string{"k": strings.Repeat("v", room-9)}}, weir.Spec{To: "1", Labels: map[string]string{"k": strings.Repeat("v", room-8)}}, "messages", "1048576",
		},
		"call": {
			weir.Spec{To: "1", Call: &weir.Call{TwiML: strings.Repeat("x", room-61), CallbackURL: "u"}}, weir.Spec{To: "1", Call: &weir.Call{TwiML: strings.Repeat("x", room-60), CallbackURL: "u"}}, "messages", "1048576",
		},
	} {
		if _, err := s.Accept(t.Context(), id, []weir.Spec{c.fits}); err != nil {
			t.Errorf("%s: what fits is refused: %v", name, err)
		} else {
			stored++
		}
		_, err := s.Accept(t.Context(), id, []weir.Spec{{To: "1"}, c.not})
		e, ok := errors.AsType[*weir.Error](err)
		if !ok || e.Code != weir.CodeInvalid {
			t.Errorf("%s: what does not fit: %v", name, err)
			continue
		}
		want := []weir.FieldError{{Pointer: "/contacts/1/" + c.field, Code: "length", Detail: "may have " + c.most + " at most"}}
		if d := cmp.Diff(want, e.Fields); d != "" {
			t.Errorf("%s (-want +got):\n%s", name, d)
		}
	}
	if n, err := s.QueuedCount(t.Context(), id); n != stored || err != nil {
		t.Errorf("%d are queued, want %d (%v)", n, stored, err)
	}
}
