package session

import (
	"context"
	"fmt"

	"github.com/zkrecipes/zkrecipes/internal/digestmd5"
	"github.com/zkrecipes/zkrecipes/session/internal/wire"
)

// SASLMechanism is the client's side of one authentication by SASL, of which each
// connection has its own.
type SASLMechanism interface {
	// Start returns the first token: empty, and not nil, if the server begins.
	Start() []byte
	// Step answers a token of the server. nil without an error means that the
	// authentication is complete; a last token that needs no answer of the mechanism is
	// followed by a Step all the same, with what the server says to it.
	Step(token []byte) ([]byte, error)
}

// SASLDigestMD5 is the mechanism DIGEST-MD5 (RFC 2831), for Options.SASL: the client shows
// that it knows the password of a user in the servers' login configuration, and the server
// that it knows the password too. Nothing is encrypted, and the mechanism is weak by today's
// standards: use it over TLS. The identity of the client in ACLs is the user, in the scheme
// "sasl".
func SASLDigestMD5(user, password string) func(ctx context.Context, server string) (SASLMechanism, error) {
	return func(context.Context, string) (SASLMechanism, error) {
		if user == "" {
			return nil, fmt.Errorf("%w: the user of SASLDigestMD5 is empty", ErrInvalidOption)
		}
		return digestmd5.NewClient(user, password), nil
	}
}

// startSASL is Options.SASL for the address that was dialed last, in the form of the link.
func (s *Session) startSASL() func(context.Context) (wire.Mechanism, error) {
	begin := s.client.opts.SASL
	if begin == nil {
		return nil
	}
	return func(ctx context.Context) (wire.Mechanism, error) {
		return begin(ctx, s.servers.target().host())
	}
}
