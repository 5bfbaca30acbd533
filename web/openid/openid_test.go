package openid_test

import (
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"weir/operators"
	"weir/web/openid"
	"weir/web/openid/openidtest"
)

const redirect = "http://127.0.0.1:9/login/oidc/callback"

// clock is a clock that the test moves.
type clock struct{ ahead time.Duration }

func (c *clock) now() time.Time { return time.Now().Add(c.ahead) }

func open(at *openidtest.Provider, change func(*openid.Options)) *openid.Provider {
	o := openid.Options{
		Issuer: at.Issuer(), ClientID: openidtest.ClientID, ClientSecret: openidtest.ClientSecret, RedirectURL: redirect, GroupsClaim: "groups",
		RequestScopes: []string{"openid", "profile"},
	}
	if change != nil {
		change(&o)
	}
	return openid.New(o)
}

// login begins a log-in, visits the provider, and returns what Finish needs.
func login(t *testing.T, p *openid.Provider, at *openidtest.Provider) (kept string, query url.Values) {
	t.Helper()
	address, kept, err := p.Start(t.Context(), "/channels")
	if err != nil {
		t.Fatal(err)
	}
	back := at.Visit(address)
	if got := back.Scheme + "://" + back.Host + back.Path; got != redirect {
		t.Fatalf("the provider sends people to %s", got)
	}
	return kept, back.Query()
}

// refused checks the reason of an error, and that it has no secret.
func refused(t *testing.T, what string, err error, want openid.Reason) {
	t.Helper()
	r, ok := errors.AsType[*openid.RefusalError](err)
	if !ok || r.Reason != want {
		t.Errorf("%s: %v, want %q", what, err, want)
		return
	}
	if strings.Contains(r.Error(), "CANARY") || r.Text() == "" || strings.Contains(r.Text(), "CANARY") || len(r.Error()) > 500 {
		t.Errorf("%s: the log has %q, the page %q", what, r.Error(), r.Text())
	}
}

func TestProvider_SaysWhoLoggedIn(t *testing.T) {
	t.Parallel()
	at := openidtest.Open(t, "b", "a", "b")
	p := open(at, nil)
	kept, query := login(t, p, at)
	who, next, err := p.Finish(t.Context(), kept, query)
	if err != nil || next != "/channels" {
		t.Fatalf("%q %v", next, err)
	}
	if d := cmp.Diff(openid.Person{ID: "oidc:ana@example.org", Subject: "subject-1", Groups: []string{"b", "a"}}, who); d != "" {
		t.Error(d)
	}
	if p.Title() != strings.TrimPrefix(at.Issuer(), "http://") {
		t.Errorf("the title is %q", p.Title())
	}
}

// Scenario 326: whatever a provider, or somebody between, does wrong, nobody is let in.
func TestProvider_WrongIDTokensAreRefused(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		bad  openidtest.Mischief
		want openid.Reason
	}{
		"nonce of another log-in":   {openidtest.Mischief{Claims: map[string]any{"nonce": "x"}}, openid.ReasonNonce},
		"no nonce":                  {openidtest.Mischief{Claims: map[string]any{"nonce": nil}}, openid.ReasonNonce},
		"audience":                  {openidtest.Mischief{Claims: map[string]any{"aud": "another"}}, openid.ReasonToken},
		"several audiences, no azp": {openidtest.Mischief{Claims: map[string]any{"aud": []string{"another", openidtest.ClientID}}}, openid.ReasonToken},
		"made for another":          {openidtest.Mischief{Claims: map[string]any{"azp": "another"}}, openid.ReasonToken},
		"expired":                   {openidtest.Mischief{Claims: map[string]any{"exp": time.Now().Add(-time.Second).Unix()}}, openid.ReasonToken},
		"not valid yet":             {openidtest.Mischief{Claims: map[string]any{"nbf": time.Now().Add(time.Hour).Unix()}}, openid.ReasonToken},
		"issuer":                    {openidtest.Mischief{Claims: map[string]any{"iss": "https://other.example.org"}}, openid.ReasonToken},
		"no subject":                {openidtest.Mischief{Claims: map[string]any{"sub": nil}}, openid.ReasonToken},
		"signature":                 {openidtest.Mischief{OtherKey: true}, openid.ReasonToken},
		"unsigned":                  {openidtest.Mischief{Unsigned: true}, openid.ReasonToken},
		"signed with the secret":    {openidtest.Mischief{HMAC: true}, openid.ReasonToken},
		"no ID token":               {openidtest.Mischief{NoIDToken: true}, openid.ReasonToken},
		"groups of a wrong form":    {openidtest.Mischief{Claims: map[string]any{"groups": 7}}, openid.ReasonToken},
		"groups left out":           {openidtest.Mischief{Claims: map[string]any{"groups": nil, "_claim_names": map[string]string{"groups": "src1"}, "_claim_sources": map[string]any{"src1": map[string]string{"endpoint": "https://graph.example"}}}}, openid.ReasonTooMany},
		"token endpoint down":       {openidtest.Mischief{TokenDown: true}, openid.ReasonUnreachable},
		"endless answer":            {openidtest.Mischief{Huge: true}, openid.ReasonUnreachable},
		"token endpoint moved, 302": {openidtest.Mischief{Moved: http.StatusFound}, openid.ReasonCode},
		"token endpoint moved, 307": {openidtest.Mischief{Moved: http.StatusTemporaryRedirect}, openid.ReasonCode},
		"token endpoint moved, 308": {openidtest.Mischief{Moved: http.StatusPermanentRedirect}, openid.ReasonCode},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			at := openidtest.Open(t, "a")
			p := open(at, nil)
			kept, query := login(t, p, at)
			at.Misbehaves(c.bad)
			who, _, err := p.Finish(t.Context(), kept, query)
			refused(t, name, err, c.want)
			if who.ID != "" && !strings.HasPrefix(name, "groups") { // the audit log has whose groups were left out
				t.Errorf("it returns %+v", who)
			}
		})
	}
}

