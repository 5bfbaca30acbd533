package outbound

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"time"

	"weir/internal/httponce"
)

// Client makes calls. It is safe for concurrent use.
type Client struct {
	policy Policy
	client *http.Client
}

// New returns a client with the given policy.
func New(p Policy) *Client {
	c := &Client{policy: p.withDefaults()}
	c.client = &http.Client{
		Transport:     c.transport(),
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return c
}

// transport returns a transport that connects to checked addresses only. It does not limit
// the connections to one host: many receivers may share one, and those that hang would
// starve the others. Callers bound how many calls they make at once.
func (c *Client) transport() *http.Transport {
	const idle = 256
	return &http.Transport{
		Proxy:                  nil, // a proxy would resolve names, unchecked
		DialContext:            c.dial,
		TLSClientConfig:        c.policy.TLS,
		ForceAttemptHTTP2:      true,
		TLSHandshakeTimeout:    c.policy.Timeout,
		MaxIdleConnsPerHost:    idle,
		MaxIdleConns:           idle,
		IdleConnTimeout:        time.Minute,
		MaxResponseHeaderBytes: 64 << 10,
		DisableCompression:     true, // the size limit applies to the bytes as sent
	}
}

// Transport returns a transport that calls allowed addresses only, for clients that read
// answers themselves. It bounds neither time nor the size of answers.
func (p Policy) Transport() *httponce.Transport {
	c := &Client{policy: p.withDefaults()}
	return httponce.New(httponce.Options{
		Check: c.policy.check, Dial: c.dial, TLS: c.policy.TLS, HandshakeTimeout: c.policy.Timeout, IdleTimeout: time.Minute,
	})
}

// Close closes idle connections.
func (c *Client) Close() { c.client.CloseIdleConnections() }

// Answer is the answer to a call.
type Answer struct {
	Status int
	Header http.Header
	Body   []byte
}

// Do makes a call and returns the answer, whatever its status, including a redirect. Errors
// are of type [*Error]. If the answer's body is too large, cut off or does not end in time,
// the answer comes with the error and without its body: a caller that needs the status only
// has it.
func (c *Client) Do(ctx context.Context, method, target string, header http.Header, body []byte) (Answer, error) {
	u, err := url.Parse(target)
	if err != nil {
		return Answer{}, &Error{Kind: Invalid, Message: "not a URL"}
	}
	if err := c.policy.check(u); err != nil {
		return Answer{}, err
	}
	bounded, cancel := context.WithTimeout(ctx, c.policy.Timeout)
	defer cancel()
	request, err := http.NewRequestWithContext(bounded, method, u.String(), bytes.NewReader(body))
	if err != nil {
		return Answer{}, &Error{Kind: Invalid, Message: "not a URL that can be called"}
	}
	for name, values := range header {
		request.Header[name] = values
	}
	if request.Header.Get("User-Agent") == "" {
		request.Header.Set("User-Agent", "weir")
	}
	response, err := c.client.Do(request)
	if err != nil {
		return Answer{}, named(ctx, err)
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode < 200 { // a switch of protocols: its body is the connection, which no deadline ends
		return Answer{}, &Error{Kind: Unreachable, Message: "the host switched to another protocol"}
	}
	head := Answer{Status: response.StatusCode, Header: response.Header}
	read, err := io.ReadAll(io.LimitReader(response.Body, c.policy.MaxBody+1))
	if err == nil {
		// A server that notices our disconnect may end its answer normally, as if
		// what it had sent were complete.
		err = bounded.Err()
	}
	if err != nil {
		return head, named(ctx, err)
	}
	if int64(len(read)) > c.policy.MaxBody {
		return head, &Error{Kind: TooLarge, Message: "the answer is too large"}
	}
	head.Body = read
	return head, nil
}

// dial resolves, checks and connects, to exactly the addresses that it checked.
func (c *Client) dial(ctx context.Context, network, address string) (net.Conn, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, &Error{Kind: Invalid, Message: "the URL has no usable host", Cause: err}
	}
	list, err := c.addresses(ctx, host)
	if err != nil {
		return nil, err
	}
	var failed []error
	for i, ip := range list {
		conn, err := c.one(ctx, network, net.JoinHostPort(ip.String(), port), len(list)-i)
		if err == nil {
			return conn, nil
		}
		failed = append(failed, err)
	}
	return nil, errors.Join(failed...)
}

// one connects to an address. While more addresses follow, it gets only a share of
// the call's time, because one that does not respond would use up all of it.
func (c *Client) one(ctx context.Context, network, address string, left int) (net.Conn, error) {
	if left > 1 {
		short, cancel := context.WithTimeout(ctx, c.policy.Timeout/time.Duration(2*left))
		defer cancel()
		ctx = short
	}
	return c.policy.Dial(ctx, network, address)
}

// addresses returns the addresses of a host that may be called.
func (c *Client) addresses(ctx context.Context, host string) ([]netip.Addr, error) {
	list := []netip.Addr{}
	if ip, err := netip.ParseAddr(host); err == nil {
		list = append(list, ip)
	} else if list, err = c.policy.Resolve(ctx, host); err != nil {
		if ctx.Err() != nil {
			return nil, err
		}
		return nil, &Error{Kind: Unresolved, Message: "the host's name cannot be resolved", Cause: err}
	}
	var allowed []netip.Addr
	for _, ip := range list {
		if c.policy.mayDial(host, ip) {
			allowed = append(allowed, ip.Unmap())
		}
	}
	if len(allowed) == 0 && len(list) > 0 {
		return nil, errAddress()
	}
	if len(allowed) == 0 {
		return nil, &Error{Kind: Unresolved, Message: "the host's name has no address"}
	}
	return allowed, nil
}
