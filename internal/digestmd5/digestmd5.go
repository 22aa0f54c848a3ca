// Package digestmd5 is the SASL mechanism DIGEST-MD5 of RFC 2831, both sides, as ZooKeeper
// uses it: with the quality of protection "auth", and the service zookeeper/zk-sasl-md5.
//
// The mechanism shows a server that a client knows a password, and the client that the
// server knows it too. It is weak by today's standards (RFC 6331): use it over TLS.
package digestmd5

import (
	"crypto/md5" //nolint:gosec // the mechanism's
	"crypto/rand"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"fmt"
)

// The service of ZooKeeper's servers, and the realm that they propose.
const (
	serviceURI = "zookeeper/zk-sasl-md5"
	realmName  = "zk-sasl-md5"
)

// ErrRefused: a token does not prove the knowledge of the password.
var ErrRefused = errors.New("digest-md5: the response does not prove the knowledge of the password")

// exchange is what a response depends on.
type exchange struct{ user, password, realm, nonce, cnonce, count, uri string }

// response proves the knowledge of the password; with a method of "" it is the server's
// proof to the client.
func (e exchange) response(method string) string {
	secret := sum(latin1(e.user) + ":" + latin1(e.realm) + ":" + latin1(e.password))
	first := sum(string(secret[:]) + ":" + e.nonce + ":" + e.cnonce)
	second := sum(method + ":" + e.uri)
	out := sum(hex.EncodeToString(first[:]) + ":" + e.nonce + ":" + e.count + ":" + e.cnonce + ":auth:" + hex.EncodeToString(second[:]))
	return hex.EncodeToString(out[:])
}

func sum(s string) [md5.Size]byte { return md5.Sum([]byte(s)) } //nolint:gosec // the mechanism's

// latin1 is s in ISO 8859-1 if s has no other characters, and in UTF-8 otherwise, as the
// standard demands for the hash.
func latin1(s string) string {
	out := make([]byte, 0, len(s))
	for _, r := range s {
		if r > 0xff {
			return s
		}
		out = append(out, byte(r))
	}
	return string(out)
}

// clientMethod is the method in a client's response.
const clientMethod = "AUTHENTICATE"

// firstUse is the count of a nonce that is used once.
const firstUse = "00000001"

func newNonce() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}

func equal(a, b string) bool { return subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1 }

// Client is the client's side of one authentication.
type Client struct {
	user, password, nonce string
	proof                 string // what the server's last token must have
	challenged            bool
}

// NewClient makes the client's side.
func NewClient(user, password string) *Client {
	return &Client{user: user, password: password, nonce: newNonce()}
}

// Start is the first token: there is none, the server begins.
func (c *Client) Start() []byte { return []byte{} }

// Step answers a token of the server; nil: the authentication is complete.
func (c *Client) Step(challenge []byte) ([]byte, error) {
	d, err := parse(challenge)
	if err != nil {
		return nil, err
	}
	if c.challenged {
		if !equal(d["rspauth"], c.proof) {
			return nil, fmt.Errorf("%w: it is the server's", ErrRefused)
		}
		return nil, nil
	}
	if len(challenge) == 0 {
		return nil, errors.New("digest-md5: the server sends no challenge: it has no SASL (set authProvider and a login configuration)")
	}
	if d["nonce"] == "" || d["algorithm"] != "md5-sess" {
		return nil, fmt.Errorf("digest-md5: the challenge has no nonce, or an algorithm other than md5-sess: %q", challenge)
	}
	if qop, ok := d["qop"]; ok && !hasWord(qop, "auth") {
		return nil, fmt.Errorf("digest-md5: the server offers no qop of auth, but %q", qop)
	}
	c.challenged = true
	e := exchange{user: c.user, password: c.password, realm: d["realm"], nonce: d["nonce"], cnonce: c.nonce, count: firstUse, uri: serviceURI}
	c.proof = e.response("")
	var out list
	if d["charset"] == "utf-8" {
		out.add("charset", "utf-8")
	}
	out.addQuoted("username", e.user)
	out.addQuoted("realm", e.realm)
	out.addQuoted("nonce", e.nonce)
	out.add("nc", e.count)
	out.addQuoted("cnonce", e.cnonce)
	out.addQuoted("digest-uri", e.uri)
	out.add("response", e.response(clientMethod))
	out.add("qop", "auth")
	return out, nil
}

// Server is the server's side of one authentication.
type Server struct {
	password func(user string) (string, bool)
	nonce    string
	asked    bool
}

// NewServer makes the server's side. password returns the password of a user.
func NewServer(password func(user string) (string, bool)) *Server {
	return &Server{password: password, nonce: newNonce()}
}

// Step answers a token of the client. With the last answer, user is the client.
func (s *Server) Step(token []byte) (answer []byte, user string, err error) {
	if !s.asked {
		s.asked = true
		var out list
		out.addQuoted("realm", realmName)
		out.addQuoted("nonce", s.nonce)
		out.addQuoted("qop", "auth")
		out.add("charset", "utf-8")
		out.add("algorithm", "md5-sess")
		return out, "", nil
	}
	d, err := parse(token)
	if err != nil {
		return nil, "", err
	}
	password, known := s.password(d["username"])
	e := exchange{
		user: d["username"], password: password, realm: d["realm"], nonce: s.nonce, cnonce: d["cnonce"], count: d["nc"], uri: d["digest-uri"],
	}
	right := d["nonce"] == s.nonce && e.count == firstUse && e.cnonce != "" && e.uri == serviceURI
	if !known || !right || !equal(d["response"], e.response(clientMethod)) {
		return nil, "", ErrRefused
	}
	return []byte("rspauth=" + e.response("")), e.user, nil
}
