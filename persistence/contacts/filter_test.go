package contacts_test

import (
	"slices"
	"testing"

	"weir"
	"weir/persistence/columns"
	"weir/persistence/storetest"
)

// A filter finds contacts behind more others than are read at once.
func TestContacts_FilterFindsBeyondOneRead(t *testing.T) {
	t.Parallel()
	s := storetest.SQLite(t)
	id, _ := storetest.OpenChannel(t, s, "a")
	if _, err := s.Accept(t.Context(), id, slices.Repeat([]weir.Spec{{To: "sms://1", Survey: "other"}}, columns.MaxPage)); err != nil {
		t.Fatal(err)
	}
	want, err := s.Accept(t.Context(), id, []weir.Spec{{To: "sms://2", Survey: "wanted"}})
	if err != nil {
		t.Fatal(err)
	}
	for name, f := range map[string]weir.ContactFilter{
		"by id": {}, "queued": {States: []weir.State{weir.Queued}}, "queued or done": {States: []weir.State{weir.Queued, weir.Done}},
	} {
		f.Channel, f.Survey = id, "wanted"
		got, _, err := s.Contacts(t.Context(), f)
		if err != nil || len(got) != 1 || got[0].Ref != want[0].Contact.Ref {
			t.Errorf("%s: %d contacts (%v)", name, len(got), err)
		}
	}
}
