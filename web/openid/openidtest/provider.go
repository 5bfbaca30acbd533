// Package openidtest is an OpenID Connect provider for tests, which misbehaves on demand.
package openidtest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
)

// ClientID and ClientSecret are those of Weir at the provider.
const (
	ClientID     = "weir-at-tests"
	ClientSecret = "CANARY-client-secret-0123456789" //nolint:gosec // of a provider in tests
)

// Provider is a provider that listens on loopback.
type Provider struct {
	t      testing.TB
	server *httptest.Server

	mu        sync.Mutex
	key       *ecdsa.PrivateKey
	keyID     int
	codes     map[string]*grant
	claims    map[string]any
	mischief  Mischief
	exchanges int // requests of the token endpoint
}

// grant is what a code stands for.
type grant struct {
	nonce, challenge, redirect string
	used                       bool
}

// Mischief is what a provider does wrong.
type Mischief struct {
	Claims     map[string]any // replace those of the ID token; nil removes
	OtherKey   bool           // signs with a key that it does not publish
	Unsigned   bool           // alg none
	HMAC       bool           // signs with the client's secret instead of a key
	NoIDToken  bool
	ReuseCodes bool     // takes a code more than once
	Down       bool     // every request fails
	TokenDown  bool     // the token endpoint fails
	Huge       bool     // responses have no end
	Slow       bool     // the token endpoint does not answer
	Moved      int      // the token endpoint redirects to one that works, with this status
	OtherName  bool     // the description has another issuer
	Plain      bool     // the description names a token endpoint without https
	MoreKeys   []string // further keys of the set, as JSON, before its own
}

// Open starts a provider that vouches for ana@example.org, of the groups given.
func Open(t testing.TB, groups ...string) *Provider {
	t.Helper()
	p := &Provider{t: t, codes: map[string]*grant{}}
	p.Rotate()
	p.LogsIn(map[string]any{"sub": "subject-1", "preferred_username": "ana@example.org", "email": "ana@example.org", "email_verified": true, "groups": groups})
	mux := http.NewServeMux()
	mux.HandleFunc("GET /.well-known/openid-configuration", p.describe)
	mux.HandleFunc("GET /keys", p.keys)
	mux.HandleFunc("GET /authorize", p.authorize)
	mux.HandleFunc("POST /token", p.token)
	mux.HandleFunc("/moved", p.token)
	p.server = httptest.NewServer(p.trouble(mux))
	t.Cleanup(p.server.Close)
	return p
}

// Issuer returns the provider's name.
func (p *Provider) Issuer() string { return p.server.URL }

// Environment returns the variables of a Weir at publicURL whose people log in here.
func (p *Provider) Environment(publicURL, scopes string) []string {
	return []string{
		"WEIR_OIDC_ISSUER=" + p.Issuer(), "WEIR_OIDC_CLIENT_ID=" + ClientID, "WEIR_OIDC_CLIENT_SECRET=" + ClientSecret,
		"WEIR_OIDC_SCOPES=" + scopes, "PUBLIC_URL=" + publicURL,
	}
}

// LogsIn sets the claims of the person who logs in from now on.
func (p *Provider) LogsIn(claims map[string]any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.claims = claims
}

// Misbehaves sets what the provider does wrong from now on.
func (p *Provider) Misbehaves(m Mischief) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.mischief = m
}

// Rotate replaces the key with which the provider signs.
func (p *Provider) Rotate() {
	p.t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		p.t.Fatal(err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.key = key
	p.keyID++
}

// Exchanges returns how many codes were presented.
func (p *Provider) Exchanges() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.exchanges
}

// Visit is the browser at the provider: it follows the address to which Weir sent it, logs in, and
// returns the address to which the provider sends it back.
func (p *Provider) Visit(address string) *url.URL {
	p.t.Helper()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	req, err := http.NewRequestWithContext(p.t.Context(), http.MethodGet, address, nil)
	if err != nil {
		p.t.Fatal(err)
	}
	res, err := client.Do(req)
	if err != nil {
		p.t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	back, err := res.Location()
	if err != nil {
		p.t.Fatalf("the provider answers %s: %v", res.Status, err)
	}
	return back
}

func (p *Provider) bad() Mischief {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.mischief
}

// trouble is in front of every endpoint.
func (p *Provider) trouble(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		m := p.bad()
		switch {
		case m.Down, m.TokenDown && r.URL.Path == "/token":
			http.Error(w, "down", http.StatusBadGateway)
		case m.Huge:
			for part := []byte(strings.Repeat(" ", 1<<16)); ; {
				if _, err := w.Write(part); err != nil {
					return
				}
			}
		case m.Moved != 0 && r.URL.Path == "/token":
			http.Redirect(w, r, "/moved", m.Moved)
		case m.Slow && r.URL.Path == "/token":
			_ = r.ParseForm()    // the end of a connection is noticed only after the body
			<-r.Context().Done() // the client gives up
		default:
			next.ServeHTTP(w, r)
		}
	})
}

