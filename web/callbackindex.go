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
	// acceptFresh is the same for the channel that contacts are for. The store
	// has the last word on whether it takes them.
	acceptFresh = time.Second
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
	secrets  [][sha256.Size]byte // of the channels
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
	if !channelName.MatchString(name) { // so that nothing is kept under it, either
		return weir.Channel{}, false, nil
	}
	if e, err = x.load(ctx, name); err != nil {
		return weir.Channel{}, false, err
	}
	ch, ok := e.match(secret)
	return ch, ok, nil
}

// live gives the channel that has a name now; ok is false when there is none.
func (x *callbackIndex) live(ctx context.Context, name string) (_ weir.Channel, ok bool, err error) {
	x.mu.Lock()
	e, known := x.names[name]
	x.mu.Unlock()
	if !known || x.now().Sub(e.read) >= acceptFresh {
		if !channelName.MatchString(name) {
			return weir.Channel{}, false, nil
		}
		if e, err = x.load(ctx, name); err != nil {
			return weir.Channel{}, false, err
		}
	}
	for i := range e.channels {
		if !e.channels[i].Deleted {
			return e.channels[i], true, nil
		}
	}
	return weir.Channel{}, false, nil
}

func newCallbackEntry(list []weir.Channel, read time.Time) callbackEntry {
	e := callbackEntry{channels: list, read: read}
	for i := range list {
		e.secrets = append(e.secrets, sha256.Sum256([]byte(list[i].Secret)))
	}
	return e
}

// match compares with every candidate in constant time.
func (e callbackEntry) match(secret string) (_ weir.Channel, ok bool) {
	given := sha256.Sum256([]byte(secret))
	found := -1
	for i, right := range e.secrets {
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
		read := x.now()
		list, err := x.store.CallbackChannels(ctx, name)
		if err != nil && weir.CodeOf(err) != weir.CodeNotFound {
			return callbackEntry{}, err
		}
		e := newCallbackEntry(list, read)
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
