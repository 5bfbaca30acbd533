package callbacks

import (
	"context"
	"strconv"
	"testing"
	"time"

	"weir"
)

type callbackReaderFunc func(name string) ([]weir.Channel, error)

func (f callbackReaderFunc) CallbackChannels(_ context.Context, name string) ([]weir.Channel, error) {
	return f(name)
}

// TestIndex_MadeUpNamesTakeBoundedMemory: a stranger may try any number of names.
func TestIndex_MadeUpNamesTakeBoundedMemory(t *testing.T) {
	t.Parallel()
	x := NewIndex(callbackReaderFunc(func(string) ([]weir.Channel, error) { return nil, nil }), time.Now)
	for i := range 3 * maxNames {
		if _, ok, err := x.find(t.Context(), strconv.Itoa(i), "secret"); ok || err != nil {
			t.Fatal(ok, err)
		}
		if len(x.names) > maxNames {
			t.Fatalf("%d names are kept", len(x.names))
		}
	}
}

// TestIndex_AChangeDuringALookIsNotLost: the result of a read that began before a
// change is not cached after it.
func TestIndex_AChangeDuringALookIsNotLost(t *testing.T) {
	t.Parallel()
	var x *Index
	looks := 0
	x = NewIndex(callbackReaderFunc(func(name string) ([]weir.Channel, error) {
		if looks++; looks == 1 {
			x.Forget(name)
			return nil, nil
		}
		return []weir.Channel{{Name: name, Secret: "right"}}, nil
	}), time.Now)
	if _, ok, _ := x.find(t.Context(), "a", "right"); ok {
		t.Fatal("found before it was there")
	}
	if _, ok, _ := x.find(t.Context(), "a", "right"); !ok {
		t.Error("the old answer was kept")
	}
}

// TestIndex_NoSecretOpensNothing: a channel whose row has no secret is closed, not
// open.
func TestIndex_NoSecretOpensNothing(t *testing.T) {
	t.Parallel()
	e := newEntry([]weir.Channel{{Name: "a"}}, time.Now())
	if _, ok := e.match(""); ok {
		t.Error("opened")
	}
}
