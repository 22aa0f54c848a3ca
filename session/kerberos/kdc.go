package kerberos

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jcmturner/gokrb5/v8/config"
	"github.com/jcmturner/gokrb5/v8/iana/errorcode"
	"github.com/jcmturner/gokrb5/v8/messages"
)

const (
	// attemptTimeout bounds an attempt to reach a KDC, also without a deadline of the call.
	attemptTimeout = 5 * time.Second
	// maxReply is the longest reply accepted from a KDC. Tickets with the groups of Active
	// Directory have up to 64 KiB.
	maxReply = 1 << 20
	maxUDP   = 1 << 16
)

// place is one way to reach a KDC.
type place struct{ network, address string }

// send sends a request to the KDCs of a realm, one after the other: by TCP, and then by UDP,
// for KDCs that serve no TCP. An error of a KDC is a messages.KRBError.
//
// gokrb5's own client is not used: it has no contexts, waits 5 s for each step, allocates what
// a KDC claims to send, and leaves a goroutine for each ticket.
func (l *Login) send(ctx context.Context, cfg *config.Config, realm string, request []byte) ([]byte, error) {
	places, err := l.findKDCs(ctx, cfg, realm)
	if err != nil {
		return nil, err
	}
	var failures []string
	for i, at := range places {
		reply, err := attempt(ctx, at, len(places)-i, request)
		var e messages.KRBError
		if err == nil {
			if err = replyError(reply); !errors.As(err, &e) || e.ErrorCode != errorcode.KDC_ERR_SVC_UNAVAILABLE && e.ErrorCode != errorcode.KRB_ERR_RESPONSE_TOO_BIG {
				l.preferKDC(realm, at)
				return reply, err
			}
		}
		failures = append(failures, err.Error())
		if ctx.Err() != nil {
			break
		}
	}
	return nil, fmt.Errorf("%w: realm %s: %s", ErrKDCUnreachable, realm, strings.Join(failures, "; "))
}

// replyError is the error that a reply of a KDC is, or nil.
func replyError(reply []byte) error {
	var e messages.KRBError
	if err := guard("the reply of the KDC", func() error { return e.Unmarshal(reply) }); err == nil {
		return e
	}
	return nil
}

// findKDCs are the ways to the KDCs of a realm, beginning with the one that answered last.
func (l *Login) findKDCs(ctx context.Context, cfg *config.Config, realm string) ([]place, error) {
	var tcp, udp []place
	for _, r := range cfg.Realms {
		if r.Realm != realm {
			continue
		}
		for _, address := range r.KDC {
			tcp, udp = append(tcp, place{"tcp", address}), append(udp, place{"udp", address})
		}
	}
	if len(tcp) == 0 && cfg.LibDefaults.DNSLookupKDC {
		tcp = lookUpKDCs(ctx, "tcp", realm)
		if udp = lookUpKDCs(ctx, "udp", realm); len(tcp)+len(udp) == 0 && ctx.Err() != nil {
			return nil, fmt.Errorf("%w: look up the KDCs of realm %s in the DNS: %w", ErrKDCUnreachable, realm, ctx.Err())
		}
	}
	out := slices.Concat(tcp, udp)
	if len(out) == 0 {
		return nil, fmt.Errorf("%w: realm %s has no KDC in krb5.conf, and none in the DNS: add kdc = HOST to the section realms", ErrConfig, realm)
	}
	l.mu.Lock()
	last, known := l.kdcs[realm]
	l.mu.Unlock()
	if at := slices.Index(out, last); known && at > 0 {
		out = slices.Insert(slices.Delete(out, at, at+1), 0, last)
	}
	return out, nil
}

// preferKDC tries a KDC first from now on.
func (l *Login) preferKDC(realm string, at place) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.kdcs[realm] = at
}

func lookUpKDCs(ctx context.Context, network, realm string) (out []place) {
	ctx, cancel := limit(ctx, 3)
	defer cancel()
	_, records, _ := net.DefaultResolver.LookupSRV(ctx, "kerberos", network, realm) // the caller counts the results
	for _, r := range records {
		out = append(out, place{network, net.JoinHostPort(strings.TrimSuffix(r.Target, "."), strconv.Itoa(int(r.Port)))})
	}
	return out
}

// limit gives the next of n steps its share of the time that ctx has left.
func limit(ctx context.Context, n int) (context.Context, context.CancelFunc) {
	share := attemptTimeout
	if end, ok := ctx.Deadline(); ok {
		share = min(share, time.Until(end)/time.Duration(n))
	}
	return context.WithTimeout(ctx, share)
}

// attempt sends a request by the first of n ways that are left.
func attempt(ctx context.Context, at place, n int, request []byte) ([]byte, error) {
	ctx, cancel := limit(ctx, n)
	defer cancel()
	conn, err := (&net.Dialer{}).DialContext(ctx, at.network, at.address)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	// Ends a read or write in progress when ctx ends.
	defer context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })()
	reply, err := exchange(conn, at.network, request)
	if err != nil {
		return nil, fmt.Errorf("KDC %s by %s: %w", at.address, at.network, err)
	}
	return reply, nil
}

// exchange sends a request on a connection, and reads the reply.
func exchange(conn io.ReadWriter, network string, request []byte) ([]byte, error) {
	if network == "udp" {
		if _, err := conn.Write(request); err != nil {
			return nil, err
		}
		reply := make([]byte, maxUDP)
		n, err := conn.Read(reply)
		return reply[:n], err
	}
	if _, err := conn.Write(append(binary.BigEndian.AppendUint32(nil, uint32(len(request))), request...)); err != nil {
		return nil, err
	}
	var size [4]byte
	if _, err := io.ReadFull(conn, size[:]); err != nil {
		return nil, err
	}
	n := binary.BigEndian.Uint32(size[:])
	if n == 0 || n > maxReply {
		return nil, fmt.Errorf("the reply has %d bytes; at most %d are accepted", n, maxReply)
	}
	reply := make([]byte, n)
	_, err := io.ReadFull(conn, reply)
	return reply, err
}
