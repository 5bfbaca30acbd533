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
)

// dial makes a connection. Nothing of a request is sent on it.
func (t *Transport) dial(ctx context.Context, to destination) (*conn, error) {
	address := to.address
	if to.proxy != nil {
		if to.proxy.Scheme != "http" && to.proxy.Scheme != "https" {
			return nil, errors.New("the proxy is neither an http nor an https URL")
		}
		var err error
		if _, address, err = addressOf(to.proxy); err != nil {
			return nil, err
		}
	}
	dialed, err := t.o.Dial(ctx, "tcp", address)
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
	if to.proxy != nil && to.secure {
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
func (t *Transport) tunnel(ctx context.Context, s *socket, proxy net.Conn, to destination) error {
	stop := s.endWith(ctx)
	defer stop()
	r := &http.Request{
		Method: http.MethodConnect, URL: &url.URL{Opaque: to.address}, Host: to.address,
		Header: withAuthorization(nil, to.proxy),
	}
	if err := r.Write(proxy); err != nil {
		return err
	}
	in := bufio.NewReader(io.LimitReader(proxy, t.o.MaxHeader))
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
