package peers

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"errors"
	"fmt"
	"math/big"
	"net"
	"time"
)

// Identity is the certificate of one start of the program. Its key is in memory alone.
type Identity struct {
	Fingerprint string // SHA-256 of the certificate, in hexadecimal digits
	certificate tls.Certificate
}

// The certificate is valid for longer than any process runs, and from long before: the
// table of processes says which certificates count, and a wrong clock must not matter.
func validity(now time.Time) (from, until time.Time) {
	return now.AddDate(-10, 0, 0), now.AddDate(20, 0, 0)
}

// NewIdentity makes a key and a certificate for it.
func NewIdentity() (*Identity, error) {
	public, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return nil, err
	}
	from, until := validity(time.Now())
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: from, NotAfter: until}
	der, err := x509.CreateCertificate(rand.Reader, template, template, public, private)
	if err != nil {
		return nil, err
	}
	return &Identity{FingerprintOf(der), tls.Certificate{Certificate: [][]byte{der}, PrivateKey: private}}, nil
}

// FingerprintOf returns the fingerprint of a certificate.
func FingerprintOf(der []byte) string {
	sum := sha256.Sum256(der)
	return hex.EncodeToString(sum[:])
}

var (
	errStranger = errors.New("the certificate is that of no process of this database")
	errExpired  = errors.New("the certificate has expired")
)

// of returns the fingerprint of the other end of a connection.
func of(c tls.ConnectionState) (string, error) {
	if len(c.PeerCertificates) != 1 {
		return "", errStranger
	}
	certificate := c.PeerCertificates[0]
	if now := time.Now(); now.Before(certificate.NotBefore) || now.After(certificate.NotAfter) {
		return "", errExpired
	}
	return FingerprintOf(certificate.Raw), nil
}

func (i *Identity) config() *tls.Config {
	return &tls.Config{MinVersion: tls.VersionTLS13, Certificates: []tls.Certificate{i.certificate}, SessionTicketsDisabled: true}
}

// Client is the configuration of connections to the holder of a certificate.
func (i *Identity) Client(want string) *tls.Config {
	c := i.config()
	c.InsecureSkipVerify = true // there is no authority: the certificate itself is compared
	c.VerifyConnection = func(s tls.ConnectionState) error {
		got, err := of(s)
		if err == nil && subtle.ConstantTimeCompare([]byte(got), []byte(want)) != 1 {
			err = errStranger
		}
		return err
	}
	return c
}

// server is the configuration of a listener that takes connections of processes that known
// lets in.
func (i *Identity) server(known func(fingerprint string) error) *tls.Config {
	c := i.config()
	c.ClientAuth = tls.RequireAnyClientCert
	c.VerifyConnection = func(s tls.ConnectionState) error {
		got, err := of(s)
		if err == nil {
			err = known(got)
		}
		return err
	}
	return c
}

// Listen opens the address for peers, and returns the address under which they reach it.
// Without a host that is the one from which this process reaches the database server, and
// without an address at all it is a free port there.
func Listen(ctx context.Context, address, server string) (l net.Listener, advertised string, err error) {
	host, port := "", "0"
	if address != "" {
		if host, port, err = net.SplitHostPort(address); err != nil {
			return nil, "", err
		}
	}
	local := host
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		if local, err = localAddress(ctx, server); err != nil {
			return nil, "", err
		}
		if address == "" {
			host = local
		}
	}
	if l, err = (&net.ListenConfig{}).Listen(ctx, "tcp", net.JoinHostPort(host, port)); err != nil {
		return nil, "", err
	}
	_, port, err = net.SplitHostPort(l.Addr().String())
	return l, net.JoinHostPort(local, port), err
}

// localAddress is the address from which this process reaches a server. Nothing is sent.
func localAddress(ctx context.Context, server string) (string, error) {
	c, err := (&net.Dialer{}).DialContext(ctx, "udp", server)
	if err != nil {
		return "", fmt.Errorf("the address from which the database is reached is not known: %w", err)
	}
	defer func() { _ = c.Close() }()
	host, _, err := net.SplitHostPort(c.LocalAddr().String())
	return host, err
}
