package kerberos

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/jcmturner/gokrb5/v8/config"
	"github.com/jcmturner/gokrb5/v8/crypto"
	"github.com/jcmturner/gokrb5/v8/iana/etypeID"
	"github.com/jcmturner/gokrb5/v8/iana/keyusage"
	"github.com/jcmturner/gokrb5/v8/messages"
	"github.com/stretchr/testify/require"
)

// No token of a server makes the client panic, or believe a server without the key.
func FuzzServerToken(f *testing.F) {
	a := newAcceptor(f, etypeID.AES128_CTS_HMAC_SHA1_96)
	m := a.established()
	f.Add(a.reply(a.ticket.key, a.authenticator), false)
	f.Add(a.wrap([]byte{1, 0, 0, 0}), true)
	f.Add([]byte("\x60\x0b\x06\x09\x2a\x86\x48\x86\xf7\x12\x01\x02\x02"), false)
	f.Fuzz(func(t *testing.T, token []byte, layers bool) {
		again := *m
		if !layers {
			again.stage = awaitReply
		}
		answer, err := again.Step(token)
		if err != nil {
			require.ErrorIs(t, err, ErrServerUntrusted)
			require.Nil(t, answer)
		}
	})
}

// Nor does what a server with the key encrypts.
func FuzzServerSecret(f *testing.F) {
	a := newAcceptor(f, etypeID.AES128_CTS_HMAC_SHA1_96)
	m := a.established()
	key, flags := a.key()
	f.Add([]byte("\x7b\x05\x30\x03\xa1\x01\x00"))
	f.Add([]byte{1, 0, 0, 0})
	f.Fuzz(func(t *testing.T, plain []byte) {
		again := *m
		// Not by a token, whose encryption is another each time.
		_ = guard("the proof", func() error { return again.checkProof(plain) })
		token, err := wrap(key, flags, keyusage.GSSAPI_ACCEPTOR_SEAL, 5, plain)
		require.NoError(t, err)
		again.serverSubkey, again.stage = m.serverSubkey, awaitLayers
		answer, err := again.Step(token)
		require.Equal(t, len(plain) == 4 && plain[0]&layerNone != 0, err == nil)
		require.Equal(t, err == nil, answer != nil)
	})
}

// No reply of a KDC makes the client panic, or accept a ticket.
func FuzzKDCReply(f *testing.F) {
	a := newAcceptor(f, etypeID.AES128_CTS_HMAC_SHA1_96)
	cfg := config.New()
	k := &keys{file: "keytab", owner: a.ticket.client, list: []versionedKey{{a.ticket.key, 1}}}
	login, err := messages.NewASReqForTGT(testRealm, cfg, k.owner.name)
	require.NoError(f, err)
	service, err := messages.NewTGSReq(k.owner.name, testRealm, cfg, a.ticket.message, a.ticket.key, ticketGranting(testRealm), false)
	require.NoError(f, err)
	for _, encrypted := range []byte("\x00\x7f") {
		sealed, err := crypto.GetEncryptedData([]byte{encrypted}, a.ticket.key, keyusage.AS_REP_ENCPART, 1)
		require.NoError(f, err)
		fields := messages.KDCRepFields{PVNO: 5, MsgType: 11, CRealm: testRealm, CName: k.owner.name, Ticket: a.ticket.message, EncPart: sealed}
		reply, err := (&messages.ASRep{KDCRepFields: fields}).Marshal()
		require.NoError(f, err)
		f.Add(reply)
		fields.MsgType = 13
		reply, err = (&messages.TGSRep{KDCRepFields: fields}).Marshal()
		require.NoError(f, err)
		f.Add(reply)
	}
	e := messages.NewKRBError(a.ticket.message.SName, testRealm, 25, "")
	e.EData = []byte("\x30\x15\x30\x13\xa1\x03\x02\x01\x13\xa2\x0c\x04\x0a\x30\x08\x30\x06\xa0\x03\x02\x01\x11")
	reply, err := e.Marshal()
	require.NoError(f, err)
	f.Add(reply)
	f.Fuzz(func(t *testing.T, reply []byte) {
		_ = replyError(reply)
		_, err := openLogin(reply, k, &login, cfg)
		require.Error(t, err)
		_, err = openGrant(reply, a.ticket, &service, cfg)
		require.Error(t, err)
		_, _ = k.chooseKey(reply)
	})
}

// No file makes the client panic: files are half written at times.
func FuzzFiles(f *testing.F) {
	a := newAcceptor(f, etypeID.AES128_CTS_HMAC_SHA1_96)
	table, err := a.keytab.Marshal()
	require.NoError(f, err)
	f.Add(table)
	f.Add([]byte("\x05\x04\x00\x0c\x00\x01\x00\x08\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x01\x00\x00\x00\x01\x00\x00\x00\x01A\x00\x00\x00\x01a"))
	f.Add([]byte("[libdefaults]\ndefault_realm = A\n[realms]\nA = {\nkdc = a\n}\n[domain_realm]\n.a = A\n"))
	path := filepath.Join(f.TempDir(), "file")
	f.Fuzz(func(t *testing.T, content []byte) {
		require.NoError(t, os.WriteFile(path, content, 0o600))
		_, _ = readCache(path)
		_, _ = readKeys(path, "alice@A", config.New())
		if !bytes.Contains(content, []byte("include")) { // files of this machine
			_, _ = loadConfig([]string{path})
		}
	})
}
