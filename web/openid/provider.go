package openid

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"sync"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"github.com/go-jose/go-jose/v4"
	"golang.org/x/oauth2"

	"weir/operators"
)

const (
	requestTime   = 5 * time.Second  // of one request to the provider
	discoveryTime = 3 * time.Second  // a page waits for it
	discoveryLife = time.Hour        // then the provider's addresses are read again
	retryAfter    = 10 * time.Second // after a failed discovery
	maxResponse   = 1 << 20
	maxRedirects  = 3
)

// Options configure a [Provider].
type Options struct {
	Issuer       string
	ClientID     string
	ClientSecret string // empty: Weir is a public client
	// RedirectURL is where the provider sends people back to.
	RedirectURL string
	Title       string // for people; empty: the host of the issuer
	GroupsClaim string
	NameClaim   string // empty: the first of the usual ones
	// RequestScopes are requested from the provider, openid among them.
	RequestScopes []string
	Now           func() time.Time // nil: time.Now
}

// Provider is an OpenID Connect provider.
type Provider struct {
	o      Options
	client *http.Client

	mu       sync.Mutex
	found    *discovered // nil: not found yet
	failed   error       // of the latest discovery; nil: it succeeded
	failedAt time.Time
	used     map[operators.TokenHash]time.Time // states that came back, until when they count
}

// discovered is what the provider says about itself.
type discovered struct {
	flow     oauth2.Config
	verifier *oidc.IDTokenVerifier
	at       time.Time
}

// New returns a provider. It sends no request.
func New(o Options) *Provider {
	if o.Now == nil {
		o.Now = time.Now
	}
	transport := &http.Transport{
		Proxy: http.ProxyFromEnvironment, DisableKeepAlives: true, // log-ins are rare
		TLSHandshakeTimeout: requestTime, ResponseHeaderTimeout: requestTime, MaxResponseHeaderBytes: 64 << 10,
	}
	return &Provider{
		o: o, used: map[operators.TokenHash]time.Time{},
		client: &http.Client{Transport: bounded{transport}, Timeout: requestTime, CheckRedirect: checkRedirect},
	}
}

// bounded limits the size of responses.
type bounded struct{ next http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (b bounded) RoundTrip(r *http.Request) (*http.Response, error) {
	res, err := b.next.RoundTrip(r)
	if err == nil {
		res.Body = struct {
			io.Reader
			io.Closer
		}{http.MaxBytesReader(nil, res.Body, maxResponse), res.Body}
	}
	return res, err
}

// readableKeys leaves the keys that cannot be read out of a set: a key of a new kind would
// otherwise end the use of those beside it.
type readableKeys struct{ next http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (k readableKeys) RoundTrip(r *http.Request) (*http.Response, error) {
	res, err := k.next.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	body, err := io.ReadAll(res.Body)
	_ = res.Body.Close()
	if err != nil {
		return nil, err
	}
	var set struct {
		Keys []json.RawMessage `json:"keys"`
	}
	if json.Unmarshal(body, &set) == nil && set.Keys != nil {
		set.Keys = slices.DeleteFunc(set.Keys, func(key json.RawMessage) bool { return json.Unmarshal(key, new(jose.JSONWebKey)) != nil })
		if body, err = json.Marshal(set); err != nil {
			return nil, err
		}
	}
	res.Body, res.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	return res, nil
}

// checkRedirect bounds redirects. The exchange of a code is not redirected: 307 and 308 would repeat
// the client's secret to another address.
func checkRedirect(r *http.Request, via []*http.Request) error {
	if via[0].Method != http.MethodGet {
		return http.ErrUseLastResponse
	}
	if len(via) > maxRedirects {
		return fmt.Errorf("more than %d redirects", maxRedirects)
	}
	return checkAddress(r.URL.String())
}

// checkAddress rejects addresses at which a code, a secret or a key would travel in the clear.
func checkAddress(address string) error {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" {
		return fmt.Errorf("%q is not an address", address)
	}
	ip, err := netip.ParseAddr(u.Hostname())
	if u.Scheme != "https" && !(u.Scheme == "http" && (u.Hostname() == "localhost" || err == nil && ip.IsLoopback())) {
		return fmt.Errorf("%s is not https", u.Redacted())
	}
	return nil
}

// Title returns the name of the provider for people.
func (p *Provider) Title() string {
	if p.o.Title != "" {
		return p.o.Title
	}
	u, err := url.Parse(p.o.Issuer)
	if err != nil {
		return p.o.Issuer
	}
	return u.Host
}

// RedirectURL returns where the provider sends people back to.
func (p *Provider) RedirectURL() string { return p.o.RedirectURL }

// Ready returns an error if the provider cannot be reached now. It may take a few seconds.
func (p *Provider) Ready(ctx context.Context) error {
	_, err := p.discover(ctx)
	return err
}

// discover returns what the provider says about itself. After a failure others do not wait for the
// next try, and what was found before goes on.
func (p *Provider) discover(ctx context.Context) (*discovered, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.o.Now()
	if p.found != nil && now.Sub(p.found.at) < discoveryLife {
		return p.found, nil
	}
	if p.failed == nil || now.Sub(p.failedAt) >= retryAfter {
		// Not canceled with the request: others profit from it.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), discoveryTime)
		defer cancel()
		found, err := p.ask(ctx)
		if p.failed, p.failedAt = err, p.o.Now(); err == nil {
			found.at = now
			p.found = found
		}
	}
	if p.found == nil {
		return nil, refuse(ReasonUnreachable, p.failed)
	}
	return p.found, nil
}

// ask reads the provider's description.
func (p *Provider) ask(ctx context.Context) (*discovered, error) {
	client := *p.client
	client.Transport = readableKeys{client.Transport}
	provider, err := oidc.NewProvider(oidc.ClientContext(ctx, &client), p.o.Issuer)
	if err != nil {
		return nil, err
	}
	var more struct {
		Keys    string   `json:"jwks_uri"`
		Methods []string `json:"token_endpoint_auth_methods_supported"`
	}
	if err := provider.Claims(&more); err != nil {
		return nil, err
	}
	endpoint := provider.Endpoint()
	for _, address := range []string{endpoint.AuthURL, endpoint.TokenURL, more.Keys} {
		if err := checkAddress(address); err != nil {
			return nil, err
		}
	}
	// Not detected by trying: a second try would present the code again.
	endpoint.AuthStyle = oauth2.AuthStyleInHeader
	if p.o.ClientSecret == "" || len(more.Methods) > 0 && !slices.Contains(more.Methods, "client_secret_basic") {
		endpoint.AuthStyle = oauth2.AuthStyleInParams
	}
	return &discovered{
		flow: oauth2.Config{
			ClientID: p.o.ClientID, ClientSecret: p.o.ClientSecret, Endpoint: endpoint, RedirectURL: p.o.RedirectURL, Scopes: p.o.RequestScopes,
		},
		verifier: provider.Verifier(&oidc.Config{ClientID: p.o.ClientID, Now: p.o.Now}),
	}, nil
}
