package kerberos

import (
	"bytes"
	"crypto/hmac"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"github.com/jcmturner/gokrb5/v8/crypto"
	"github.com/jcmturner/gokrb5/v8/iana/keyusage"
	"github.com/jcmturner/gokrb5/v8/types"
)

// The header of a wrap token (RFC 4121, section 4.2.6.2): token ID, flags, filler, length of
// the checksum, rotation, sequence number.
const (
	wrapHeader = 16
	wrapFiller = 0xff

	flagAcceptor       = 1
	flagSealed         = 2
	flagAcceptorSubkey = 4
)

// wrap makes a token with a payload in the clear, and its checksum. It is written here because
// gokrb5's has neither sequence numbers nor subkeys.
func wrap(key types.EncryptionKey, flags byte, usage uint32, sequence uint64, payload []byte) ([]byte, error) {
	sum, err := wrapSum(key, flags, usage, sequence, payload)
	if err != nil {
		return nil, err
	}
	token := []byte{5, 4, flags, wrapFiller}
	token = binary.BigEndian.AppendUint16(token, uint16(len(sum)))
	token = binary.BigEndian.AppendUint16(token, 0)
	token = binary.BigEndian.AppendUint64(token, sequence)
	return slices.Concat(token, payload, sum), nil
}

// wrapSum is the checksum of a payload and the header, which counts with neither length nor
// rotation.
func wrapSum(key types.EncryptionKey, flags byte, usage uint32, sequence uint64, payload []byte) ([]byte, error) {
	encryption, err := crypto.GetEtype(key.KeyType)
	if err != nil {
		return nil, err
	}
	header := binary.BigEndian.AppendUint64([]byte{5, 4, flags, wrapFiller, 0, 0, 0, 0}, sequence)
	return encryption.GetChecksumHash(key.KeyValue, slices.Concat(payload, header), usage)
}

// unwrap checks a token of the server, and returns its payload. key returns the key that the
// flags of the token mean.
func unwrap(token []byte, key func(flags byte) (types.EncryptionKey, error)) ([]byte, error) {
	if len(token) < wrapHeader || !bytes.HasPrefix(token, []byte{5, 4}) || token[3] != wrapFiller {
		return nil, errors.New("the token is not a wrap token")
	}
	flags := token[2]
	if flags&flagAcceptor == 0 {
		return nil, errors.New("the wrap token is not a server's")
	}
	if flags&flagSealed != 0 {
		return nil, errors.New("the wrap token is encrypted")
	}
	size, rotation := int(binary.BigEndian.Uint16(token[4:])), int(binary.BigEndian.Uint16(token[6:]))
	sequence, body := binary.BigEndian.Uint64(token[8:]), token[wrapHeader:]
	if size > len(body) {
		return nil, fmt.Errorf("the wrap token has %d bytes, and a checksum of %d", len(token), size)
	}
	if len(body) > 0 {
		rotation %= len(body)
		body = slices.Concat(body[rotation:], body[:rotation])
	}
	payload, sum := body[:len(body)-size], body[len(body)-size:]
	k, err := key(flags)
	if err != nil {
		return nil, err
	}
	want, err := wrapSum(k, flags, keyusage.GSSAPI_ACCEPTOR_SEAL, sequence, payload)
	if err != nil {
		return nil, err
	}
	if !hmac.Equal(want, sum) {
		return nil, errors.New("the checksum of the wrap token is wrong")
	}
	return payload, nil
}