func TestProvider_SlowOneIsGivenUp(t *testing.T) {
	t.Parallel()
	at := openidtest.Open(t, "a")
	p := open(at, nil)
	kept, query := login(t, p, at)
	at.Misbehaves(openidtest.Mischief{Slow: true})
	begin := time.Now()
	_, _, err := p.Finish(t.Context(), kept, query)
	refused(t, "slow", err, openid.ReasonUnreachable)
	if took := time.Since(begin); took > time.Minute {
		t.Errorf("it took %v", took)
	}
}

// What comes back has to belong to a log-in that this browser began, lately, and once.
func TestProvider_WrongAnswersAreRefused(t *testing.T) {
	t.Parallel()
	at := openidtest.Open(t, "a")
	now := &clock{}
	p := open(at, func(o *openid.Options) { o.Now = now.now })
	finish := func(what, kept string, query url.Values, want openid.Reason) {
		t.Helper()
		before := at.Exchanges()
		_, _, err := p.Finish(t.Context(), kept, query)
		refused(t, what, err, want)
		if want != openid.ReasonCode && at.Exchanges() != before {
			t.Errorf("%s: the provider was asked", what)
		}
	}
	with := func(query url.Values, name, value string) url.Values {
		changed := url.Values{}
		for k, v := range query {
			changed[k] = slices.Clone(v)
		}
		changed.Set(name, value)
		return changed
	}
	kept, query := login(t, p, at)
	otherKept, otherQuery := login(t, p, at)
	finish("no cookie", "", query, openid.ReasonNotBegun)
	finish("not a cookie of ours", "e30", query, openid.ReasonNotBegun)
	finish("no state", kept, with(query, "state", ""), openid.ReasonState)
	finish("state of another", kept, otherQuery, openid.ReasonState)
	finish("cookie of another", otherKept, query, openid.ReasonState)
	now.ahead = openid.AttemptLife + time.Minute
	finish("late", kept, query, openid.ReasonNotBegun)
	now.ahead = 0
	// The code of another log-in, put into the answer of this one: PKCE binds it to its own.
	finish("code of another", kept, with(query, "code", otherQuery.Get("code")), openid.ReasonCode)
	finish("again", kept, query, openid.ReasonRepeated)
	finish("another issuer", otherKept, with(otherQuery, "iss", "https://other.example.org"), openid.ReasonIssuer)

	kept, query = login(t, p, at)
	finish("denied", kept, url.Values{"state": query["state"], "error": {"access_denied"}, "error_description": {"call +15559998877"}}, openid.ReasonDenied)
	kept, query = login(t, p, at)
	finish("no code", kept, with(query, "code", ""), openid.ReasonDenied)
}

