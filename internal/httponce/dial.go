package httponce

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"

	"golang.org/x/net/proxy"
)

// dial makes a connection. Nothing of a request is sent on it.
func (t *Transport) dial(ctx context.Context, to destination) (*conn, error) {
	dialed, err := t.reach(ctx, to)
	if err != nil {
		return nil, err
	}
	c := &conn{transport: t, key: to.key(), socket: newSocket(dialed)}
	ctx, cancel := context.WithTimeout(ctx, t.o.HandshakeTimeout)
	defer cancel()
	if c.stream, err = t.shake(ctx, c.socket, to); err != nil {
		c.close()
		return nil, err
	}
	c.in = bufio.NewReader(c)
	c.before = c.socket.sent.Load()
	return c, nil
}

// reach connects to the destination, or to its proxy.
func (t *Transport) reach(ctx context.Context, to destination) (net.Conn, error) {
	if to.proxy == nil {
		return t.o.Dial(ctx, "tcp", to.address)
	}
	_, address, err := addressOf(to.proxy)
	switch {
	case err != nil:
		return nil, err
	case to.socks():
		return t.reachBySOCKS(ctx, to, address)
	case to.proxy.Scheme != "http" && to.proxy.Scheme != "https":
		return nil, errors.New("the proxy is neither an http, an https nor a socks5 URL")
	}
	return t.o.Dial(ctx, "tcp", address)
}

// reachBySOCKS connects to the destination through a proxy of SOCKS 5, which looks its name up. The connection is the one to the
// proxy itself, which can be looked at before it is used again.
func (t *Transport) reachBySOCKS(ctx context.Context, to destination, address string) (net.Conn, error) {
	var c net.Conn
	through, err := proxy.SOCKS5("tcp", address, credentials(to.proxy), dialer(func(ctx context.Context, network, address string) (_ net.Conn, err error) {
		c, err = t.o.Dial(ctx, network, address)
		return c, err
	}))
	if err != nil {
		return nil, err
	}
	by, ok := through.(proxy.ContextDialer)
	if !ok {
		return nil, errors.ErrUnsupported
	}
	ctx, cancel := context.WithTimeout(ctx, t.o.HandshakeTimeout)
	defer cancel()
	if _, err := by.DialContext(ctx, "tcp", to.address); err != nil {
		return nil, err
	}
	return c, nil
}

// dialer is a function that connects, as a [proxy.ContextDialer].
type dialer func(ctx context.Context, network, address string) (net.Conn, error)

// DialContext implements proxy.ContextDialer.
func (d dialer) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	return d(ctx, network, address)
}

// Dial implements proxy.Dialer, which is not used.
func (dialer) Dial(string, string) (net.Conn, error) { return nil, errors.ErrUnsupported }

// credentials returns those of a SOCKS proxy; nil: it has none.
func credentials(u *url.URL) *proxy.Auth {
	if u.User == nil {
		return nil
	}
	password, _ := u.User.Password()
	return &proxy.Auth{User: u.User.Username(), Password: password}
}

// shake negotiates what a connection needs before requests: a tunnel through a proxy, and TLS.
func (t *Transport) shake(ctx context.Context, s *socket, to destination) (stream net.Conn, err error) {
	stream = s
	if to.proxy != nil && to.proxy.Scheme == "https" {
		host, _, err := addressOf(to.proxy)
		if err != nil {
			return nil, err
		}
		if stream, err = t.secure(ctx, stream, host); err != nil {
			return nil, err
		}
	}
	if to.proxy != nil && to.secure && !to.socks() {
		if err := t.tunnel(ctx, s, stream, to); err != nil {
			return nil, err
		}
	}
	if to.secure {
		return t.secure(ctx, stream, to.host)
	}
	return stream, nil
}

// secure makes the TLS handshake.
func (t *Transport) secure(ctx context.Context, over net.Conn, host string) (net.Conn, error) {
	config := t.o.TLS
	if config.ServerName == "" {
		config = config.Clone()
		config.ServerName = host
	}
	c := tls.Client(over, config)
	if err := c.HandshakeContext(ctx); err != nil {
		return nil, err
	}
	return c, nil
}

// tunnel asks a proxy for a connection to the destination.
func (t *Transport) tunnel(ctx context.Context, s *socket, stream net.Conn, to destination) error {
	stop := s.endWith(ctx)
	defer stop()
	r := &http.Request{
		Method: http.MethodConnect, URL: &url.URL{Opaque: to.address}, Host: to.address,
		Header: withAuthorization(nil, to.proxy),
	}
	if err := r.Write(stream); err != nil {
		return err
	}
	in := bufio.NewReader(io.LimitReader(stream, t.o.MaxHeader))
	answer, err := http.ReadResponse(in, r) //nolint:bodyclose // an answer to CONNECT has none
	switch {
	case err != nil:
		return err
	case answer.StatusCode != http.StatusOK:
		return fmt.Errorf("the proxy refused the connection with status %d", answer.StatusCode)
	case in.Buffered() > 0:
		return errors.New("the host spoke before the TLS handshake")
	case !stop():
		return ctx.Err()
	}
	return nil
}
