package httponce

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/base64"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// Options are the settings of a transport. The zero value is a usable one.
type Options struct {
	// Dial connects to an address. It has to end when its context does. Default: a plain dialer.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
	// Check returns an error if a URL must not be requested; nil: all may be.
	Check func(*url.URL) error
	// Proxy returns the http, https or socks5 proxy for a request; a nil URL, or a nil Proxy: none.
	Proxy func(*http.Request) (*url.URL, error)
	// TLS is the configuration of connections by https; nil: the system's certificates.
	TLS *tls.Config

	HandshakeTimeout time.Duration // of TLS, and of a proxy's answer; default 5 s
	IdleTimeout      time.Duration // of kept connections; default 90 s
	MaxIdle          int           // max number of kept connections; default 256
	MaxHeader        int64         // max bytes of an answer's head; default 64 KiB
}

// Transport makes requests. It implements [http.RoundTripper] and is safe for concurrent use.
// It does not bound the number of connections in use: callers bound how many requests they
// make at once.
type Transport struct {
	o    Options
	idle pool
}

// New returns a transport.
func New(o Options) *Transport {
	if o.Dial == nil {
		o.Dial = (&net.Dialer{Timeout: 5 * time.Second, KeepAlive: 30 * time.Second}).DialContext
	}
	if o.HandshakeTimeout <= 0 {
		o.HandshakeTimeout = 5 * time.Second
	}
	if o.IdleTimeout <= 0 {
		o.IdleTimeout = 90 * time.Second
	}
	if o.MaxIdle <= 0 {
		o.MaxIdle = 256
	}
	if o.MaxHeader <= 0 {
		o.MaxHeader = 64 << 10
	}
	if o.TLS == nil {
		o.TLS = &tls.Config{MinVersion: tls.VersionTLS12}
	}
	o.TLS = o.TLS.Clone()
	o.TLS.NextProtos = []string{"http/1.1"}
	return &Transport{o: o, idle: pool{most: o.MaxIdle, timeout: o.IdleTimeout}}
}

// NotSentError is the failure of a request of which certainly nothing was sent.
type NotSentError struct{ Err error }

func (e *NotSentError) Error() string { return e.Err.Error() }

// Unwrap returns the reason.
func (e *NotSentError) Unwrap() error { return e.Err }

// NotSent reports whether an error of [Transport.RoundTrip] means that nothing of the request
// was sent.
func NotSent(err error) bool {
	_, ok := errors.AsType[*NotSentError](err)
	return ok
}

// CloseIdleConnections closes the kept connections, and those in use after their requests,
// until there is a new request.
func (t *Transport) CloseIdleConnections() { t.idle.close() }

// RoundTrip implements [http.RoundTripper]. The request's body is read whole before anything is
// sent. The answer's body has to be closed; reading it ends with the request's context, too.
func (t *Transport) RoundTrip(r *http.Request) (*http.Response, error) {
	to, text, err := t.prepare(r)
	if err != nil {
		return nil, &NotSentError{err}
	}
	for {
		c, err := t.connection(r.Context(), to)
		if err != nil {
			return nil, &NotSentError{err}
		}
		response, err := c.exchange(r, text)
		switch {
		case err == nil:
			return response, nil
		case c.hasSent(): // the server may have acted on it
			return nil, err
		case !c.kept || r.Context().Err() != nil:
			return nil, &NotSentError{err}
		}
		// The server closed a kept connection between the look at it and the write.
	}
}

// connection returns a kept connection that works, or a new one.
func (t *Transport) connection(ctx context.Context, to destination) (*conn, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	for c := t.idle.take(to.key()); c != nil; c = t.idle.take(to.key()) {
		if c.isAlive() {
			return c, nil
		}
		c.close()
	}
	return t.dial(ctx, to)
}

// destination is where a request goes.
type destination struct {
	secure  bool
	host    string // in ASCII, without port
	address string // with port
	proxy   *url.URL
}

