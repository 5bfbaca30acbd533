package config

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"weir/people"
)

// allowed reports, by variable, whether a value that decodes is allowed; bounds of numbers
// are checked by [variable.inBounds]. Values of other variables count too, so that all must
// have been read.
func (c *Config) allowed() map[string]bool {
	return map[string]bool{
		"WEIR_START_WORDS":                   !slices.ContainsFunc(c.StartWords, people.Affirmative),
		"DATABASE_URL":                       databaseURL(c.DatabaseURL),
		"LISTEN_ADDR":                        c.listenAddr(),
		"WEIR_PEER_ADDR":                     c.peerAddr(),
		"PUBLIC_URL":                         (c.PublicURL == "" || publicURL(c.PublicURL)) && c.returnsPeople(),
		"WEIR_TLS_CERT":                      c.TLSCert != "" || c.TLSKey == "",
		"WEIR_TLS_KEY":                       c.TLSKey != "" || c.TLSCert == "",
		"WEIR_PATH_PREFIX":                   pathPrefix(c.PathPrefix),
		"OTEL_EXPORTER_OTLP_ENDPOINT":        c.OTLPEndpoint == "" || publicURL(c.OTLPEndpoint),
		"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": c.OTLPTracesEndpoint == "" || publicURL(c.OTLPTracesEndpoint),
		"OTEL_EXPORTER_OTLP_PROTOCOL":        c.OTLPProtocol == "http/protobuf",
		"OTEL_TRACES_SAMPLER":                oneOf(strings.TrimPrefix(c.OTelSampler, "parentbased_"), "always_on", "always_off", "traceidratio") == nil,
		"WEIR_OIDC_ISSUER":                   c.oidcIssuer(),
		"WEIR_OIDC_CLIENT_ID":                c.OIDCIssuer == "" || word(c.OIDCClientID, 255),
		"WEIR_OIDC_SCOPES":                   c.OIDCIssuer == "" || len(c.OIDCScopes) > 0,
		"WEIR_OIDC_GROUPS_CLAIM":             word(c.OIDCGroupsClaim, 200),
		"WEIR_OIDC_NAME_CLAIM":               c.OIDCNameClaim == "" || word(c.OIDCNameClaim, 200),
		"WEIR_OIDC_REQUEST_SCOPES":           requestScopes(c.OIDCRequestScopes),
		"WEIR_OIDC_TITLE":                    c.OIDCTitle == "" || printable(c.OIDCTitle, 60),
		"OTEL_TRACES_SAMPLER_ARG":            0 <= c.OTelSamplerArg && c.OTelSamplerArg <= 1,
	}
}

// databaseURL checks the form only; the store checks the rest.
func databaseURL(s string) bool {
	scheme, rest, _ := strings.Cut(s, "://")
	switch scheme {
	case "sqlite":
		file, _, _ := strings.Cut(rest, "?")
		return file != "" && !severalHosts(file)
	case "mysql":
		// The last one, because a password may contain others.
		at := strings.LastIndex(rest, "@")
		host, name, _ := strings.Cut(rest[at+1:], "/")
		name, _, _ = strings.Cut(name, "?")
		return at > 0 && name != "" && escaped(rest[:at]) && hosts(host)
	}
	return false
}

// CurrentDatabaseURL returns DATABASE_URL as it is now in the file that it was read from. nil: it
// was read from none, and does not change.
func (c *Config) CurrentDatabaseURL() func() (string, error) {
	file := c.files["DATABASE_URL"]
	if file == "" {
		return nil
	}
	return func() (string, error) {
		url, err := readSecret(file)
		if err == nil && !databaseURL(url) {
			err = fmt.Errorf("the file %s holds no DATABASE_URL", file)
		}
		return url, err
	}
}

// severalHosts reports whether the path of a file is a list of servers that was meant for
// another database: a file is on one machine.
func severalHosts(file string) bool {
	at := strings.LastIndex(file, "@")
	list, _, _ := strings.Cut(file[at+1:], "/")
	return at > 0 && strings.Contains(list, ",")
}

// hosts reports whether each host of a list is there once, and its port, if it has one, is a
// number.
func hosts(list string) bool {
	seen := map[string]bool{}
	for host := range strings.SplitSeq(list, ",") {
		if host == "" || strings.HasPrefix(host, ":") || !portOrNone(host) {
			return false
		}
		if _, _, err := net.SplitHostPort(host); err != nil {
			host = net.JoinHostPort(strings.Trim(host, "[]"), "3306")
		}
		if seen[host] {
			return false
		}
		seen[host] = true
	}
	return true
}

// escaped reports whether every % begins an escape.
func escaped(s string) bool {
	_, err := url.PathUnescape(s)
	return err == nil
}

// portOrNone reports whether a host's port, if it has one, is a number.
func portOrNone(host string) bool {
	_, port, err := net.SplitHostPort(host)
	if err != nil || strings.HasPrefix(host, "unix(") {
		return true
	}
	n, err := strconv.ParseUint(port, 10, 16)
	return err == nil && n > 0
}

// listenAddr checks the form. Whether the address may be reachable from other
// machines depends on the tokens in the store, which only the daemon knows.
func (c *Config) listenAddr() bool { return addressToListen(c.ListenAddr) }

func addressToListen(address string) bool {
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		return false
	}
	n, err := strconv.Atoi(port)
	return err == nil && 0 <= n && n <= 65535
}

// peerAddr also rejects the address at which clients are served.
func (c *Config) peerAddr() bool {
	return c.PeerAddr == "" || addressToListen(c.PeerAddr) && !collide(c.PeerAddr, c.ListenAddr)
}

