package web

import (
	"mime"
	"net/http"
	"net/netip"
	"slices"
	"strings"

	"weir/web/auth"
)

// Proxies are the networks of reverse proxies trusted to report the client's
// address.
type Proxies []netip.Prefix

// Trust reports whether an address belongs to a trusted proxy.
func (p Proxies) Trust(address netip.Addr) bool {
	return slices.ContainsFunc(p, func(n netip.Prefix) bool { return n.Contains(address) })
}

// Clients sets the remote address of each request to that of the client, as
// reported by the trusted proxies in front.
func (p Proxies) Clients(h http.Handler) http.Handler {
	if len(p) == 0 {
		return h
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if peer := auth.HostAddress(r.RemoteAddr); p.Trust(peer) {
			if client := p.client(peer, r.Header); client != peer {
				own := *r
				own.RemoteAddr = netip.AddrPortFrom(client, 0).String()
				r = &own
			}
		}
		h.ServeHTTP(w, r)
	})
}

// client returns the address of the client behind a trusted peer. If
// X-Forwarded-For and Forwarded disagree, the client forged one of them, and
// client returns the peer.
func (p Proxies) client(peer netip.Addr, h http.Header) netip.Addr {
	var found []netip.Addr
	if hops := h.Values("X-Forwarded-For"); len(hops) > 0 {
		found = append(found, p.walk(peer, hops, hopAddress))
	}
	if hops := h.Values("Forwarded"); len(hops) > 0 {
		found = append(found, p.walk(peer, hops, forwardedFor))
	}
	if len(found) == 0 || found[0] != found[len(found)-1] {
		return peer
	}
	return found[0]
}

// walk reads hops backward from the last one, which the peer wrote, to the
// first that is not a trusted proxy. It stops at an invalid hop. Hops before
// that come from the client and are not read.
func (p Proxies) walk(peer netip.Addr, headers []string, read func(hop string) (netip.Addr, bool)) netip.Addr {
	for _, hop := range slices.Backward(strings.Split(strings.Join(headers, ","), ",")) {
		if !p.Trust(peer) {
			break
		}
		next, ok := read(strings.TrimSpace(hop))
		if !ok {
			break
		}
		peer = next
	}
	return peer
}

// hopAddress parses an address with or without a port.
func hopAddress(hop string) (netip.Addr, bool) {
	if with, err := netip.ParseAddrPort(hop); err == nil {
		return with.Addr().Unmap().WithZone(""), true
	}
	ip, err := netip.ParseAddr(strings.TrimSuffix(strings.TrimPrefix(hop, "["), "]"))
	return ip.Unmap().WithZone(""), err == nil
}

// forwardedFor parses the for parameter of a Forwarded element (RFC 7239).
func forwardedFor(element string) (netip.Addr, bool) {
	_, parameters, err := mime.ParseMediaType("x/x;" + strings.ReplaceAll(element, " ", ""))
	if err != nil {
		return netip.Addr{}, false
	}
	return hopAddress(parameters["for"])
}
