package web

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

	"weir"
)

const (
	// SessionLife ends a session, however much it is used.
	SessionLife = 12 * time.Hour
	sessionIdle = 2 * time.Hour // ends one that is not used
	// sessionStep is how far the end of a session must move before it is written.
	sessionStep = 5 * time.Minute
	// sessionFresh is how long a session is cached: a log-out at one process reaches
	// the others within it.
	sessionFresh = 5 * time.Second
	sessionRead  = 2 * time.Second // limit of the read
	maxSessions  = 4096            // remembered
)

// sessionEnd returns when a session that is used now expires.
func sessionEnd(created, now time.Time) time.Time {
	end, idle := created.Add(SessionLife), now.Add(sessionIdle)
	if idle.Before(end) {
		return idle
	}
	return end
}

// sessions caches rows of the store, and that there is none for an id.
type sessions struct {
	store weir.SessionStore
	mu    sync.Mutex
	known map[weir.TokenHash]*session
}

// session is a cached row of the store. It is immutable.
type session struct {
	key     *key // nil: there is no session
	expires time.Time
	stale   time.Time // when it has to be read again
}

// opens returns the key that a session stands for; nil: it has ended.
func (s *session) opens(now time.Time) *key {
	if s.key == nil || s.key.gone.Load() || !s.key.Live(now) || !now.Before(s.expires) {
		return nil
	}
	return s.key
}

func (c *sessions) get(id weir.TokenHash) *session {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.known[id]
}

// put replaces what was known, unless that has changed during the read: a session that
// ended meanwhile stays ended. One that was forgotten meanwhile is known again. It
// returns what is known now.
func (c *sessions) put(id weir.TokenHash, was, is *session, now time.Time) *session {
	c.mu.Lock()
	defer c.mu.Unlock()
	if cur := c.known[id]; cur != was && cur != nil {
		return cur
	}
	c.set(id, is, now)
	return is
}

// set makes room first. The caller holds the lock.
func (c *sessions) set(id weir.TokenHash, is *session, now time.Time) {
	if len(c.known) >= maxSessions {
		for old, s := range c.known {
			if !now.Before(s.stale) || len(c.known) >= maxSessions {
				delete(c.known, old)
			}
		}
	}
	c.known[id] = is
}

// sessionMark marks the context of a request whose bearer is that of a session.
type sessionMark struct{}

// WithSession makes the [Gate] take the bearer of a request for the text of a session.
// Only the dashboard uses it: the API has no sessions.
func WithSession(ctx context.Context) context.Context {
	return context.WithValue(ctx, sessionMark{}, true)
}

// Begin begins a session with a token, and returns the text that proves it. While the
// gate is open there is none.
func (g *Gate) Begin(ctx context.Context, token string) (text string, err error) {
	if g.Open() {
		return "", nil
	}
	if g.sessions.store == nil {
		return "", errors.New("sessions need a store")
	}
	now, k := g.now(), g.find(token, weir.HashToken(token))
	if k == nil || !k.Live(now) {
		return "", errWrongToken()
	}
	text = strings.ToLower(rand.Text() + rand.Text())
	return text, g.sessions.store.AddSession(ctx, weir.Session{
		ID: weir.HashToken(text), Token: g.nameFor(k, text), Created: now, Expires: sessionEnd(now, now),
	})
}

// End ends a session: in this process at once, in others within [sessionFresh].
func (g *Gate) End(ctx context.Context, text string) error {
	id, now := weir.HashToken(text), g.now()
	if g.sessions.store == nil {
		return nil
	}
	if err := g.sessions.store.EndSession(ctx, id); err != nil {
		return err
	}
	g.sessions.mu.Lock()
	defer g.sessions.mu.Unlock()
	g.sessions.set(id, &session{stale: now.Add(sessionFresh)}, now)
	return nil
}

// nameFor returns the name under which the store keeps the token of a session. For a
// configured token, which may be short, it cannot be computed without the session's text.
func (g *Gate) nameFor(k *key, text string) string {
	if !slices.Contains(g.configured, k) {
		return k.ID
	}
	digest := weir.HashToken(text + hex.EncodeToString(k.Hash[:]))
	return hex.EncodeToString(digest[:])
}

func (g *Gate) named(name, text string) *key {
	if k := (*g.kept.Load())[name]; k != nil {
		return k
	}
	for _, k := range g.configured {
		if g.nameFor(k, text) == name {
			return k
		}
	}
	return nil
}

// session returns the key that the text of a session stands for; nil: none. While the
// store is down, cached sessions stay valid.
func (g *Gate) session(ctx context.Context, text string, from netip.Addr) (*key, error) {
	now, id := g.now(), weir.HashToken(text)
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
	is.stale = now.Add(sessionFresh)
	return g.sessions.put(id, was, is, now).opens(now), nil
}

// readSession reads a session, and moves its end on.
func (g *Gate) readSession(ctx context.Context, text string, id weir.TokenHash, now time.Time) (*session, error) {
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
		if g.sessions.store.ExtendSession(ctx, id, end) == nil { // or the next read tries again
			is.expires = end
		}
	}
	return is, nil
}
