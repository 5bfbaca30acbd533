package auth

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"

	"weir/ops"
)

const (
	// SessionLife is the max lifetime of a session, even if it is in use.
	SessionLife = 12 * time.Hour
	sessionIdle = 2 * time.Hour // an unused session ends after this time
	// sessionStep is the min extension of a session that is written to the
	// store.
	sessionStep = 5 * time.Minute
	// sessionMaxAge is how long a session is cached: a logout in one process
	// reaches the others within this time.
	sessionMaxAge = 5 * time.Second
	sessionRead   = 2 * time.Second // timeout of the read
	maxSessions   = 4096            // cached
)

// sessionEnd returns when a session that is used now expires.
func sessionEnd(created, now time.Time) time.Time {
	end, idle := created.Add(SessionLife), now.Add(sessionIdle)
	if idle.Before(end) {
		return idle
	}
	return end
}

// sessions caches sessions of the store, including ids without one.
type sessions struct {
	store ops.SessionStore
	mu    sync.Mutex
	known map[ops.TokenHash]*session
}

// session is a cached row of the store. It is immutable.
type session struct {
	key     *key // nil: there is no session
	expires time.Time
	stale   time.Time // when it must be read again
}

// opens returns the key of a session; nil: the session has ended.
func (s *session) opens(now time.Time) *key {
	if s.key == nil || s.key.revoked.Load() || !s.key.Live(now) || !now.Before(s.expires) {
		return nil
	}
	return s.key
}

func (c *sessions) get(id ops.TokenHash) *session {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.known[id]
}

// put replaces the cached entry, unless it changed during the read: a session
// that ended meanwhile stays ended. If the entry was evicted meanwhile, put
// caches it again. It returns the entry now cached.
func (c *sessions) put(id ops.TokenHash, was, is *session, now time.Time) *session {
	c.mu.Lock()
	defer c.mu.Unlock()
	if cur := c.known[id]; cur != was && cur != nil {
		return cur
	}
	c.set(id, is, now)
	return is
}

// set evicts entries if the cache is full. The caller holds the lock.
func (c *sessions) set(id ops.TokenHash, is *session, now time.Time) {
	if len(c.known) >= maxSessions {
		for old, s := range c.known {
			if !now.Before(s.stale) || len(c.known) >= maxSessions {
				delete(c.known, old)
			}
		}
	}
	c.known[id] = is
}

// sessionMark marks the context of a request whose bearer token is a session's
// text.
type sessionMark struct{}

// WithSession makes the [Gate] treat a request's bearer token as the text of a
// session. Only the dashboard uses it: the API has no sessions.
func WithSession(ctx context.Context) context.Context {
	return context.WithValue(ctx, sessionMark{}, true)
}

// Begin begins a session for a token and returns the text that proves the
// session. While the gate is open it returns an empty text.
func (g *Gate) Begin(ctx context.Context, token string) (text string, err error) {
	if g.Open() {
		return "", nil
	}
	if g.sessions.store == nil {
		return "", errors.New("sessions need a store")
	}
	now, k := g.now(), g.find(token, ops.HashToken(token))
	if k == nil || !k.Live(now) {
		return "", ErrWrongToken()
	}
	text = strings.ToLower(rand.Text() + rand.Text())
	return text, g.sessions.store.AddSession(ctx, ops.Session{
		ID: ops.HashToken(text), Token: g.nameFor(k, text), Created: now, Expires: sessionEnd(now, now),
	})
}

// End ends a session: in this process at once, in others within [sessionMaxAge].
func (g *Gate) End(ctx context.Context, text string) error {
	id, now := ops.HashToken(text), g.now()
	if g.sessions.store == nil {
		return nil
	}
	if err := g.sessions.store.EndSession(ctx, id); err != nil {
		return err
	}
	g.sessions.mu.Lock()
	defer g.sessions.mu.Unlock()
	g.sessions.set(id, &session{stale: now.Add(sessionMaxAge)}, now)
	return nil
}

// nameFor returns the name under which the store holds the token of a session.
// For a configured token, which may be short, the name cannot be computed
// without the session's text.
func (g *Gate) nameFor(k *key, text string) string {
	if !slices.Contains(g.configured, k) {
		return k.ID
	}
	digest := ops.HashToken(text + hex.EncodeToString(k.Hash[:]))
	return hex.EncodeToString(digest[:])
}

func (g *Gate) named(name, text string) *key {
	if k := (*g.stored.Load())[name]; k != nil {
		return k
	}
	for _, k := range g.configured {
		if g.nameFor(k, text) == name {
			return k
		}
	}
	return nil
}

// session returns the key of the session with a text; nil: none. While the
// store is down, cached sessions stay valid.
func (g *Gate) session(ctx context.Context, text string, from netip.Addr) (*key, error) {
	now, id := g.now(), ops.HashToken(text)
	was := g.sessions.get(id)
	if was != nil && now.Before(was.stale) {
		return was.opens(now), nil
	}
	if was == nil || was.key == nil {
		if wait := g.addresses.guessing(from, now); wait > 0 {
			return nil, errLimited(wait)
		}
	}
	is, err := g.readSession(ctx, text, id, now)
	if err != nil {
		if was == nil || was.key == nil {
			return nil, err
		}
		is = &session{key: was.key, expires: was.expires}
	}
	is.stale = now.Add(sessionMaxAge)
	return g.sessions.put(id, was, is, now).opens(now), nil
}

// readSession reads a session and extends it.
func (g *Gate) readSession(ctx context.Context, text string, id ops.TokenHash, now time.Time) (*session, error) {
	if g.sessions.store == nil {
		return &session{}, nil
	}
	ctx, cancel := context.WithTimeout(ctx, sessionRead)
	defer cancel()
	s, ok, err := g.sessions.store.Session(ctx, id, now)
	if err != nil || !ok {
		return &session{}, err
	}
	is := &session{key: g.named(s.Token, text), expires: s.Expires}
	if end := sessionEnd(s.Created, now); is.key != nil && end.Sub(s.Expires) >= sessionStep {
		if g.sessions.store.ExtendSession(ctx, id, end) == nil { // on failure, the next read retries
			is.expires = end
		}
	}
	return is, nil
}
