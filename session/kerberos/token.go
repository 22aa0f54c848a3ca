package kerberos

import (
	"bytes"
	"encoding/binary"
	"errors"
	"slices"

	"github.com/jcmturner/gofork/encoding/asn1"
	"github.com/jcmturner/gokrb5/v8/asn1tools"
	"github.com/jcmturner/gokrb5/v8/gssapi"
	"github.com/jcmturner/gokrb5/v8/iana/chksumtype"
	"github.com/jcmturner/gokrb5/v8/iana/flags"
	"github.com/jcmturner/gokrb5/v8/messages"
	"github.com/jcmturner/gokrb5/v8/types"
)

// The kinds of tokens that set up a context (RFC 4121, section 4.1).
const (
	tokenRequest = 0x0100 // AP-REQ
	tokenReply   = 0x0200 // AP-REP
	tokenError   = 0x0300 // KRB-ERROR
)

// The flags by which the client asks for properties of the context (RFC 4121, section 4.1.1.1). Integrity is of the wrap
// tokens of the exchange; no data is wrapped after it.
const (
	contextMutual    = 2
	contextSequence  = 8
	contextIntegrity = 32
)

// frame puts the header of the mechanism before a message (RFC 2743, section 3.1).
func frame(kind uint16, message []byte) ([]byte, error) {
	oid, err := asn1.Marshal(gssapi.OIDKRB5.OID())
	if err != nil {
		return nil, err
	}
	return asn1tools.AddASNAppTag(slices.Concat(oid, binary.BigEndian.AppendUint16(nil, kind), message), 0), nil
}

// unframe undoes frame.
func unframe(token []byte) (kind uint16, message []byte, err error) {
	var raw asn1.RawValue
	rest, err := asn1.Unmarshal(token, &raw)
	if err != nil || len(rest) > 0 || raw.Class != asn1.ClassApplication || raw.Tag != 0 {
		return 0, nil, errors.New("the token is not one of GSS-API")
	}
	oid, err := asn1.Marshal(gssapi.OIDKRB5.OID())
	if err != nil {
		return 0, nil, err
	}
	body, isKerberos := bytes.CutPrefix(raw.Bytes, oid)
	if !isKerberos || len(body) < 2 {
		return 0, nil, errors.New("the token is not one of Kerberos")
	}
	return binary.BigEndian.Uint16(body), body[2:], nil
}

// newRequest makes the first token of a client, and the authenticator in it, whose time the
// server returns, and whose subkey is the context's.
func newRequest(t *ticket) ([]byte, types.Authenticator, error) {
	authenticator, err := types.NewAuthenticator(t.client.realm, t.client.name)
	if err != nil {
		return nil, authenticator, err
	}
	// Not the size that gokrb5 tells, which is wrong for aes256-cts-hmac-sha384-192.
	if err := authenticator.GenerateSeqNumberAndSubKey(t.key.KeyType, len(t.key.KeyValue)); err != nil {
		return nil, authenticator, err
	}
	// The length of the channel binding, an empty binding, and the flags.
	sum := binary.LittleEndian.AppendUint32(nil, 16)
	sum = append(sum, make([]byte, 16)...)
	sum = binary.LittleEndian.AppendUint32(sum, contextMutual|contextSequence|contextIntegrity)
	authenticator.Cksum = types.Checksum{CksumType: chksumtype.GSSAPI, Checksum: sum}
	request, err := messages.NewAPReq(t.message, t.key, authenticator)
	if err != nil {
		return nil, authenticator, err
	}
	types.SetFlag(&request.APOptions, flags.APOptionMutualRequired)
	message, err := request.Marshal()
	if err != nil {
		return nil, authenticator, err
	}
	token, err := frame(tokenRequest, message)
	return token, authenticator, err
}