func (p *Provider) describe(w http.ResponseWriter, _ *http.Request) {
	issuer, token := p.Issuer(), p.Issuer()+"/token"
	if p.bad().OtherName {
		issuer = "https://other.example.org"
	}
	if p.bad().Plain {
		token = "http://other.example.org/token" //nolint:gosec // an address
	}
	answer(w, map[string]any{
		"issuer": issuer, "authorization_endpoint": p.Issuer() + "/authorize", "token_endpoint": token, "jwks_uri": p.Issuer() + "/keys",
		"response_types_supported": []string{"code"}, "subject_types_supported": []string{"public"},
		"id_token_signing_alg_values_supported": []string{"ES256", "HS256", "none"}, "token_endpoint_auth_methods_supported": []string{"client_secret_basic"},
	})
}

func answer(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(v)
}

func (p *Provider) keys(w http.ResponseWriter, _ *http.Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	var keys []any
	for _, key := range p.mischief.MoreKeys {
		keys = append(keys, json.RawMessage(key))
	}
	keys = append(keys, jose.JSONWebKey{Key: p.key.Public(), KeyID: fmt.Sprint(p.keyID), Algorithm: "ES256", Use: "sig"})
	answer(w, map[string]any{"keys": keys})
}

// authorize logs the person in without a question.
func (p *Provider) authorize(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	if q.Get("client_id") != ClientID || q.Get("response_type") != "code" || q.Get("code_challenge_method") != "S256" || !strings.Contains(q.Get("scope"), "openid") {
		http.Error(w, "wrong request", http.StatusBadRequest)
		return
	}
	code := rand.Text()
	p.mu.Lock()
	p.codes[code] = &grant{nonce: q.Get("nonce"), challenge: q.Get("code_challenge"), redirect: q.Get("redirect_uri")}
	p.mu.Unlock()
	http.Redirect(w, r, q.Get("redirect_uri")+"?"+url.Values{"code": {code}, "state": {q.Get("state")}, "iss": {p.Issuer()}}.Encode(), http.StatusFound) //nolint:gosec // a provider sends people back
}

func (p *Provider) token(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.exchanges++
	id, secret, _ := r.BasicAuth()
	digest := sha256.Sum256([]byte(r.PostFormValue("code_verifier")))
	g := p.codes[r.PostFormValue("code")]
	if id != ClientID || secret != ClientSecret {
		w.WriteHeader(http.StatusUnauthorized)
		answer(w, map[string]string{"error": "invalid_client"})
		return
	}
	if g == nil || g.used && !p.mischief.ReuseCodes || g.redirect != r.PostFormValue("redirect_uri") || base64.RawURLEncoding.EncodeToString(digest[:]) != g.challenge {
		w.WriteHeader(http.StatusBadRequest)
		answer(w, map[string]string{"error": "invalid_grant", "error_description": "the code is not valid"})
		return
	}
	g.used = true
	out := map[string]any{"access_token": "CANARY-access-token", "token_type": "Bearer", "expires_in": 60}
	if !p.mischief.NoIDToken {
		out["id_token"] = p.sign(g.nonce)
	}
	answer(w, out)
}

// sign makes an ID token. The caller holds the lock.
func (p *Provider) sign(nonce string) string {
	now := time.Now()
	claims := map[string]any{"iss": p.Issuer(), "aud": ClientID, "iat": now.Unix(), "exp": now.Add(time.Minute).Unix(), "nonce": nonce}
	maps.Copy(claims, p.claims)
	for name, value := range p.mischief.Claims {
		if claims[name] = value; value == nil {
			delete(claims, name)
		}
	}
	raw, err := json.Marshal(claims)
	if err != nil {
		p.t.Error(err)
	}
	if p.mischief.Unsigned {
		return base64.RawURLEncoding.EncodeToString([]byte(`{"alg":"none"}`)) + "." + base64.RawURLEncoding.EncodeToString(raw) + "."
	}
	key := jose.SigningKey{Algorithm: jose.ES256, Key: p.key}
	if p.mischief.OtherKey {
		other, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		if err != nil {
			p.t.Error(err)
		}
		key.Key = other
	}
	if p.mischief.HMAC {
		key = jose.SigningKey{Algorithm: jose.HS256, Key: []byte(strings.Repeat(ClientSecret, 2))}
	}
	signer, err := jose.NewSigner(key, (&jose.SignerOptions{}).WithHeader("kid", fmt.Sprint(p.keyID)))
	if err != nil {
		p.t.Error(err)
		return ""
	}
	signed, err := signer.Sign(raw)
	if err != nil {
		p.t.Error(err)
		return ""
	}
	text, _ := signed.CompactSerialize()
	return text
}
