package callbacks

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"regexp"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"

	"weir"
)

const (
	// maxAge is how long the channels of a name are served from memory.
	// It bounds the delay until a change that a command made beside the owner is seen.
	maxAge = 5 * time.Second
	// maxAcceptAge is the same for the channel of a POST of contacts. The store
	// decides whether the channel accepts them.
	maxAcceptAge = time.Second
	// minAgeOfMiss is the min age of an entry before a wrong secret causes
	// another read of the store.
	minAgeOfMiss = time.Second
	// maxNames is the max number of cached names, which bounds the memory
	// that invented names can take.
	maxNames = 10_000
	// lookupTime is the timeout of one read of the store.
	lookupTime = 5 * time.Second
)

// ChannelName matches a valid channel name.
var ChannelName = regexp.MustCompile(`^[a-z0-9][a-z0-9._-]{0,62}$`)

// reader is the part of the store that the index reads.
type reader interface {
	CallbackChannels(ctx context.Context, name string) ([]weir.Channel, error)
}

// Index finds the channel of a callback by name and secret without a
// store read for every callback. It treats an unknown name exactly like a wrong
// secret.
type Index struct {
	store reader
	now   func() time.Time
	loads singleflight.Group

	mu      sync.Mutex
	changes int64 // calls of Forget so far: a read that began before one is not cached
	names   map[string]entry
	strays  map[string]Stray // by the name of the channel, until it is changed
}

// Stray is a callback at a path that its channel does not have.
type Stray struct {
	Path string
	At   time.Time
}

type entry struct {
	channels []weir.Channel
	secrets  [][sha256.Size]byte // by index in channels
	read     time.Time
}

func NewIndex(store reader, now func() time.Time) *Index {
	return &Index{store: store, now: now, names: map[string]entry{}, strays: map[string]Stray{}}
}

// find returns the channel of a callback. An error means that the channel could
// not be determined.
func (x *Index) find(ctx context.Context, name, secret string) (_ weir.Channel, ok bool, err error) {
	e, err := x.entry(ctx, name, func(e entry, age time.Duration) bool {
		_, ok := e.match(secret)
		return age < minAgeOfMiss || ok && age < maxAge
	})
	if err != nil {
		return weir.Channel{}, false, err
	}
	ch, ok := e.match(secret)
	return ch, ok, nil
}

// Live returns the current channel of a name; ok is false if there is none.
func (x *Index) Live(ctx context.Context, name string) (_ weir.Channel, ok bool, err error) {
	e, err := x.entry(ctx, name, func(_ entry, age time.Duration) bool { return age < maxAcceptAge })
	for i := range e.channels {
		if !e.channels[i].Deleted {
			return e.channels[i], true, nil
		}
	}
	return weir.Channel{}, false, err
}

// entry returns the cached entry of a name if it serves at its age, otherwise a new one.
func (x *Index) entry(ctx context.Context, name string, serves func(e entry, age time.Duration) bool) (entry, error) {
	x.mu.Lock()
	e, known := x.names[name]
	x.mu.Unlock()
	if known && serves(e, x.now().Sub(e.read)) {
		return e, nil
	}
	if !ChannelName.MatchString(name) { // and is not cached either
		return entry{}, nil
	}
	return x.load(ctx, name)
}

func newEntry(list []weir.Channel, read time.Time) entry {
	e := entry{channels: list, read: read}
	for i := range list {
		e.secrets = append(e.secrets, sha256.Sum256([]byte(list[i].Secret)))
	}
	return e
}

// match compares with every candidate in constant time.
func (e entry) match(secret string) (_ weir.Channel, ok bool) {
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

// load reads a name, once for all concurrent callers.
func (x *Index) load(ctx context.Context, name string) (entry, error) {
	v, err, _ := x.loads.Do(name, func() (any, error) {
		// The first caller may disconnect while others still wait for the
		// result.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lookupTime)
		defer cancel()
		x.mu.Lock()
		changes := x.changes
		x.mu.Unlock()
		read := x.now()
		list, err := x.store.CallbackChannels(ctx, name)
		if err != nil && weir.CodeOf(err) != weir.CodeNotFound {
			return entry{}, err
		}
		e := newEntry(list, read)
		x.keep(name, e, changes)
		return e, nil
	})
	if err != nil {
		return entry{}, err
	}
	return v.(entry), nil
}

func (x *Index) keep(name string, e entry, changes int64) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.changes != changes {
		return
	}
	if len(x.names) >= maxNames {
		clear(x.names)
	}
	x.names[name] = e
}

// Forget makes the next callback of a name read the store.
func (x *Index) Forget(name string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.changes++
	delete(x.names, name)
	delete(x.strays, name)
	x.loads.Forget(name)
}

// astray keeps the latest callback at an unknown path. The caller knows the secret of the channel.
func (x *Index) astray(name, path string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.strays[name] = Stray{path, x.now()}
}

// Astray returns the latest callback at an unknown path of a channel; ok is false if there was
// none within a day in this process, since the channel was changed.
func (x *Index) Astray(name string) (_ Stray, ok bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	s, ok := x.strays[name]
	return s, ok && x.now().Sub(s.At) < 24*time.Hour
}
