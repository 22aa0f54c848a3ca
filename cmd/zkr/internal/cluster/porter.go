package cluster

import (
	"crypto/rand"
	"maps"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Orders to nodes are signed: a registered address may be foreign, and must not
// receive the secret. A signature is useless elsewhere, later, or a second
// time. The header is
//
//	Authorization: zkr-order <milliseconds since 1970> <nonce> <mac>
const (
	signScheme = "zkr-order "
	// signLimit is how far the time of an order may be from the node's.
	signLimit = 30 * time.Second
	// longestNonce, in bytes.
	longestNonce = 64
)

// sign signs an order to a node as of now.
func (s Secret) sign(r *http.Request, node string, now time.Time) {
	ms, nonce := strconv.FormatInt(now.UnixMilli(), 10), rand.Text()
	r.Header.Set("Authorization", signScheme+ms+" "+nonce+" "+s.signature(r, node, ms, nonce))
}

// signature covers the whole order.
func (s Secret) signature(r *http.Request, node, ms, nonce string) string {
	return mac(s.key(forNodes), r.Method, r.URL.Path, node, ms, nonce)
}

// porter lets orders in to a node, each of them once.
type porter struct {
	secret Secret
	node   string
	begun  time.Time

	// mu guards seen: the nonces of all admitted orders that are not too old
	// yet, with the times at which they become too old.
	mu   sync.Mutex
	seen map[string]time.Time
}

func newPorter(secret Secret, node string, now time.Time) *porter {
	// The times of orders are in milliseconds.
	return &porter{secret: secret, node: node, begun: now.Truncate(time.Millisecond), seen: map[string]time.Time{}}
}

// admits reports whether an order is signed, for this node, not too old or from
// the future, and new. An order older than the porter is refused: a process
// killed by an order and started again has forgotten the order.
func (p *porter) admits(r *http.Request, now time.Time) bool {
	given, ok := strings.CutPrefix(r.Header.Get("Authorization"), signScheme)
	parts := strings.Split(given, " ")
	if !ok || len(parts) != 3 || len(parts[1]) > longestNonce || p.secret == "" {
		return false
	}
	ms, err := strconv.ParseInt(parts[0], 10, 64)
	at := time.UnixMilli(ms)
	if err != nil || at.Before(p.begun) || now.Sub(at).Abs() > signLimit {
		return false
	}
	return same(parts[2], p.secret.signature(r, p.node, parts[0], parts[1])) && p.first(parts[1], at, now)
}

// first reports whether a nonce is new, and remembers it. Only clients with the
// secret get this far, so others cannot fill the memory.
func (p *porter) first(nonce string, at, now time.Time) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	maps.DeleteFunc(p.seen, func(_ string, until time.Time) bool { return now.After(until) })
	_, known := p.seen[nonce]
	p.seen[nonce] = at.Add(signLimit)
	return !known
}

// foreign reports whether a request comes from another server's page, according
// to the browser. Other programs send no such header.
func foreign(r *http.Request) bool {
	if site := r.Header.Get("Sec-Fetch-Site"); site != "" && site != "same-origin" && site != "none" {
		return true
	}
	origins, ok := r.Header["Origin"]
	if !ok {
		return false
	}
	if len(origins) != 1 {
		return true
	}
	origin, err := url.Parse(origins[0])
	return err != nil || origin.Scheme != "http" || !strings.EqualFold(origin.Host, r.Host)
}
