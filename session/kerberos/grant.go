package kerberos

import (
	"context"
	"errors"
	"fmt"

	"github.com/jcmturner/gokrb5/v8/config"
	"github.com/jcmturner/gokrb5/v8/iana/errorcode"
	"github.com/jcmturner/gokrb5/v8/messages"
	"github.com/jcmturner/gokrb5/v8/types"
)

// maxReferrals bounds the realms on the way to a server.
const maxReferrals = 5

// isStale reports whether a KDC does not accept a ticket-granting ticket, for instance because
// the key of the KDC has changed: another login helps.
func isStale(err error) bool {
	var e messages.KRBError
	if !errors.As(err, &e) {
		return false
	}
	switch e.ErrorCode {
	case errorcode.KRB_AP_ERR_TKT_EXPIRED, errorcode.KRB_AP_ERR_TKT_NYV, errorcode.KRB_AP_ERR_BAD_INTEGRITY,
		errorcode.KRB_AP_ERR_MODIFIED, errorcode.KRB_AP_ERR_BADKEYVER, errorcode.KRB_AP_ERR_NOKEY, errorcode.KDC_ERR_TGT_REVOKED,
		errorcode.KRB_ERR_GENERIC: // MIT Kerberos, when the key is gone
		return true
	}
	return false
}

// grant gets a ticket for a server with a ticket-granting ticket: the TGS exchange of RFC
// 4120. A server without a realm is one of the client's realm. If the server is in another
// realm, the KDCs of the realms before give a ticket for the KDC of the next one.
func (l *Login) grant(ctx context.Context, cfg *config.Config, tgt *ticket, server principal) (*ticket, error) {
	realm := grantedRealm(tgt.message.SName)
	if server.realm == "" {
		server.realm = realm
	}
	for range maxReferrals {
		target := server.name
		if realm != server.realm {
			target = ticketGranting(server.realm)
		}
		got, err := l.grantIn(ctx, cfg, realm, tgt, target)
		if err != nil {
			return nil, err
		}
		if got.message.SName.Equal(server.name) {
			return got, nil
		}
		next := grantedRealm(got.message.SName)
		if next == "" || next == realm {
			return nil, fmt.Errorf("%w: the KDC of realm %s has issued a ticket for %s instead of %s",
				ErrServerUnknown, realm, got.message.SName.PrincipalNameString(), target.PrincipalNameString())
		}
		if realm == server.realm { // the KDC knows better where the server is
			server.realm = next
		}
		tgt, realm = got, next
	}
	return nil, fmt.Errorf("%w: more than %d realms refer to each other for %s", ErrServerUnknown, maxReferrals, server)
}

// grantIn asks the KDC of one realm for a ticket.
func (l *Login) grantIn(ctx context.Context, cfg *config.Config, realm string, tgt *ticket, target types.PrincipalName) (*ticket, error) {
	request, err := messages.NewTGSReq(tgt.client.name, realm, cfg, tgt.message, tgt.key, target, false)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrCredentials, err)
	}
	bytes, err := request.Marshal()
	if err != nil {
		return nil, err
	}
	bytes, err = l.send(ctx, cfg, realm, bytes)
	var e messages.KRBError
	if errors.As(err, &e) {
		return nil, refused(e, tgt.client.String(), principal{target, realm}.String(), "")
	}
	if err != nil {
		return nil, err
	}
	return openGrant(bytes, tgt, &request, cfg)
}

// openGrant decrypts and checks a reply to request. The name of the server may be another
// one's: that of the KDC of a further realm.
func openGrant(bytes []byte, tgt *ticket, request *messages.TGSReq, cfg *config.Config) (*ticket, error) {
	var reply messages.TGSRep
	err := guard("the reply of the KDC", func() error {
		if err := reply.Unmarshal(bytes); err != nil {
			return err
		}
		return reply.DecryptEncPart(tgt.key)
	})
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrCredentials, err)
	}
	part := reply.DecryptedEncPart
	if err := checkReply(part, request.ReqBody.Nonce, beginOf(part), cfg.LibDefaults.Clockskew); err != nil {
		return nil, err
	}
	// The encrypted part tells the truth; the ticket beside it is the server's to read.
	secret, open := principal{part.SName, part.SRealm}, principal{reply.Ticket.SName, reply.Ticket.Realm}
	if !secret.equal(open) || open.realm != request.ReqBody.Realm {
		return nil, fmt.Errorf("%w: the reply of the KDC of realm %s is for %s, and its ticket for %s", ErrCredentials, request.ReqBody.Realm, secret, open)
	}
	return newTicket(tgt.client, reply.Ticket, part), nil
}
