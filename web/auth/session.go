package auth

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"net/netip"
	"slices"
	"strings"
	"time"

	"weir/operators"
)

// sessionMark marks the context of a request whose bearer token is a session's
// text.
type sessionMark struct{}

// WithSession makes the [Gate] treat a request's bearer token as the text of a
// session. Only the dashboard uses it: the API has no sessions.
func WithSession(ctx context.Context) context.Context {
	return context.WithValue(ctx, sessionMark{}, true)
}

// visitorMark marks the context of a request from a browser without a session.
type visitorMark struct{}

// WithVisitor marks a request that the dashboard makes for a browser without a session:
// that it is refused sends the browser to the log-in page, and is nothing to warn of.
func WithVisitor(ctx context.Context) context.Context {
	return context.WithValue(ctx, visitorMark{}, true)
}

// IsVisitor reports whether ctx is from [WithVisitor].
func IsVisitor(ctx context.Context) bool { return ctx.Value(visitorMark{}) != nil }

// Begin begins a session for a token and returns the text that proves the
// session. While the gate is open it returns an empty text.
func (g *Gate) Begin(ctx context.Context, token string) (text string, err error) {
	if g.Open() {
		return "", nil
	}
	k := g.find(token, operators.HashToken(token))
	if k == nil || !k.Live(g.now()) {
		return "", ErrWrongToken()
	}
	return g.addSession(ctx, func(text string) operators.Session { return operators.Session{Token: g.nameFor(k, text)} })
}

// addSession stores a new session, which of makes for its text.
func (g *Gate) addSession(ctx context.Context, of func(text string) operators.Session) (text string, err error) {
	if g.sessions.store == nil {
		return "", errors.New("sessions need a store")
	}
	text = strings.ToLower(rand.Text() + rand.Text())
	s, now := of(text), g.now()
	s.ID, s.Created, s.Expires = operators.HashToken(text), now, sessionEnd(now, now)
	return text, g.sessions.store.AddSession(ctx, s)
}

// End ends a session: in this process at once, in others within [sessionMaxAge].
func (g *Gate) End(ctx context.Context, text string) error {
	id, now := operators.HashToken(text), g.now()
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
	digest := operators.HashToken(text + hex.EncodeToString(k.Hash[:]))
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
	now, id := g.now(), operators.HashToken(text)
	was := g.sessions.get(id)
	if was != nil && now.Before(was.stale) {
		return was.opens(now), nil
	}
	if was == nil || was.key == nil {
		if wait := g.addresses.guessing(from, now); wait > 0 {
			return nil, errLimited(wait)
		}
	}
	is, err := g.readSession(ctx, text, id, was, now)
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
func (g *Gate) readSession(ctx context.Context, text string, id operators.TokenHash, was *session, now time.Time) (*session, error) {
	if g.sessions.store == nil {
		return &session{}, nil
	}
	ctx, cancel := context.WithTimeout(ctx, sessionRead)
	defer cancel()
	s, ok, err := g.sessions.store.Session(ctx, id, now)
	if err != nil || !ok {
		return &session{}, err
	}
	is := &session{expires: s.Expires}
	if s.Person != "" {
		is.key = g.keyOfPerson(&s, was)
	} else {
		is.key = g.named(s.Token, text)
	}
	if end := sessionEnd(s.Created, now); is.key != nil && end.Sub(s.Expires) >= sessionStep {
		if g.sessions.store.ExtendSession(ctx, id, end) == nil { // on failure, the next read retries
			is.expires = end
		}
	}
	return is, nil
}
