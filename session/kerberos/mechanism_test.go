package kerberos

import (
	"slices"
	"testing"
	"time"

	"github.com/jcmturner/gokrb5/v8/gssapi"
	"github.com/jcmturner/gokrb5/v8/iana/errorcode"
	"github.com/jcmturner/gokrb5/v8/iana/etypeID"
	"github.com/jcmturner/gokrb5/v8/iana/keyusage"
	"github.com/jcmturner/gokrb5/v8/messages"
	"github.com/stretchr/testify/require"
)

func TestExchangeEndsWithoutALayer(t *testing.T) {
	for _, encryptionType := range aesTypes {
		for _, withSubkey := range []bool{false, true} {
			a := newAcceptor(t, encryptionType)
			if withSubkey {
				a.subkey = newAcceptor(t, encryptionType).ticket.key
			}
			m := a.established()
			answer, err := m.Step(a.wrap([]byte{7, 0, 1, 0}))
			require.NoError(t, err)

			// gokrb5 reads the answer, too.
			var token gssapi.WrapToken
			require.NoError(t, token.Unmarshal(answer, false))
			key, flags := a.key()
			ok, err := token.Verify(key, keyusage.GSSAPI_INITIATOR_SEAL)
			require.NoError(t, err)
			require.True(t, ok)
			require.Equal(t, []byte{layerNone, 0, 0, 0}, token.Payload)
			require.Equal(t, flags&^flagAcceptor, token.Flags)
			require.EqualValues(t, a.authenticator.SeqNumber, token.SndSeqNum)

			answer, err = m.Step(nil)
			require.NoError(t, err)
			require.Nil(t, answer, "complete")
		}
	}
}

// Servers rotate what follows the header (RFC 4121, section 4.2.5).
func TestRotatedTokenIsRead(t *testing.T) {
	a := newAcceptor(t, etypeID.AES256_CTS_HMAC_SHA1_96)
	m := a.established()
	token := a.wrap([]byte{1, 0, 0, 0})
	body := token[wrapHeader:]
	rotated := slices.Concat(token[:wrapHeader], body[len(body)-12:], body[:len(body)-12])
	rotated[7] = 12
	_, err := m.Step(rotated)
	require.NoError(t, err)
}

func TestTwoExchangesHaveNothingInCommon(t *testing.T) {
	a := newAcceptor(t, etypeID.AES256_CTS_HMAC_SHA1_96)
	first, err := newMechanism(a.ticket)
	require.NoError(t, err)
	second, err := newMechanism(a.ticket)
	require.NoError(t, err)
	require.NotEqual(t, first.authenticator.SubKey, second.authenticator.SubKey)
	require.NotEqual(t, first.Start(), second.Start())
}

// A server without the key of its principal cannot read the ticket, and does not know the
// time that it must return.
func TestImpostorIsNotTrusted(t *testing.T) {
	other := newAcceptor(t, etypeID.AES256_CTS_HMAC_SHA1_96).ticket.key
	for name, c := range map[string]struct {
		token func(a *acceptor) []byte
		says  string
	}{
		"another key": {func(a *acceptor) []byte { return a.reply(other, a.authenticator) }, "does not have the key of its principal"},
		"the reply to an earlier request": {func(a *acceptor) []byte {
			late := a.authenticator
			late.CTime = late.CTime.Add(-time.Second)
			return a.reply(a.ticket.key, late)
		}, "answers another request"},
		"no token":              {func(*acceptor) []byte { return nil }, "it has no SASL"},
		"no GSS-API":            {func(*acceptor) []byte { return []byte(`realm="zk-sasl-md5"`) }, "not one of GSS-API"},
		"the request, returned": {func(a *acceptor) []byte { return mustFrame(a, tokenRequest, nil) }, "kind 0x100"},
		"layers at once":        {func(a *acceptor) []byte { return a.wrap([]byte{1, 0, 0, 0}) }, "not one of GSS-API"},
		"nonsense in the frame": {func(a *acceptor) []byte { return mustFrame(a, tokenReply, []byte{1, 2, 3}) }, ""},
		"a short cipher":        {func(a *acceptor) []byte { return a.sealed([]byte{1}) }, ""},
		"an error": {func(a *acceptor) []byte {
			e := messages.NewKRBError(a.ticket.message.SName, testRealm, errorcode.KRB_AP_ERR_SKEW, "")
			message, err := e.Marshal()
			require.NoError(a, err)
			return mustFrame(a, tokenError, message)
		}, "synchronize the clocks of the client and the server"},
	} {
		a := newAcceptor(t, etypeID.AES256_CTS_HMAC_SHA1_96)
		m, err := newMechanism(a.ticket)
		require.NoError(t, err)
		a.accept(m.Start())
		_, err = m.Step(c.token(a))
		require.ErrorIs(t, err, ErrServerUntrusted, name)
		require.ErrorContains(t, err, c.says, name)
		require.ErrorContains(t, err, "zookeeper/zk1.zk.test", name)
	}
}

func mustFrame(t testing.TB, kind uint16, message []byte) []byte {
	t.Helper()
	token, err := frame(kind, message)
	require.NoError(t, err)
	return token
}

func TestOfferOfLayersIsChecked(t *testing.T) {
	change := func(at int, bits byte) func([]byte) []byte {
		return func(b []byte) []byte { b[at] ^= bits; return b }
	}
	for name, c := range map[string]struct {
		offer  []byte
		change func([]byte) []byte
		says   string
	}{
		"layers only":        {[]byte{6, 1, 0, 0}, nil, "javax.security.sasl.qop"},
		"too short":          {[]byte{1}, nil, "1 bytes instead of 4"},
		"no token":           {nil, func([]byte) []byte { return nil }, "not a wrap token"},
		"a client's":         {[]byte{1, 0, 0, 0}, change(2, flagAcceptor), "not a server's"},
		"encrypted":          {[]byte{1, 0, 0, 0}, change(2, flagSealed), "encrypted"},
		"an unknown key":     {[]byte{1, 0, 0, 0}, change(2, flagAcceptorSubkey), "has not sent"},
		"a changed offer":    {[]byte{1, 0, 0, 0}, change(wrapHeader, 1), "checksum"},
		"a changed sequence": {[]byte{1, 0, 0, 0}, change(15, 1), "checksum"},
		"a changed checksum": {[]byte{1, 0, 0, 0}, change(25, 1), "checksum"},
		"a long checksum":    {[]byte{1, 0, 0, 0}, change(4, 0xff), "checksum"},
	} {
		a := newAcceptor(t, etypeID.AES128_CTS_HMAC_SHA1_96)
		m := a.established()
		token := a.wrap(c.offer)
		if c.change != nil {
			token = c.change(token)
		}
		_, err := m.Step(token)
		require.ErrorIs(t, err, ErrServerUntrusted, name)
		require.ErrorContains(t, err, c.says, name)
	}
}

func TestTokenAfterTheEndIsAnError(t *testing.T) {
	a := newAcceptor(t, etypeID.AES256_CTS_HMAC_SHA1_96)
	m := a.established()
	_, err := m.Step(a.wrap([]byte{1, 0, 0, 0}))
	require.NoError(t, err)
	_, err = m.Step([]byte{1})
	require.ErrorIs(t, err, ErrServerUntrusted)
}

// The wrap tokens of older types have another form.
func TestTicketOfAnOldTypeIsRefused(t *testing.T) {
	_, err := newMechanism(newAcceptor(t, etypeID.RC4_HMAC).ticket)
	require.ErrorIs(t, err, ErrCredentials)
	require.ErrorContains(t, err, "aes256-cts-hmac-sha1-96")
}
