package web

import (
	"net"
	"net/http"
	"slices"
	"strings"
)

// policy lets a page load its own style and scripts, ask its own server, and
// nothing else. Without 'unsafe-inline', scripts and styles in the page's own
// text have no effect.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; " +
	"form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// Hosts are the accepted names of a server.
type Hosts struct {
	// Remote: others may ask, by any address. By default only addresses of
	// this machine alone count, and localhost.
	Remote bool
	// Names are further names, without ports. Default: none.
	Names []string
}

// allows reports whether a request's Host header names this server. A foreign
// page may point its own name to this machine, and then has the same origin for
// the browser; but the browser still sends the page's own name. An address
// cannot be pointed elsewhere.
func (h Hosts) allows(header string) bool {
	host := header
	if name, _, err := net.SplitHostPort(header); err == nil {
		host = name
	}
	host = strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
	ip := net.ParseIP(host)
	return loopback(host) || h.Remote && ip != nil ||
		slices.ContainsFunc(h.Names, func(n string) bool { return strings.EqualFold(n, host) })
}

// foreign reports whether a foreign page sends the request, other than by a
// link. Such a page cannot read the answer, but could cause work, measure its
// time, and keep streams open. Only browsers name the page of a request; other
// clients do not, and could send anything.
func foreign(r *http.Request) bool {
	switch r.Header.Get("Sec-Fetch-Site") {
	case "cross-site", "same-site": // other ports of this machine are of the same site
		return r.Header.Get("Sec-Fetch-Mode") != "navigate"
	}
	return false
}

// Guard answers only requests that name one of hosts, and no requests of
// foreign pages. Guard adds headers to all answers that keep the page private.
func Guard(hosts Hosts, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		head := w.Header()
		head.Set("Content-Security-Policy", policy)
		head.Set("X-Content-Type-Options", "nosniff")
		head.Set("X-Frame-Options", "DENY")
		head.Set("Referrer-Policy", "no-referrer")
		head.Set("Cross-Origin-Opener-Policy", "same-origin")
		head.Set("Cross-Origin-Resource-Policy", "same-origin")
		head.Set("Cache-Control", "no-store")
		if !hosts.allows(r.Host) {
			http.Error(w, "This server does not accept that host name. Use the address of the server.", http.StatusMisdirectedRequest)
			return
		}
		if foreign(r) {
			http.Error(w, "Requests from pages of other servers are refused.", http.StatusForbidden)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// ReadOnly refuses all methods except GET and HEAD.
func ReadOnly(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			w.Header().Set("Allow", "GET, HEAD")
			http.Error(w, "This server is read-only.", http.StatusMethodNotAllowed)
			return
		}
		next.ServeHTTP(w, r)
	})
}