// A log-in that came back once does not do so again, even where the provider takes codes again;
// another process relies on the provider.
func TestProvider_LogInsAreUsedOnce(t *testing.T) {
	t.Parallel()
	at := openidtest.Open(t, "a")
	p := open(at, nil)
	at.Misbehaves(openidtest.Mischief{ReuseCodes: true})
	kept, query := login(t, p, at)
	if _, _, err := p.Finish(t.Context(), kept, query); err != nil {
		t.Fatal(err)
	}
	_, _, err := p.Finish(t.Context(), kept, query)
	refused(t, "a second time", err, openid.ReasonRepeated)
	at.Misbehaves(openidtest.Mischief{})
	_, _, err = open(at, nil).Finish(t.Context(), kept, query)
	refused(t, "a second time, elsewhere", err, openid.ReasonCode)
}

// The process that ends a log-in may be another one than began it.
func TestProvider_LogInsEndAtAnotherProcess(t *testing.T) {
	t.Parallel()
	at := openidtest.Open(t, "a")
	kept, query := login(t, open(at, nil), at)
	if who, _, err := open(at, nil).Finish(t.Context(), kept, query); err != nil || who.ID != "oidc:ana@example.org" {
		t.Errorf("%+v %v", who, err)
	}
}

func TestProvider_NewKeysAreRead(t *testing.T) {
	t.Parallel()
	at := openidtest.Open(t, "a")
	p := open(at, nil)
	for range 3 {
		kept, query := login(t, p, at)
		if _, _, err := p.Finish(t.Context(), kept, query); err != nil {
			t.Fatal(err)
		}
		at.Rotate()
	}
}

// A provider that is down is tried again after a while; one that was found goes on.
// A key that cannot be read ends nothing: those beside it count.
func TestProvider_KeysThatCannotBeReadAreSkipped(t *testing.T) {
	t.Parallel()
	for _, key := range []string{
		`{"kty":"EC","kid":"0","crv":"P-256","x":"AAAA","y":"AAAA"}`, `{"kty":"EC","crv":"P-999","x":"AQ","y":"AQ"}`, `{"kty":"EC","crv":"secp256k1","x":"AQ","y":"AQ"}`,
		`{"kty":"RSA","n":"","e":""}`, `{"kty":"RSA","n":"!","e":"AQAB"}`, `{"kty":"RSA","n":"AQAB","e":"AQAB","x5c":["no certificate"]}`,
		`{"kty":"OKP","crv":"X448","x":"AQ"}`, `{"kty":"AKP","alg":"ML-DSA-44","pub":"AQ"}`, `{"kty":"oct"}`, `{"kty":7}`, `{"alg":7}`, `{}`, `"key"`, `null`, `[]`,
	} {
		at := openidtest.Open(t, "a")
		at.Misbehaves(openidtest.Mischief{MoreKeys: []string{key, key}})
		p := open(at, nil)
		kept, query := login(t, p, at)
		if _, _, err := p.Finish(t.Context(), kept, query); err != nil {
			t.Errorf("%s: %v", key, err)
		}
	}
}

func TestProvider_DiscoveryIsRetried(t *testing.T) {
	t.Parallel()
	at := openidtest.Open(t, "a")
	now := &clock{}
	p := open(at, func(o *openid.Options) { o.Now = now.now })
	for _, bad := range []openidtest.Mischief{{Down: true}, {OtherName: true}, {Plain: true}, {Huge: true}} {
		at.Misbehaves(bad)
		refused(t, "down", p.Ready(t.Context()), openid.ReasonUnreachable)
		at.Misbehaves(openidtest.Mischief{})
		refused(t, "still", p.Ready(t.Context()), openid.ReasonUnreachable)
		now.ahead += 11 * time.Second
	}
	if err := p.Ready(t.Context()); err != nil {
		t.Fatal(err)
	}
	at.Misbehaves(openidtest.Mischief{Down: true})
	now.ahead += 2 * time.Hour
	if _, _, err := p.Start(t.Context(), "/"); err != nil {
		t.Errorf("what was found is forgotten: %v", err)
	}
}

