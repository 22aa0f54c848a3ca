package web

import (
	"net"
	"net/http"
	"slices"
	"strings"
)

// policy lets a page load its own style and scripts, ask its own server, and
// nothing else. Without 'unsafe-inline' no script and no style in the page's own
// text counts, wherever it comes from.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; " +
	"form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// Hosts says under which names a server may be asked.
type Hosts struct {
	// Remote: others may ask, by any address. By default only addresses of
	// this machine alone count, and localhost.
	Remote bool
	// Names are further names, without ports. Default: none.
	Names []string
}

// allows reports whether a request's Host header names this server. A page from
// elsewhere may let its own name point to this machine, and is then of the same
// origin for the browser; but it cannot make the browser send another name than
// its own. An address is no name, and nobody can let it point elsewhere.
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

// foreign reports whether a page from elsewhere asks, other than by leading its
// reader here. Such a page cannot read the answer, but could have work done, see
// how long that takes, and keep streams open. Only browsers say which page asks;
// other clients do not, and could say anything.
func foreign(r *http.Request) bool {
	switch r.Header.Get("Sec-Fetch-Site") {
	case "cross-site", "same-site": // other ports of this machine are of the same site
		return r.Header.Get("Sec-Fetch-Mode") != "navigate"
	}
	return false
}

// Guard answers only requests that name one of hosts, and none that pages from
// elsewhere make; and gives all answers the headers of a page that is nobody
// else's business.
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
			http.Error(w, "This server does not go by that name. Ask it by its address.", http.StatusMisdirectedRequest)
			return
		}
		if foreign(r) {
			http.Error(w, "Only this server's own pages may ask it.", http.StatusForbidden)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// ReadOnly refuses all methods that could change anything.
func ReadOnly(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			w.Header().Set("Allow", "GET, HEAD")
			http.Error(w, "This server only shows.", http.StatusMethodNotAllowed)
			return
		}
		next.ServeHTTP(w, r)
	})
}
