package cluster

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"fmt"
)

// Secret is what somebody must know to give orders. Nobody knows the empty one.
//
// It is told once, to people, and comes back once, as "/?token=...". Whatever else
// is sent is a key that was derived from it for one use, and is good for no other.
type Secret string

// shortestSecret is how many bytes a secret must have that people have chosen:
// any client that hears a signed order can try secrets as fast as it likes.
const shortestSecret = 16

// NewSecret makes one that nobody can guess.
func NewSecret() Secret { return Secret(rand.Text()) }

// ParseSecret takes a secret that people have chosen. An empty text is the secret
// that nobody knows.
func ParseSecret(text string) (Secret, error) {
	if n := len(text); n > 0 && n < shortestSecret {
		return "", fmt.Errorf("it has %d bytes, and must have %d or more: make one by \"openssl rand -hex 16\"", n, shortestSecret)
	}
	return Secret(text), nil
}

// use is what a key is for.
type use string

const (
	forCookie use = "cookie" // a browser brings it, and is shown the orders
	forForm   use = "form"   // stands in the page's forms
	forNodes  use = "nodes"  // signs orders to nodes; never sent
)

// key is the secret's key for one use; "" of the empty secret.
func (s Secret) key(u use) string {
	if s == "" {
		return ""
	}
	return mac(string(s), "zkr demo cluster", string(u))
}

// mac authenticates parts, none of which has a line break.
func mac(key string, parts ...string) string {
	h := hmac.New(sha256.New, []byte(key))
	for _, p := range parts {
		h.Write([]byte(p + "\n"))
	}
	return hex.EncodeToString(h.Sum(nil))
}

// same compares in a time that tells nothing of the right one, its length
// included. Nothing is the same as an empty one.
func same(given, right string) bool {
	a, b := sha256.Sum256([]byte(given)), sha256.Sum256([]byte(right))
	return subtle.ConstantTimeCompare(a[:], b[:]) == 1 && right != ""
}
