package kerberos

import (
	"testing"
	"time"

	"github.com/jcmturner/gofork/encoding/asn1"
	"github.com/jcmturner/gokrb5/v8/asn1tools"
	"github.com/jcmturner/gokrb5/v8/crypto"
	"github.com/jcmturner/gokrb5/v8/iana/asnAppTag"
	"github.com/jcmturner/gokrb5/v8/iana/chksumtype"
	"github.com/jcmturner/gokrb5/v8/iana/etypeID"
	"github.com/jcmturner/gokrb5/v8/iana/flags"
	"github.com/jcmturner/gokrb5/v8/iana/keyusage"
	"github.com/jcmturner/gokrb5/v8/iana/msgtype"
	"github.com/jcmturner/gokrb5/v8/iana/nametype"
	"github.com/jcmturner/gokrb5/v8/keytab"
	"github.com/jcmturner/gokrb5/v8/messages"
	"github.com/jcmturner/gokrb5/v8/types"
	"github.com/stretchr/testify/require"
)

// acceptor is the server's side of the exchange, without a KDC: it issues the ticket itself.
type acceptor struct {
	testing.TB
	ticket *ticket
	keytab *keytab.Keytab

	authenticator types.Authenticator
	subkey        types.EncryptionKey
}

func newAcceptor(t testing.TB, encryptionType int32) *acceptor {
	t.Helper()
	client := principal{types.NewPrincipalName(nametype.KRB_NT_PRINCIPAL, "alice"), testRealm}
	server := types.NewPrincipalName(nametype.KRB_NT_SRV_HST, "zookeeper/zk1.zk.test")
	now := time.Now().UTC()
	a := &acceptor{TB: t, keytab: keytab.New()}
	require.NoError(t, a.keytab.AddEntry("zookeeper/zk1.zk.test", testRealm, "secret", now, 1, encryptionType))
	message, key, err := messages.NewTicket(client.name, client.realm, server, testRealm, types.NewKrbFlags(),
		a.keytab, encryptionType, 1, now, now, now.Add(time.Hour), now)
	require.NoError(t, err)
	a.ticket = &ticket{message: message, key: key, client: client, begin: now, end: now.Add(time.Hour)}
	return a
}

// accept checks a request as a server does, and keeps its authenticator.
func (a *acceptor) accept(token []byte) {
	a.Helper()
	kind, message, err := unframe(token)
	require.NoError(a, err)
	require.EqualValues(a, tokenRequest, kind)
	var request messages.APReq
	require.NoError(a, request.Unmarshal(message))
	require.True(a, types.IsFlagSet(&request.APOptions, flags.APOptionMutualRequired))
	ok, err := request.Verify(a.keytab, time.Minute, types.HostAddress{}, nil)
	require.NoError(a, err)
	require.True(a, ok)
	require.EqualValues(a, chksumtype.GSSAPI, request.Authenticator.Cksum.CksumType)
	require.Len(a, request.Authenticator.Cksum.Checksum, 24)
	a.authenticator = request.Authenticator
}

// reply is an AP-REP with the time of an authenticator.
func (a *acceptor) reply(key types.EncryptionKey, authenticator types.Authenticator) []byte {
	a.Helper()
	plain, err := asn1.Marshal(messages.EncAPRepPart{CTime: authenticator.CTime, Cusec: authenticator.Cusec, Subkey: a.subkey, SequenceNumber: 5})
	require.NoError(a, err)
	return a.seal(key, asn1tools.AddASNAppTag(plain, asnAppTag.EncAPRepPart))
}

// seal is an AP-REP with any encrypted part.
func (a *acceptor) seal(key types.EncryptionKey, plain []byte) []byte {
	a.Helper()
	sealed, err := crypto.GetEncryptedData(plain, key, keyusage.AP_REP_ENCPART, 0)
	require.NoError(a, err)
	return a.sealed(sealed.Cipher)
}

// sealed is an AP-REP with any bytes as its encrypted part.
func (a *acceptor) sealed(cipher []byte) []byte {
	a.Helper()
	message, err := asn1.Marshal(messages.APRep{PVNO: 5, MsgType: msgtype.KRB_AP_REP,
		EncPart: types.EncryptedData{EType: a.ticket.key.KeyType, Cipher: cipher}})
	require.NoError(a, err)
	token, err := frame(tokenReply, asn1tools.AddASNAppTag(message, asnAppTag.APREP))
	require.NoError(a, err)
	return token
}

// key is the key of the context, and the flags of the server's tokens.
func (a *acceptor) key() (types.EncryptionKey, byte) {
	if len(a.subkey.KeyValue) > 0 {
		return a.subkey, flagAcceptor | flagAcceptorSubkey
	}
	return a.authenticator.SubKey, flagAcceptor
}

// wrap wraps a message of the server.
func (a *acceptor) wrap(payload []byte) []byte {
	a.Helper()
	key, flags := a.key()
	token, err := wrap(key, flags, keyusage.GSSAPI_ACCEPTOR_SEAL, 5, payload)
	require.NoError(a, err)
	return token
}

// established is a mechanism whose server has proved its key.
func (a *acceptor) established() *mechanism {
	a.Helper()
	m, err := newMechanism(a.ticket)
	require.NoError(a, err)
	a.accept(m.Start())
	answer, err := m.Step(a.reply(a.ticket.key, a.authenticator))
	require.NoError(a, err)
	require.NotNil(a, answer)
	require.Empty(a, answer)
	return m
}

// aesTypes lacks AES256_CTS_HMAC_SHA384_192, for which gokrb5's tickets have keys that are too
// short; TestEncryptionTypesOnApache has it.
var aesTypes = []int32{etypeID.AES128_CTS_HMAC_SHA1_96, etypeID.AES256_CTS_HMAC_SHA1_96, etypeID.AES128_CTS_HMAC_SHA256_128} // read only
