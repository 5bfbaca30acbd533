package web

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"

	"weir"
)

const (
	// callbackFresh is how long the channels of a name are taken from memory.
	// It bounds how late a change made by another process is noticed.
	callbackFresh = 5 * time.Second
	// callbackDoubt is how long a wrong secret is believed to be wrong without
	// asking the store again.
	callbackDoubt = time.Second
	// callbackNames bounds the memory that made-up names can take.
	callbackNames = 10_000
	// callbackLookup bounds one look into the store.
	callbackLookup = 5 * time.Second
)

// callbackReader is the part of the store that the index reads.
type callbackReader interface {
	CallbackChannels(ctx context.Context, name string) ([]weir.Channel, error)
}

// callbackIndex finds the channel of a callback by its name and secret without
// a look into the store for every callback. A name that does not exist is
// treated exactly as a wrong secret is.
type callbackIndex struct {
	store callbackReader
	now   func() time.Time
	loads singleflight.Group

	mu      sync.Mutex
	changes int64 // forgets so far: a look that began before one is not kept
	names   map[string]callbackEntry
}

type callbackEntry struct {
	channels []weir.Channel
	read     time.Time
}

func newCallbackIndex(store callbackReader, now func() time.Time) *callbackIndex {
	return &callbackIndex{store: store, now: now, names: map[string]callbackEntry{}}
}

// find tells whose callback this is. An error means that it cannot be told.
func (x *callbackIndex) find(ctx context.Context, name, secret string) (_ weir.Channel, ok bool, err error) {
	x.mu.Lock()
	e, known := x.names[name]
	x.mu.Unlock()
	age := x.now().Sub(e.read)
	if known && age < callbackFresh {
		if ch, ok := e.match(secret); ok || age < callbackDoubt {
			return ch, ok, nil
		}
	}
	if e, err = x.load(ctx, name); err != nil {
		return weir.Channel{}, false, err
	}
	ch, ok := e.match(secret)
	return ch, ok, nil
}

// match compares with every candidate in constant time.
func (e callbackEntry) match(secret string) (_ weir.Channel, ok bool) {
	given := sha256.Sum256([]byte(secret))
	found := -1
	for i := range e.channels {
		right := sha256.Sum256([]byte(e.channels[i].Secret))
		if subtle.ConstantTimeCompare(given[:], right[:]) == 1 && e.channels[i].Secret != "" {
			found = i
		}
	}
	if found < 0 {
		return weir.Channel{}, false
	}
	return e.channels[found], true
}

// load reads a name, once for all who ask at the same time.
func (x *callbackIndex) load(ctx context.Context, name string) (callbackEntry, error) {
	v, err, _ := x.loads.Do(name, func() (any, error) {
		// Whoever came first may leave; the others still want to know.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), callbackLookup)
		defer cancel()
		x.mu.Lock()
		changes := x.changes
		x.mu.Unlock()
		e := callbackEntry{read: x.now()}
		var err error
		e.channels, err = x.store.CallbackChannels(ctx, name)
		if err != nil && weir.CodeOf(err) != weir.CodeNotFound {
			return callbackEntry{}, err
		}
		x.keep(name, e, changes)
		return e, nil
	})
	if err != nil {
		return callbackEntry{}, err
	}
	return v.(callbackEntry), nil
}

func (x *callbackIndex) keep(name string, e callbackEntry, changes int64) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.changes != changes {
		return
	}
	if len(x.names) >= callbackNames {
		clear(x.names)
	}
	x.names[name] = e
}

// forget makes the next callback of a name look into the store.
func (x *callbackIndex) forget(name string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.changes++
	delete(x.names, name)
	x.loads.Forget(name)
}