// socks reports whether the way goes through a proxy of SOCKS 5, which passes everything on as it is.
func (d destination) socks() bool {
	return d.proxy != nil && (d.proxy.Scheme == "socks5" || d.proxy.Scheme == "socks5h")
}

// key identifies connections that a request to the destination can use.
func (d destination) key() key {
	k := key{secure: d.secure, address: d.address}
	if d.proxy != nil {
		k.proxy = d.proxy.String()
	}
	return k
}

// prepare returns where a request goes, and what is written there. It closes the body.
func (t *Transport) prepare(r *http.Request) (to destination, text []byte, err error) {
	if r.Body != nil {
		defer func() { _ = r.Body.Close() }()
	}
	if err := check(r); err != nil {
		return to, nil, err
	}
	if t.o.Check != nil {
		if err := t.o.Check(r.URL); err != nil {
			return to, nil, err
		}
	}
	to.secure = r.URL.Scheme == "https"
	if to.host, to.address, err = addressOf(r.URL); err != nil {
		return to, nil, err
	}
	if t.o.Proxy != nil {
		if to.proxy, err = t.o.Proxy(r); err != nil {
			return to, nil, err
		}
	}
	var b bytes.Buffer
	b.Grow(1<<10 + int(min(max(r.ContentLength, 0), 64<<10)))
	if to.proxy == nil || to.secure || to.socks() { // directly, or in a tunnel through the proxy
		err = r.Write(&b)
		return to, b.Bytes(), err
	}
	toProxy := *r
	toProxy.Header = withAuthorization(r.Header, to.proxy)
	err = toProxy.WriteProxy(&b)
	return to, b.Bytes(), err
}

// check rejects requests that cannot be written as they are.
func check(r *http.Request) error {
	if r.URL == nil || r.URL.Scheme != "http" && r.URL.Scheme != "https" || r.URL.Host == "" {
		return errors.New("not an http or https URL with a host")
	}
	for name, values := range r.Header {
		if !isToken(name) {
			return errors.New("a header's name is invalid")
		}
		for _, v := range values {
			if strings.ContainsFunc(v, func(c rune) bool { return c < ' ' && c != '\t' || c == 0x7f }) {
				return fmt.Errorf("the value of the header %s is invalid", name)
			}
		}
	}
	return nil
}

// isToken reports whether a text is a token of HTTP (RFC 9110, 5.6.2).
func isToken(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(c rune) bool {
		letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
		return !letter && !strings.ContainsRune("!#$%&'*+-.^_`|~", c)
	})
}

// addressOf returns the host and the address of a URL.
func addressOf(u *url.URL) (host, address string, err error) {
	host, port := u.Hostname(), u.Port()
	if port == "" {
		switch u.Scheme {
		case "https":
			port = "443"
		case "socks5", "socks5h":
			port = "1080"
		default:
			port = "80"
		}
	}
	if strings.ContainsFunc(host, func(c rune) bool { return c > 0x7e }) {
		if host, err = inASCII(host); err != nil {
			return "", "", err
		}
	}
	return host, net.JoinHostPort(host, port), nil
}

// inASCII returns the form in which names with other letters are looked up. net/http has it,
// but only where it writes a request.
func inASCII(host string) (string, error) {
	var b bytes.Buffer
	if err := (&http.Request{Method: http.MethodGet, URL: &url.URL{Path: "/"}, Host: host}).Write(&b); err != nil {
		return "", errors.New("the host's name is invalid")
	}
	_, text, _ := strings.Cut(b.String(), "Host: ")
	text, _, _ = strings.Cut(text, "\r\n")
	return text, nil
}

// withAuthorization returns a header with the credentials of a proxy, if it has some.
func withAuthorization(h http.Header, proxy *url.URL) http.Header {
	h = h.Clone()
	if h == nil {
		h = http.Header{}
	}
	if u := proxy.User; u != nil {
		password, _ := u.Password()
		h.Set("Proxy-Authorization", "Basic "+base64.StdEncoding.EncodeToString([]byte(u.Username()+":"+password)))
	}
	return h
}
