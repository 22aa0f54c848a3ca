package kerberos

import (
	"fmt"
	"strings"
	"time"

	"github.com/jcmturner/gokrb5/v8/iana/nametype"
	"github.com/jcmturner/gokrb5/v8/messages"
	"github.com/jcmturner/gokrb5/v8/types"
)

// principal is a name in a realm.
type principal struct {
	name  types.PrincipalName
	realm string
}

func (p principal) String() string { return p.name.PrincipalNameString() + "@" + p.realm }

func (p principal) equal(q principal) bool { return p.realm == q.realm && p.name.Equal(q.name) }

// ticketGranting is the principal of the KDCs of a realm.
func ticketGranting(realm string) types.PrincipalName {
	return types.PrincipalName{NameType: nametype.KRB_NT_SRV_INST, NameString: []string{"krbtgt", realm}}
}

// grantedRealm is the realm in which a ticket-granting ticket is valid, and "" for the
// ticket of another service.
func grantedRealm(server types.PrincipalName) string {
	if len(server.NameString) != 2 || server.NameString[0] != "krbtgt" {
		return ""
	}
	return server.NameString[1]
}

// ticket is a ticket of a client, with the key that the client shares with the server.
type ticket struct {
	message    messages.Ticket
	key        types.EncryptionKey
	client     principal
	begin, end time.Time
}

// beginOf is when a ticket begins to be valid.
func beginOf(part messages.EncKDCRepPart) time.Time {
	if part.StartTime.IsZero() {
		return part.AuthTime
	}
	return part.StartTime
}

func newTicket(client principal, message messages.Ticket, part messages.EncKDCRepPart) *ticket {
	return &ticket{message: message, key: part.Key, client: client, begin: beginOf(part), end: part.EndTime}
}

// isValid reports whether a server accepts the ticket for some seconds more.
func (t *ticket) isValid(now time.Time) bool { return t != nil && now.Add(2*time.Second).Before(t.end) }

// isFresh reports whether more than a sixth of the ticket's time is left.
func (t *ticket) isFresh(now time.Time) bool {
	return t.isValid(now) && t.end.Sub(now) > t.end.Sub(t.begin)/6
}

// checkReply checks what a KDC says of a ticket: that the reply is for this request, and that
// the clocks agree.
func checkReply(part messages.EncKDCRepPart, nonce int, since time.Time, skew time.Duration) error {
	if part.Nonce != nonce {
		return fmt.Errorf("%w: the reply of the KDC is for another request", ErrCredentials)
	}
	if difference := time.Since(since); difference > skew || difference < -skew {
		return fmt.Errorf("%w: synchronize the clocks: the KDC's differs by %v", ErrClockSkew, -difference.Round(time.Second))
	}
	return nil
}

// differenceTo is how far the clock of a KDC is from this machine's.
func differenceTo(e messages.KRBError) string {
	if e.STime.IsZero() {
		return ""
	}
	return fmt.Sprintf(": the KDC's differs by %v", time.Until(e.STime).Round(time.Second))
}

// parsePrincipal parses "name@REALM" or "name/instance@REALM"; the default of the realm is
// realm.
func parsePrincipal(text, realm string) (principal, error) {
	name := text
	if at := strings.LastIndexByte(text, '@'); at >= 0 {
		name, realm = text[:at], text[at+1:]
		if realm == "" {
			return principal{}, fmt.Errorf("%w: the principal %q has an empty realm", ErrInvalidArgument, text)
		}
	}
	parts := strings.Split(name, "/")
	for _, part := range parts {
		if part == "" {
			return principal{}, fmt.Errorf("%w: the principal is %q; it must be like app@EXAMPLE.ORG or app/host.example.org@EXAMPLE.ORG", ErrInvalidArgument, text)
		}
	}
	if realm == "" {
		return principal{}, fmt.Errorf("%w: the principal %q has no realm, and krb5.conf has no default_realm", ErrConfig, text)
	}
	return principal{types.PrincipalName{NameType: nametype.KRB_NT_PRINCIPAL, NameString: parts}, realm}, nil
}
