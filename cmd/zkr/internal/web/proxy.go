package web

import (
	"fmt"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"time"
)

// streamAge is how long the proxy's word holds for a stream: the client then
// connects again, and the proxy authenticates the client again.
const streamAge = time.Minute

// Proxy is a proxy in front of the server that authenticates users, and names
// the user of each request in a header.
type Proxy struct {
	// Header is the name of the header. The proxy must remove this header from
	// the requests of its clients.
	Header string
	// From are the addresses of the proxy. Other clients could forge the header:
	// their requests are refused.
	From []netip.Prefix
}

// NewProxy makes a Proxy from flags: from has addresses, or networks in CIDR
// notation. Default: the loopback addresses.
func NewProxy(header string, from []string) (*Proxy, error) {
	if !isToken(header) {
		return nil, fmt.Errorf("%q is not a name of a header", header)
	}
	p := &Proxy{Header: http.CanonicalHeaderKey(header)}
	if len(from) == 0 {
		from = []string{"127.0.0.0/8", "::1"}
	}
	for _, text := range from {
		prefix, err := netip.ParsePrefix(text)
		if err != nil {
			addr, wrong := netip.ParseAddr(text)
			if wrong != nil || addr.Zone() != "" {
				return nil, fmt.Errorf("%q is not an address or a network, such as 10.0.0.0/8", text)
			}
			prefix = netip.PrefixFrom(addr, addr.BitLen())
		}
		if prefix.Addr().Is4In6() {
			return nil, fmt.Errorf("%q is an IPv4 address in the form of IPv6; write it as IPv4", text)
		}
		p.From = append(p.From, prefix)
	}
	return p, nil
}

// isToken reports whether a text can be the name of a header.
func isToken(name string) bool {
	return name != "" && !strings.ContainsFunc(name, func(r rune) bool {
		letter := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9'
		return !letter && !strings.ContainsRune("!#$%&'*+-.^_`|~", r)
	})
}

// trusts reports whether an address, with its port, is the proxy's. The address is
// that of the connection: headers such as X-Forwarded-For are not considered.
func (p *Proxy) trusts(remote string) bool {
	at, err := netip.ParseAddrPort(remote)
	addr := at.Addr().Unmap().WithZone("")
	return err == nil && slices.ContainsFunc(p.From, func(known netip.Prefix) bool { return known.Contains(addr) })
}

// Authenticate answers only requests of the proxy that name exactly one user.
func (p *Proxy) Authenticate(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !p.trusts(r.RemoteAddr) {
			http.Error(w, "This server only accepts requests that come through its proxy.", http.StatusForbidden)
			return
		}
		users := r.Header.Values(p.Header)
		// With several headers, one may come from the proxy's client.
		if len(users) != 1 || strings.TrimSpace(users[0]) == "" {
			http.Error(w, "The proxy must name one user in the header "+p.Header+".", http.StatusForbidden)
			return
		}
		end := time.Now().Add(streamAge)
		next.ServeHTTP(w, WithIdentity(r, Identity{
			User:  strings.TrimSpace(users[0]),
			Valid: func() bool { return time.Now().Before(end) },
		}))
	})
}
