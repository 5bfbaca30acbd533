package auth

import (
	"net/http"
	"net/netip"
	"net/url"
	"path"
	"strings"
	"time"

	"weir"
	"weir/operators"
	"weir/web/httpjson"
)

// Admit admits a request whose token has all the scopes, and returns the
// token's id. While the gate is open it admits every request, with an empty id.
func (g *Gate) Admit(r *http.Request, all ...operators.Scope) (id string, err error) {
	v, err := g.Authenticate(r)
	if err != nil {
		return "", err
	}
	for _, scope := range all {
		if !v.Has(scope) {
			return v.ID(), ErrForbidden(scope)
		}
	}
	return v.ID(), nil
}

// Authenticate identifies the sender of a request and applies the rate limits.
func (g *Gate) Authenticate(r *http.Request) (*Principal, error) {
	now, from := g.now(), ClientAddress(r)
	if g.Open() {
		// Without tokens, the origin and the address are all there is to check.
		if g.origins.Check(r) != nil {
			return nil, weir.Errorf(weir.CodeForbidden, "cross-site requests are refused while no token exists")
		}
		if wait := g.addresses.request(from, now); wait > 0 {
			return nil, errLimited(wait)
		}
		return &Principal{gate: g}, nil
	}
	text, given := bearer(r)
	if !given {
		return nil, g.refuse(from, nil, now)
	}
	hash := operators.HashToken(text)
	k, err := g.identify(r, from, text, hash, now)
	if err != nil {
		return nil, err
	}
	if k == nil || !k.Live(now) {
		return nil, g.refuse(from, &hash, now)
	}
	k.lastUsed.Store(now.UnixMicro())
	if wait := take(k.bucket, now); wait > 0 {
		return nil, errLimited(wait)
	}
	v := &Principal{gate: g, key: k}
	if r.Context().Value(sessionMark{}) != nil {
		v.sessionValid = func() bool {
			k, err := g.session(r.Context(), text, from)
			return err != nil || k != nil
		}
	}
	return v, nil
}

// identify returns the key of a bearer token; nil: none.
func (g *Gate) identify(r *http.Request, from netip.Addr, text string, hash operators.TokenHash, now time.Time) (*key, error) {
	if r.Context().Value(sessionMark{}) != nil {
		return g.session(r.Context(), text, from)
	}
	k := g.find(text, hash)
	if k == nil || k.weak {
		// After too many guesses the response must not reveal whether this one
		// is right.
		if wait := g.addresses.guessing(from, now); wait > 0 {
			return nil, errLimited(wait)
		}
	}
	return k, nil
}

func (g *Gate) refuse(from netip.Addr, wrong *operators.TokenHash, now time.Time) error {
	if wait := g.addresses.refusal(from, wrong, now); wait > 0 {
		return errLimited(wait)
	}
	if wrong == nil {
		return errNoToken()
	}
	return ErrWrongToken()
}

// bearer returns the bearer token of a request.
func bearer(r *http.Request) (text string, given bool) {
	scheme, text, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	text = strings.TrimSpace(text)
	return text, text != "" && strings.EqualFold(scheme, "Bearer")
}

func errNoToken() error {
	return weir.Errorf(weir.CodeUnauthorised, "the request has no bearer token; send one: Authorization: Bearer <token>")
}

func ErrForbidden(oneOf ...operators.Scope) error {
	return weir.Errorf(weir.CodeForbidden, "the token lacks the scope: %s", scopeWords(oneOf, " or "))
}

// errOutside returns the error of a request about what is outside of the limits of a token's scopes.
func errOutside(about operators.Subject, oneOf []operators.Scope, prefixes []string) error {
	if about.Kind == "" {
		return weir.Errorf(weir.CodeForbidden, "the token is limited to names that begin with %s; this requires a scope without a limit: %s", strings.Join(prefixes, " or "), scopeWords(oneOf, " or "))
	}
	return weir.Errorf(weir.CodeForbidden, "the token is limited to %ss whose names begin with %s", about.Kind, strings.Join(prefixes, " or "))
}

