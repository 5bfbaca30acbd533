package outbound

import (
	"context"
	"crypto/tls"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Policy determines which addresses may be called. The zero value allows https to
// public addresses.
type Policy struct {
	AllowPlain    bool // http to any host
	AllowPrivate  bool // private addresses; link-local ones, where clouds provide credentials, stay refused
	AllowLoopback bool // http or https to loopback addresses that are named as such; with AllowPrivate to all loopback addresses
	// AllowHosts are names or addresses, without port, that may be called over
	// http and at any address except multicast and unspecified ones.
	AllowHosts []string

	Timeout time.Duration // of a whole call; default 10 s
	MaxBody int64         // max bytes of an answer's body; default 1 MiB

	// For tests. Default: the system's resolver, a plain dialer, the system's
	// certificates.
	Resolve func(ctx context.Context, host string) ([]netip.Addr, error)
	Dial    func(ctx context.Context, network, address string) (net.Conn, error)
	TLS     *tls.Config
}

func (p Policy) withDefaults() Policy {
	if p.Timeout <= 0 {
		p.Timeout = 10 * time.Second
	}
	if p.MaxBody <= 0 {
		p.MaxBody = 1 << 20
	}
	if p.Resolve == nil {
		p.Resolve = func(ctx context.Context, host string) ([]netip.Addr, error) {
			return net.DefaultResolver.LookupNetIP(ctx, "ip", host)
		}
	}
	if p.Dial == nil {
		p.Dial = (&net.Dialer{Timeout: p.Timeout, KeepAlive: 30 * time.Second}).DialContext
	}
	return p
}

// Check returns an error if a URL may not be called, as far as the URL itself shows
// that. It is for rejecting a setting early; each call checks what a name resolves
// to.
func (p Policy) Check(raw string) error {
	u, err := url.Parse(raw)
	if err != nil {
		return &Error{Kind: Invalid, Message: "not a URL"} // url.Error contains the URL
	}
	return p.check(u)
}

func (p Policy) check(u *url.URL) error {
	host := u.Hostname()
	switch {
	case u.Scheme != "https" && u.Scheme != "http":
		return &Error{Kind: Invalid, Message: "not an http or https URL"}
	case host == "" || u.Opaque != "":
		return &Error{Kind: Invalid, Message: "the URL has no host"}
	case u.Port() != "" && !goodPort(u.Port()):
		return &Error{Kind: Invalid, Message: "the URL's port is not from 1 to 65535"}
	case namesLoopback(host) && !p.AllowLoopback && !p.names(host):
		return errAddress()
	case u.Scheme == "http" && !p.AllowPlain && !namesLoopback(host) && !p.names(host):
		return &Error{Kind: Refused, Message: "http to this host is not allowed; use https"}
	}
	if ip, err := netip.ParseAddr(host); err == nil && !p.mayDial(host, ip) {
		return errAddress()
	}
	return nil
}

func goodPort(s string) bool {
	n, err := strconv.ParseUint(s, 10, 16)
	return err == nil && n > 0
}

// names reports whether a host is in AllowHosts.
func (p Policy) names(host string) bool {
	return slices.ContainsFunc(p.AllowHosts, func(h string) bool { return bare(h) == bare(host) })
}

// bare normalizes a host: without brackets, case and trailing dot, and with an
// address in its canonical form.
func bare(host string) string {
	host = strings.TrimSuffix(strings.ToLower(strings.Trim(host, "[]")), ".")
	if ip, err := netip.ParseAddr(host); err == nil {
		return ip.Unmap().String()
	}
	return host
}

// namesLoopback reports whether a host is this machine by its very name. A name
// that only resolves to this machine is not: the owner of the name chose that.
func namesLoopback(host string) bool {
	host = bare(host)
	if ip, err := netip.ParseAddr(host); err == nil {
		return ip.IsLoopback()
	}
	return host == "localhost" || strings.HasSuffix(host, ".localhost")
}

// mayDial reports whether one address of a host may be dialed.
func (p Policy) mayDial(host string, ip netip.Addr) bool {
	ip = embedded(ip)
	switch {
	case !ip.IsValid(), ip.Zone() != "" && !p.names(host), ip.IsUnspecified(), ip.IsMulticast():
		return false
	case namesLoopback(host):
		return ip.IsLoopback() && (p.AllowLoopback || p.names(host))
	case p.names(host):
		return true
	case holdsCredentials(ip):
		return false
	case ip.IsLoopback():
		return p.AllowLoopback && p.AllowPrivate
	case isPrivate(ip):
		return p.AllowPrivate
	}
	return (ip.Is4() || within(ip, []string{"2000::/3"})) && !isISATAP(ip) && !within(ip, reserved())
}

// embedded returns the IPv4 address that an IPv6 address leads to, if any (NAT64,
// IPv4-compatible, 6to4); otherwise the address itself, unmapped.
func embedded(ip netip.Addr) netip.Addr {
	ip = ip.Unmap()
	if !ip.Is6() {
		return ip
	}
	b := ip.As16()
	switch {
	case within(ip, []string{"64:ff9b::/96"}), within(ip, []string{"::/96"}) && !ip.IsLoopback() && !ip.IsUnspecified():
		return netip.AddrFrom4([4]byte(b[12:16]))
	case within(ip, []string{"2002::/16"}):
		return netip.AddrFrom4([4]byte(b[2:6]))
	}
	return ip
}

// isISATAP reports whether an IPv6 address is the tunnel to an IPv4 address that it holds (RFC 5214).
func isISATAP(ip netip.Addr) bool {
	b := ip.As16()
	return ip.Is6() && b[8]&^2 == 0 && b[9] == 0 && b[10] == 0x5e && b[11] == 0xfe
}

func isPrivate(ip netip.Addr) bool {
	return ip.IsPrivate() || within(ip, []string{"100.64.0.0/10", "fec0::/10"})
}

// holdsCredentials covers link-local addresses and those at which clouds provide
// the machine's credentials although they look merely private.
func holdsCredentials(ip netip.Addr) bool {
	return ip.IsLinkLocalUnicast() || within(ip, []string{"fd00:ec2::/32", "100.100.100.200/32", "168.63.129.16/32", "192.0.0.192/32"})
}

// reserved lists blocks that lead nowhere, or somewhere unexpected.
func reserved() []string {
	return []string{
		"0.0.0.0/8", "192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "240.0.0.0/4",
		"2001::/23", "2001:db8::/32", "3fff::/20", // IPv6 outside of 2000::/3 is refused as a whole
	}
}

func within(ip netip.Addr, blocks []string) bool {
	return slices.ContainsFunc(blocks, func(b string) bool { return netip.MustParsePrefix(b).Contains(ip) })
}
