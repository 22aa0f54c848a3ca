package conformance

import (
	"fmt"
	"io"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/zkrecipes/zkrecipes/zktest"
	"github.com/zkrecipes/zkrecipes/zktest/apache"
)

// quorumBreaker is an ensemble of three of which the servers 1 and 2, counted from 0, are
// stopped and started.
type quorumBreaker struct {
	first       string // the address of server 0
	stop, start func(t *testing.T, server int)
}

// readOnlyScript returns what a client sees of server 0 before, while and after it has no
// quorum.
func readOnlyScript(t *testing.T, e quorumBreaker) (lines []string) {
	log := func(format string, args ...any) { lines = append(lines, fmt.Sprintf(format, args...)) }
	// greet logs how the server answers a handshake.
	greet := func(what string, sid int64, passwd []byte, zxid int64, readOnly bool) *wire {
		w, err := connect(e.first)
		require.NoError(t, err)
		t.Cleanup(func() { _ = w.Close() })
		r, err := w.handshake(connectRequest(0, zxid, 10000, sid, passwd, false).bool(readOnly))
		switch {
		case err != nil:
			log("%s: %s", what, describeEnd(err))
		case w.sid == 0:
			log("%s: refused, read-only %v", what, r.bool())
		default:
			log("%s: session, the one asked for %v, read-only %v", what, w.sid == sid, r.bool())
		}
		return w
	}
	do := func(w *wire, what string, op int32, b body) {
		require.NoError(t, w.send(append(body{}.int(7).int(op), b...)))
		f, err := w.next()
		if err != nil {
			log("%s: %s", what, describeEnd(err))
			return
		}
		log("%s: xid %d, code %d", what, f.xid, f.err)
	}
	nobody := make([]byte, 16)
	all := []acl{{31, "world", "anyone"}}

	former := greet("with a quorum", 0, nobody, 0, true)
	do(former, "create", 1, body{}.str("/a").data([]byte("x")).acl(all).int(0))
	do(former, "create an ephemeral znode", 1, body{}.str("/e").data(nil).acl(all).int(1))
	e.stop(t, 1)
	e.stop(t, 2)
	require.Eventually(t, func() bool { return word(e.first, "isro") == "ro" }, time.Minute, 50*time.Millisecond)

	greet("a client that writes", 0, nobody, 0, false)
	greet("a session of the ensemble that writes", former.sid, former.passwd, 0, false)
	greet("a session of the ensemble", former.sid, former.passwd, 0, true)
	greet("a session that does not exist", 0x1234, nobody, 0, true)
	greet("a client that knows more", 0, nobody, 1<<60, true)
	w := greet("a client that reads", 0, nobody, 0, true)
	do(w, "get", 4, body{}.str("/a").bool(true))
	do(w, "exists", 3, body{}.str("/e").bool(false))
	do(w, "children", 12, body{}.str("/").bool(true))
	do(w, "sync", 9, body{}.str("/"))
	do(w, "set", 5, body{}.str("/a").data([]byte("y")).int(-1))
	do(w, "create", 1, body{}.str("/b").data(nil).acl(all).int(0))
	do(w, "create2", 15, body{}.str("/b").data(nil).acl(all).int(0))
	do(w, "delete", 2, body{}.str("/a").int(-1))
	do(w, "multi", 14, body{}.int(13).bool(false).int(-1).str("/").int(-1).int(-1).bool(true).int(-1))
	do(w, "add a watch", 106, body{}.str("/w").int(1))
	do(w, "set watches", 105, body{}.long(0).int(0).int(0).int(0).int(0).int(0))
	do(w, "remove watches", 18, body{}.str("/w").int(3))
	do(w, "multiRead", 22, body{}.int(4).bool(false).int(-1).str("/a").bool(false).int(-1).bool(true).int(-1))
	do(w, "ping", 11, nil)
	w2 := greet("the same session on another connection", w.sid, w.passwd, 0, true)
	_, err := w.nextWithin(patience)
	log("the first connection: %s", describeEnd(err))
	do(w2, "close", -11, nil)
	_, err = w2.nextWithin(patience)
	log("then: %s", describeEnd(err))
	greet("a session that was closed", w.sid, w.passwd, 0, true)
	last := greet("another client that reads", 0, nobody, 0, true)

	e.start(t, 1)
	_, err = last.nextWithin(30 * time.Second)
	log("with a quorum again: %s", describeEnd(err))
	require.Eventually(t, func() bool { return word(e.first, "isro") == "rw" }, time.Minute, 50*time.Millisecond)
	greet("the session for reads", last.sid, last.passwd, 0, true)
	now := greet("the session of the ensemble", former.sid, former.passwd, 0, false)
	do(now, "exists", 3, body{}.str("/e").bool(false))
	return lines
}

// word is the server's answer to a four-letter word; "" if there is none.
func word(addr, what string) string {
	conn, err := net.DialTimeout("tcp", addr, patience)
	if err != nil {
		return ""
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(patience))
	_, _ = conn.Write([]byte(what))
	answer, _ := io.ReadAll(conn)
	return string(answer)
}

// A server without a quorum carries out the reads of clients that ask for such a server.
func TestServersWithoutAQuorumReadAsApacheDoes(t *testing.T) {
	real := apache.Require(t, &apache.Options{
		Own: true, Servers: 3, Properties: map[string]string{"readonlymode.enabled": "true"},
		Config: map[string]string{"localSessionsEnabled": "true", "localSessionsUpgradingEnabled": "true"},
	})
	s, err := zktest.Start(&zktest.Options{Servers: 3, ReadOnly: true, TickTime: 200 * time.Millisecond, MaxSessionTimeout: time.Minute})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	require.NoError(t, s.WaitLeader(t.Context()))
	ours := readOnlyScript(t, quorumBreaker{
		first: s.ServerAddr(1),
		stop:  func(t *testing.T, i int) { require.NoError(t, s.Stop(i+1)) },
		start: func(t *testing.T, i int) { require.NoError(t, s.Restart(i+1)) },
	})
	theirs := readOnlyScript(t, quorumBreaker{
		first: real.Servers()[0],
		stop:  func(t *testing.T, i int) { require.NoError(t, real.Kill(t.Context(), i)) },
		start: func(t *testing.T, i int) { require.NoError(t, real.Restart(t.Context(), i)) },
	})
	for _, line := range theirs {
		t.Log(line)
	}
	assert.Equal(t, theirs, ours)
}
