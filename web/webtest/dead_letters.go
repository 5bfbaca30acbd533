package webtest

import (
	"fmt"
	"testing"
	"time"

	"weir"
	"weir/api"
	"weir/persistence"
	"weir/web"
)

// DeadRig returns a rig over a store with two channels; one of them has n
// failed contacts, and one failed contact of a respondent.
func DeadRig(t *testing.T, n int, change ...func(*web.Options)) (*Rig, *persistence.Store, []weir.Contact) {
	t.Helper()
	r := New(t, change...)
	store := r.Store.Store
	Into[api.ChannelView](t, r.Do("PUT", "/v1/channels/a", GoodTexts), 201)
	Into[api.ChannelView](t, r.Do("PUT", "/v1/channels/b", GoodTexts), 201)
	ch, err := store.Channel(t.Context(), "a")
	if err != nil {
		t.Fatal(err)
	}
	var specs []weir.Spec
	for i := range n + 1 {
		specs = append(specs, weir.Spec{Key: fmt.Sprint("k", i), To: PhoneCanary, Messages: []string{TextCanary}})
	}
	specs[n].Owner = weir.Owner{Group: 1, ID: 2, Serial: 1}
	return r, store, FailAll(t, store, ch.ID, specs)
}

// FailAll accepts contacts and ends them as failed.
func FailAll(t *testing.T, store *persistence.Store, channel weir.ChannelID, specs []weir.Spec) []weir.Contact {
	t.Helper()
	by, err := store.Incarnate(t.Context(), channel)
	if err != nil {
		t.Fatal(err)
	}
	got, err := store.Accept(t.Context(), channel, specs)
	if err != nil {
		t.Fatal(err)
	}
	var list []weir.Contact
	var ts []weir.Transition
	for i := range got {
		c := got[i].Contact
		p, err := c.Finish(time.Now(), weir.Failed, "refused: "+PhoneCanary)
		if err != nil {
			t.Fatal(err)
		}
		tr := weir.Transition{From: c.Rev, Was: c.State, Contact: c}
		tr.Contact.Progress = p
		ts, list = append(ts, tr), append(list, tr.Contact)
	}
	done := make(chan weir.CommitResult, 1)
	store.Commit(weir.Change{By: by, Transitions: ts}, func(r weir.CommitResult) { done <- r })
	if r := <-done; r.Err != nil || len(r.Stale) > 0 {
		t.Fatalf("%+v", r)
	}
	return list
}