func scopeWords(list []operators.Scope, between string) string {
	words := make([]string, len(list))
	for i, scope := range list {
		words[i] = string(scope)
	}
	return strings.Join(words, between)
}

// Principal is the authenticated sender of a request.
type Principal struct {
	gate         *Gate
	key          *key        // nil: the gate is open
	sessionValid func() bool // for a session: reports whether it still exists
}

// ID returns the id of the sender's token; empty: the gate is open.
func (v *Principal) ID() string {
	if v == nil || v.key == nil {
		return ""
	}
	return v.key.ID
}

// Name returns the name of the token; ok is false while the gate is open.
func (v *Principal) Name() (_ string, ok bool) {
	if v.key == nil {
		return "", false
	}
	return v.key.Name, true
}

// Has reports whether the sender has a scope for the whole installation.
func (v *Principal) Has(scope operators.Scope) bool {
	return v.key == nil || v.key.rights.MayAll(scope)
}

// Scopes returns the sender's scopes, with their limits.
func (v *Principal) Scopes() []operators.Scope {
	if v.key == nil {
		return operators.Scopes()
	}
	return v.key.rights.Scopes()
}

// Contains reports whether the sender can do all that a scope allows.
func (v *Principal) Contains(scope operators.Scope) bool {
	return v.key == nil || v.key.rights.Contain(scope)
}

// May reports whether one of the scopes allows the sender a request about a subject.
func (v *Principal) May(oneOf []operators.Scope, about operators.Subject) bool {
	return v.key == nil || v.key.rights.May(oneOf, about)
}

// Prefixes returns the limits of the sender's scopes.
func (v *Principal) Prefixes(oneOf []operators.Scope) []string {
	if v.key == nil {
		return nil
	}
	return v.key.rights.Prefixes(oneOf)
}

// Require returns an error if none of the scopes allows the sender a request about a subject.
func (v *Principal) Require(oneOf []operators.Scope, about operators.Subject) error {
	if v.May(oneOf, about) {
		return nil
	}
	if prefixes := v.Prefixes(oneOf); len(prefixes) > 0 {
		return errOutside(about, oneOf, prefixes)
	}
	return ErrForbidden(oneOf...)
}

// RequireSome returns an error if the sender has none of the scopes, not even with a limit.
func (v *Principal) RequireSome(oneOf []operators.Scope) error {
	if len(v.Prefixes(oneOf)) > 0 {
		return nil
	}
	return v.Require(oneOf, operators.Subject{})
}

// StillAdmitted reports whether a sender admitted earlier would still be admitted.
func (v *Principal) StillAdmitted() bool {
	if v.key == nil {
		return v.gate.Open()
	}
	return !v.key.revoked.Load() && v.key.Live(v.gate.now()) && (v.sessionValid == nil || v.sessionValid())
}

// LocalOnly rejects, while no token is needed, requests whose Host is neither this
// machine, under a name that only this machine can have, nor the host of the
// public URL. Otherwise any site could point its own name here (DNS rebinding),
// and its pages would have the rights of everyone on this machine. Requests
// below signed, a path whose handler admits only requests with a valid
// signature over Host, pass under any host: no web page can produce such a
// signature. An empty signed exempts nothing.
func LocalOnly(gate *Gate, publicURL, signed string, h http.Handler) http.Handler {
	public := ""
	if u, err := url.Parse(publicURL); err == nil {
		public = u.Hostname()
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		exempt := signed != "" && strings.HasPrefix(path.Clean(r.URL.Path), signed)
		if gate.Open() && !exempt && !local(r.Host, public) {
			httpjson.WriteProblem(w, weir.Errorf(weir.CodeForbidden,
				"while there is no token Weir answers under localhost and under the host of PUBLIC_URL only: else any site could let its own name point here"))
			return
		}
		h.ServeHTTP(w, r)
	})
}

// local reports whether the host of a request is this machine or the public one.
// A request without a host does not come from a browser.
func local(host, public string) bool {
	name := (&url.URL{Host: host}).Hostname()
	if host == "" || name == "localhost" || public != "" && strings.EqualFold(name, public) {
		return true
	}
	ip, err := netip.ParseAddr(name)
	return err == nil && ip.Unmap().IsLoopback()
}