// collide reports whether a process cannot listen at both addresses. Names other than
// localhost are not resolved.
func collide(a, b string) bool {
	hostA, portA, errA := net.SplitHostPort(a)
	hostB, portB, errB := net.SplitHostPort(b)
	if errA != nil || errB != nil {
		return false
	}
	// 080 is 80.
	nA, errA := strconv.Atoi(portA)
	nB, errB := strconv.Atoi(portB)
	if errA != nil || errB != nil || nA != nB || nA == 0 { // the system chooses port 0
		return false
	}
	ipA, namedA := hostIP(hostA)
	ipB, namedB := hostIP(hostB)
	switch {
	// Every address of the machine is meant, of both families: also by 0.0.0.0, as Go listens.
	case !namedA && ipA.IsUnspecified(), !namedB && ipB.IsUnspecified():
		return true
	case namedA && namedB:
		return strings.EqualFold(hostA, hostB)
	case namedA:
		return localhost(hostA) && standard(ipB)
	case namedB:
		return localhost(hostB) && standard(ipA)
	}
	return ipA == ipB
}

// hostIP returns the address of a host to listen at; named: it is a name.
func hostIP(host string) (ip netip.Addr, named bool) {
	if host == "" {
		return netip.IPv6Unspecified(), false
	}
	ip, err := netip.ParseAddr(host)
	return ip.Unmap(), err != nil
}

func localhost(name string) bool { return strings.EqualFold(name, "localhost") }

// standard reports whether an address is one that localhost stands for.
func standard(ip netip.Addr) bool {
	return ip == netip.IPv6Loopback() || ip == netip.AddrFrom4([4]byte{127, 0, 0, 1})
}

// Reachable reports whether other machines may reach LISTEN_ADDR.
func (c *Config) Reachable() bool {
	host, _, err := net.SplitHostPort(c.ListenAddr)
	return err == nil && !loopback(host)
}

// CallsLoopback reports whether functions, webhooks and gateways at loopback addresses may be
// called: others on this machine, such as the administration of a sidecar, must not be within
// reach of whoever may set an address.
func (c *Config) CallsLoopback() bool {
	return slices.Contains(c.OutboundAllow, allowLoopback) || !c.Reachable() && c.localURL()
}

// localURL reports whether PUBLIC_URL leads to this machine only, or is not set.
func (c *Config) localURL() bool {
	u, err := url.Parse(c.PublicURL)
	return err != nil || u.Hostname() == "" || loopback(u.Hostname())
}

// TokenRequiredError returns the error of a daemon that other machines could use without
// a token.
func (c *Config) TokenRequiredError() error {
	return &Error{[]InvalidVariable{{"LISTEN_ADDR", c.ListenAddr, "a loopback host while there is no token; set WEIR_API_TOKENS, or create a token with weir token create"}}}
}

func loopback(host string) bool {
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.Unmap().IsLoopback()
}

func publicURL(s string) bool {
	u, err := url.Parse(s)
	// Paths are appended to it, and providers get it: a query, a fragment or a password has no
	// place in it.
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Hostname() != "" &&
		u.RawQuery == "" && u.Fragment == "" && u.User == nil && u.Opaque == ""
}

// goodPrefix matches a path of plain segments.
var goodPrefix = regexp.MustCompile(`^(/[A-Za-z0-9._~-]+)*$`)

// pathPrefix rejects prefixes that a proxy could not distinguish from Weir's own paths.
func pathPrefix(s string) bool {
	first, _, _ := strings.Cut(strings.TrimPrefix(s, "/"), "/")
	return goodPrefix.MatchString(s) && !strings.Contains(s+"/", "/./") && !strings.Contains(s+"/", "/../") && !slices.Contains(ownPaths(), first)
}

// ownPaths returns the first segments of Weir's own paths.
func ownPaths() []string {
	return []string{
		"v1", "routing", "callbacks", "metrics", "livez", "readyz", "openapi.json", "docs",
		"channels", "contacts", "dead-letters", "limits", "people", "prices", "purposes", "spending", "surveys", "router", "webhooks", "tokens", "audit", "search", "kept", "help", "login", "logout", "theme", "language", "assets", "live",
	}
}

// TLS reports whether Weir serves https itself.
func (c *Config) TLS() bool { return c.TLSCert != "" }

// LoadCertificate reads the certificate and the key of https. Its error is an [*Error].
func (c *Config) LoadCertificate() (*tls.Certificate, error) {
	pair, err := tls.LoadX509KeyPair(c.TLSCert, c.TLSKey)
	if err == nil {
		return &pair, nil
	}
	m := InvalidVariable{"WEIR_TLS_CERT", c.TLSCert, "a PEM file with the certificate that belongs to the key in WEIR_TLS_KEY (" + err.Error() + ")"}
	if path, ok := errors.AsType[*fs.PathError](err); ok && path.Path == c.TLSKey {
		m = InvalidVariable{"WEIR_TLS_KEY", c.TLSKey, "a file that Weir can read (" + err.Error() + ")"}
	}
	return nil, &Error{[]InvalidVariable{m}}
}

// DerivePublicURL returns the URL under which programs on this machine reach
// addr, an address that Weir listens on. It is empty while the port is unknown.
func (c *Config) DerivePublicURL(addr string) string {
	host, port, err := net.SplitHostPort(addr)
	if err != nil || port == "0" {
		return ""
	}
	if ip, err := netip.ParseAddr(host); host == "" || err == nil && ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	scheme := "http://"
	if c.TLS() {
		scheme = "https://"
	}
	return scheme + net.JoinHostPort(host, port)
}
