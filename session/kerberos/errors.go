package kerberos

import (
	"errors"
	"fmt"

	"github.com/jcmturner/gokrb5/v8/iana/errorcode"
	"github.com/jcmturner/gokrb5/v8/messages"
	"github.com/zkrecipes/zkrecipes/session"
)

// The errors of this package. Each is wrapped with what is wrong and what to do.
var (
	// ErrInvalidArgument: an argument is invalid. No request was sent.
	ErrInvalidArgument = session.ErrInvalidArgument
	// ErrConfig: krb5.conf is missing, is invalid, or lacks a value that is needed.
	ErrConfig = errors.New("the Kerberos configuration cannot be used")
	// ErrCredentials: the keytab or the credential cache has no valid key or ticket of the
	// principal, or the KDC refuses the principal or its key.
	ErrCredentials = errors.New("the Kerberos credentials cannot be used")
	// ErrServerUnknown: the KDC does not know the principal of the ZooKeeper server.
	ErrServerUnknown = errors.New("the KDC does not know the server's principal")
	// ErrClockSkew: the clocks of this machine and of the KDC differ too much.
	ErrClockSkew = errors.New("the clocks of this machine and of the KDC differ too much")
	// ErrKDCUnreachable: no KDC of a realm has answered in time.
	ErrKDCUnreachable = errors.New("no KDC answered")
	// ErrServerUntrusted: the ZooKeeper server has not proved that it has the key of its
	// principal, or answers outside of the protocol.
	ErrServerUntrusted = errors.New("the server has not authenticated itself")
)

// refused is what a KDC's error means for a request of client for server. key names the key
// that the request was encrypted with, and is empty for a ticket.
func refused(e messages.KRBError, client, server, key string) error {
	wrap := func(sentinel error, advice string) error {
		return fmt.Errorf("%w: %s: %w", sentinel, advice, e)
	}
	switch e.ErrorCode {
	case errorcode.KDC_ERR_C_PRINCIPAL_UNKNOWN:
		return wrap(ErrCredentials, "the KDC does not know the principal "+client+": create the principal, or correct its name or realm")
	case errorcode.KDC_ERR_S_PRINCIPAL_UNKNOWN:
		return wrap(ErrServerUnknown, "there is no principal "+server+": create the principal, or set Options.ServerPrincipal or Options.KeepHostNames")
	case errorcode.KDC_ERR_PREAUTH_FAILED:
		return wrap(ErrCredentials, key+" is wrong: the key of "+client+" has changed; export the keytab again")
	case errorcode.KDC_ERR_CLIENT_REVOKED, errorcode.KDC_ERR_NAME_EXP, errorcode.KDC_ERR_KEY_EXPIRED, errorcode.KDC_ERR_CLIENT_NOTYET:
		return wrap(ErrCredentials, "the principal "+client+" is locked or expired")
	case errorcode.KDC_ERR_ETYPE_NOSUPP:
		return wrap(ErrCredentials, client+" and "+server+" share no encryption type: give both principals keys for aes256-cts-hmac-sha1-96")
	case errorcode.KRB_AP_ERR_SKEW:
		return wrap(ErrClockSkew, "synchronize the clocks"+differenceTo(e))
	case errorcode.KRB_AP_ERR_TKT_EXPIRED, errorcode.KRB_AP_ERR_TKT_NYV, errorcode.KDC_ERR_TGT_REVOKED:
		return wrap(ErrCredentials, "the ticket-granting ticket of "+client+" is not valid")
	}
	return wrap(ErrCredentials, "the KDC refuses "+client+" a ticket for "+server)
}