func TestProvider_NamesAreFitForLogs(t *testing.T) {
	t.Parallel()
	at := openidtest.Open(t)
	for _, c := range []struct {
		claim  string
		claims map[string]any
		want   string // empty: refused
	}{
		{"", map[string]any{"sub": "s-1", "preferred_username": " ana "}, "oidc:ana"},
		{"", map[string]any{"sub": "s-1", "email": "ana@example.org"}, "oidc:ana@example.org"},
		{"", map[string]any{"sub": "s-1", "email": "ana@example.org", "email_verified": false}, "oidc:s-1"},
		{"", map[string]any{"sub": "s-1", "email": "ana@example.org", "email_verified": true}, "oidc:ana@example.org"},
		{"", map[string]any{"sub": "s-1", "email": "ana@example.org", "email_verified": "true"}, "oidc:ana@example.org"},
		{"", map[string]any{"sub": "s-1", "email": "ana@example.org", "email_verified": "false"}, "oidc:s-1"},
		{"", map[string]any{"sub": "s-1", "email": "ana@example.org", "email_verified": ""}, "oidc:s-1"},
		{"", map[string]any{"sub": "s-1", "email": "ana@example.org", "email_verified": 1}, "oidc:s-1"},
		{"", map[string]any{"sub": "s-1", "email": "ana@example.org", "email_verified": []string{"true"}}, "oidc:s-1"},
		{"", map[string]any{"sub": "s-1", "preferred_username": "+15559998877"}, "oidc:s-1"},
		{"", map[string]any{"sub": "s-1", "preferred_username": "a\nb"}, "oidc:s-1"},
		{"", map[string]any{"sub": "15559998877"}, "oidc:subject-b35dbb3ae2c7"},
		{"name", map[string]any{"sub": "s-1", "name": "Ana Müller"}, "oidc:Ana Müller"},
		{"name", map[string]any{"sub": "s-1"}, ""},
		{"", map[string]any{"sub": "s-1", "preferred_username": strings.Repeat("ü", 90)}, "oidc:" + strings.Repeat("ü", 49) + "~6a840baf"},
	} {
		p := open(at, func(o *openid.Options) { o.NameClaim = c.claim })
		at.LogsIn(c.claims)
		kept, query := login(t, p, at)
		who, _, err := p.Finish(t.Context(), kept, query)
		if c.want == "" {
			refused(t, "no name", err, openid.ReasonNoName)
			continue
		}
		if err != nil || who.ID != c.want || len([]rune(who.ID)) > operators.MaxPersonID {
			t.Errorf("%v: %q %v, want %q", c.claims, who.ID, err, c.want)
		}
	}
}

func TestProvider_GroupsMayBeOneText(t *testing.T) {
	t.Parallel()
	at := openidtest.Open(t)
	for _, c := range []struct {
		claim  string
		claims map[string]any
		want   []string
		reason openid.Reason
	}{
		{"hd", map[string]any{"sub": "s", "hd": "example.org"}, []string{"example.org"}, ""},
		{"email", map[string]any{"sub": "s", "email": "ana@example.org", "email_verified": true}, []string{"ana@example.org"}, ""},
		{"email", map[string]any{"sub": "s", "email": "ana@example.org"}, nil, openid.ReasonToken},
		{"email", map[string]any{"sub": "s", "email": "ana@example.org", "email_verified": false}, nil, openid.ReasonToken},
		{"email", map[string]any{"sub": "s", "email": "ana@example.org", "email_verified": "true"}, []string{"ana@example.org"}, ""},
		{"email", map[string]any{"sub": "s", "email": "ana@example.org", "email_verified": "false"}, nil, openid.ReasonToken},
		{"email", map[string]any{"sub": "s", "email": "ana@example.org", "email_verified": 1}, nil, openid.ReasonToken},
		{"groups", map[string]any{"sub": "s", "groups": []any{"a", 7, "a", "b"}}, []string{"a", "b"}, ""},
		{"groups", map[string]any{"sub": "s"}, nil, ""},
	} {
		p := open(at, func(o *openid.Options) { o.GroupsClaim = c.claim })
		at.LogsIn(c.claims)
		kept, query := login(t, p, at)
		who, _, err := p.Finish(t.Context(), kept, query)
		if c.reason != "" {
			refused(t, c.claim, err, c.reason)
			continue
		}
		if err != nil || cmp.Diff(c.want, who.Groups) != "" {
			t.Errorf("%v: %v %v", c.claims, who.Groups, err)
		}
	}
}

func TestRefusal_PagesSayWhatToDo(t *testing.T) {
	t.Parallel()
	denied := &openid.RefusalError{Reason: openid.ReasonDenied, Cause: errors.New("access_denied: <b>call us</b>")}
	if text := denied.Text(); !strings.Contains(text, "access_denied") || strings.Contains(text, "call us") {
		t.Errorf("%q", text)
	}
	if (&openid.RefusalError{Reason: openid.ReasonUnreachable}).Status() != http.StatusServiceUnavailable || denied.Status() != http.StatusForbidden {
		t.Error("wrong status")
	}
}
