package cluster

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"fmt"
)

// Secret is the permission to give orders. The empty secret permits nothing.
//
// The secret is shown to the user once, and sent back once, as "/?token=...".
// All other messages carry keys derived from the secret, each valid for a
// single use.
type Secret string

// shortestSecret is the minimum length in bytes of a chosen secret: any client
// that receives a signed order can try secrets at full speed.
const shortestSecret = 16

// NewSecret makes a random secret.
func NewSecret() Secret { return Secret(rand.Text()) }

// ParseSecret parses a chosen secret. An empty text is the empty secret.
func ParseSecret(text string) (Secret, error) {
	if n := len(text); n > 0 && n < shortestSecret {
		return "", fmt.Errorf("the secret has %d bytes; it must have %d or more, such as the output of \"openssl rand -hex 16\"", n, shortestSecret)
	}
	return Secret(text), nil
}

// use is the use of a key.
type use string

const (
	forCookie use = "cookie" // sent by a browser as a cookie; permits the orders on the page
	forForm   use = "form"   // stands in the page's forms
	forNodes  use = "nodes"  // signs orders to nodes; never sent
)

// key is the secret's key for a use; "" for the empty secret.
func (s Secret) key(u use) string {
	if s == "" {
		return ""
	}
	return mac(string(s), "zkr demo cluster", string(u))
}

// mac authenticates parts, which must not have line breaks.
func mac(key string, parts ...string) string {
	h := hmac.New(sha256.New, []byte(key))
	for _, p := range parts {
		h.Write([]byte(p + "\n"))
	}
	return hex.EncodeToString(h.Sum(nil))
}

// same compares in a time independent of the right text and its length. No text
// is the same as an empty one.
func same(given, right string) bool {
	a, b := sha256.Sum256([]byte(given)), sha256.Sum256([]byte(right))
	return subtle.ConstantTimeCompare(a[:], b[:]) == 1 && right != ""
}
