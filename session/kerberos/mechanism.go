package kerberos

import (
	"errors"
	"fmt"

	"github.com/jcmturner/gokrb5/v8/crypto"
	"github.com/jcmturner/gokrb5/v8/iana/errorcode"
	"github.com/jcmturner/gokrb5/v8/iana/keyusage"
	"github.com/jcmturner/gokrb5/v8/messages"
	"github.com/jcmturner/gokrb5/v8/types"
)

// The security layers of RFC 4752, as bits.
const layerNone = 1

// stage is the token that a mechanism waits for.
type stage int

const (
	awaitReply  stage = iota // the server's proof of its key
	awaitLayers              // the security layers that the server offers
	awaitEnd                 // nothing: the server has accepted
)

// mechanism is the client's side of one exchange of the mechanism GSSAPI of SASL (RFC 4752).
type mechanism struct {
	ticket        *ticket
	first         []byte // token
	authenticator types.Authenticator
	stage         stage
	serverSubkey  types.EncryptionKey // of the server's choice; none: the client's counts
}

func newMechanism(t *ticket) (*mechanism, error) {
	if !isAES(t.key.KeyType) {
		return nil, fmt.Errorf("%w: the ticket for %s has a key of type %d: give the server's principal keys of AES types, such as aes256-cts-hmac-sha1-96",
			ErrCredentials, t.message.SName.PrincipalNameString(), t.key.KeyType)
	}
	first, authenticator, err := newRequest(t)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrCredentials, err)
	}
	return &mechanism{ticket: t, first: first, authenticator: authenticator}, nil
}

// Start returns the request with the ticket.
func (m *mechanism) Start() []byte { return m.first }

// Step answers a token of the server.
func (m *mechanism) Step(token []byte) (answer []byte, err error) {
	err = guard("the server's token", func() (err error) {
		switch m.stage {
		case awaitReply:
			answer, err = []byte{}, m.checkServer(token)
		case awaitLayers:
			answer, err = m.declineLayers(token)
		default:
			if len(token) > 0 {
				err = errors.New("a token follows the end of the exchange")
			}
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("kerberos: %w: principal %s: %w", ErrServerUntrusted, m.ticket.message.SName.PrincipalNameString(), err)
	}
	m.stage++
	return answer, nil
}

// checkServer checks the server's answer to the request: it has the time of the
// authenticator, encrypted with the key that only a server with the key of the principal can
// read from the ticket.
func (m *mechanism) checkServer(token []byte) error {
	if len(token) == 0 {
		return errors.New("the server sends no token: it has no SASL (set authProvider and a login configuration with Krb5LoginModule)")
	}
	kind, message, err := unframe(token)
	if err != nil {
		return err
	}
	switch kind {
	case tokenReply:
	case tokenError:
		var e messages.KRBError
		if err := e.Unmarshal(message); err != nil {
			return err
		}
		if e.ErrorCode == errorcode.KRB_AP_ERR_SKEW {
			return fmt.Errorf("%w: synchronize the clocks of the client and the server: %w", ErrClockSkew, e)
		}
		return e
	default:
		return fmt.Errorf("the token is of kind %#x instead of %#x", kind, tokenReply)
	}
	var reply messages.APRep
	if err := reply.Unmarshal(message); err != nil {
		return err
	}
	plain, err := crypto.DecryptEncPart(reply.EncPart, m.ticket.key, keyusage.AP_REP_ENCPART)
	if err != nil {
		return fmt.Errorf("the server does not have the key of its principal: %w", err)
	}
	return m.checkProof(plain)
}

// checkProof checks the decrypted answer of the server.
func (m *mechanism) checkProof(plain []byte) error {
	var part messages.EncAPRepPart
	if err := part.Unmarshal(plain); err != nil {
		return err
	}
	if part.CTime.Unix() != m.authenticator.CTime.Unix() || part.Cusec != m.authenticator.Cusec {
		return errors.New("the server answers another request")
	}
	if len(part.Subkey.KeyValue) > 0 && !isAES(part.Subkey.KeyType) {
		return fmt.Errorf("the server chooses a key of type %d, which is not of AES", part.Subkey.KeyType)
	}
	m.serverSubkey = part.Subkey
	return nil
}

// declineLayers answers the server's offer of security layers: none is used, as ZooKeeper has
// none, and the client acts as itself.
func (m *mechanism) declineLayers(token []byte) ([]byte, error) {
	offer, err := unwrap(token, m.contextKey)
	if err != nil {
		return nil, err
	}
	if len(offer) != 4 {
		return nil, fmt.Errorf("the offer of security layers has %d bytes instead of 4", len(offer))
	}
	if offer[0]&layerNone == 0 {
		return nil, fmt.Errorf("the server demands a security layer (%#x), which ZooKeeper does not have: correct javax.security.sasl.qop", offer[0])
	}
	var flags byte
	if len(m.serverSubkey.KeyValue) > 0 {
		flags = flagAcceptorSubkey
	}
	key, err := m.contextKey(flags)
	if err != nil {
		return nil, err
	}
	// No layer, hence no buffer, and no name of another principal to act as.
	return wrap(key, flags, keyusage.GSSAPI_INITIATOR_SEAL, uint64(m.authenticator.SeqNumber), []byte{layerNone, 0, 0, 0})
}

// contextKey is the key of a wrap token with flags.
func (m *mechanism) contextKey(flags byte) (types.EncryptionKey, error) {
	if flags&flagAcceptorSubkey == 0 {
		return m.authenticator.SubKey, nil
	}
	if len(m.serverSubkey.KeyValue) == 0 {
		return types.EncryptionKey{}, errors.New("the wrap token has a key that the server has not sent")
	}
	return m.serverSubkey, nil
}
