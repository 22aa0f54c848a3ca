package kerberos

import (
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"github.com/jcmturner/gokrb5/v8/messages"
	"github.com/jcmturner/gokrb5/v8/types"
)

// The versions of a credential cache, as its first two bytes. All numbers are big endian. The
// format is that of MIT Kerberos (doc/formats/ccache_file_format); it is read here because
// gokrb5 allocates as much as a damaged file claims to have.
const (
	cacheVersion3 = 0x0503
	cacheVersion4 = 0x0504
)

// cacheReader reads a credential cache. After the end of the data, all values are empty.
type cacheReader struct {
	data  []byte
	short bool
}

func (r *cacheReader) bytes(n uint64) []byte {
	if n > uint64(len(r.data)) {
		r.data, r.short = nil, true
		return nil
	}
	out := r.data[:n]
	r.data = r.data[n:]
	return out
}

// number reads an integer of n bytes.
func (r *cacheReader) number(n uint64) uint32 {
	var wide [4]byte
	copy(wide[4-n:], r.bytes(n))
	return binary.BigEndian.Uint32(wide[:])
}

func (r *cacheReader) text() string { return string(r.bytes(uint64(r.number(4)))) }

func (r *cacheReader) time() time.Time { return time.Unix(int64(r.number(4)), 0) }

func (r *cacheReader) principal() principal {
	p := principal{name: types.PrincipalName{NameType: int32(r.number(4))}}
	n := r.number(4)
	p.realm = r.text()
	for ; n > 0 && !r.short; n-- {
		p.name.NameString = append(p.name.NameString, r.text())
	}
	return p
}

// skipList skips a list of addresses or of authorization data.
func (r *cacheReader) skipList() {
	for n := r.number(4); n > 0 && !r.short; n-- {
		r.number(2)
		r.text()
	}
}

// credential reads a ticket, and its server.
func (r *cacheReader) credential(version uint32) (server principal, out *ticket, encoded []byte) {
	out = &ticket{client: r.principal()}
	server = r.principal()
	out.key.KeyType = int32(r.number(2))
	if version == cacheVersion3 { // the type occurs twice
		r.number(2)
	}
	out.key.KeyValue = []byte(r.text())
	issued, begin := r.time(), r.time()
	out.begin, out.end = begin, r.time()
	if begin.Unix() == 0 {
		out.begin = issued
	}
	r.bytes(4 + 1 + 4) // until when it can be renewed, whether it is of another user, flags
	r.skipList()
	r.skipList()
	encoded = []byte(r.text())
	r.text() // a second ticket
	return server, out, encoded
}

// parseCache finds the ticket-granting ticket of the client that a credential cache is of.
func parseCache(data []byte) (*ticket, error) {
	r := &cacheReader{data: data}
	version := r.number(2)
	switch version {
	case cacheVersion3:
	case cacheVersion4:
		r.bytes(uint64(r.number(2))) // header
	default:
		return nil, errors.New("it is not a credential cache of version 3 or 4")
	}
	client := r.principal()
	for len(r.data) > 0 {
		server, t, encoded := r.credential(version)
		if r.short || server.realm != client.realm || !server.name.Equal(ticketGranting(client.realm)) || !t.client.equal(client) {
			continue
		}
		if err := guard("the ticket", func() error {
			var message messages.Ticket
			err := message.Unmarshal(encoded)
			t.message = message
			return err
		}); err != nil {
			return nil, err
		}
		if grantedRealm(t.message.SName) == "" {
			return nil, errors.New("its ticket is not a ticket-granting ticket")
		}
		return t, nil
	}
	if r.short {
		return nil, errors.New("it is damaged: it ends in the middle of an entry")
	}
	return nil, fmt.Errorf("it has no ticket-granting ticket of %s", client)
}
