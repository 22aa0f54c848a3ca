package main

import (
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/zktest/apache"
)

// fakeClock is the library that gives a process another time, of the package libfaketime.
const fakeClock = "/usr/lib/*/faketime/libfaketime.so.1"

// A server whose clock is three hours late: what happens there looks three hours old, such as
// a queue. Not parallel: the environment is that of all processes.
func TestDoctorFindsAClockThatDiffersOnApache(t *testing.T) {
	libraries, err := filepath.Glob(fakeClock)
	require.NoError(t, err)
	if len(libraries) == 0 && os.Getenv(apache.EnvRequire) != "1" {
		t.Skip("no " + fakeClock + ": install the package libfaketime")
	}
	require.NotEmpty(t, libraries, "install the package libfaketime")
	t.Setenv("FAKETIME", "-3h")
	t.Setenv("DONT_FAKE_MONOTONIC", "1")
	t.Setenv("LD_PRELOAD", libraries[0])
	port := freePort(t)
	a := newAiling(t, &apache.Options{Mode: apache.Jars, Config: map[string]string{"admin.enableServer": "true", "admin.serverPort": port}})
	a.finds([]string{"--no-write", "--admin-port", port}, "clock.differs")
	s := a.session()
	require.NoError(t, s.EnsurePath(t.Context(), "/app/lock", session.Persistent, nil))
	var waiter session.Node
	for range 2 {
		waiter, err = s.Create(t.Context(), "/app/lock/_c_a1f57cc2-d3b5-4f7c-834f-d58f352ba82f-lock-", nil, session.EphemeralSequential, nil)
		require.NoError(t, err)
	}
	a.finds([]string{"/app"}, "clock.differs", "queue.still")
	require.NoError(t, os.Unsetenv("LD_PRELOAD"))
	require.NoError(t, a.cluster.Restart(t.Context(), 0))
	eventually(t, func() bool {
		d, _ := tryToDiagnose(t, a.cluster.Connect(), "/app")
		return d != nil && d.RoundTrip != nil && len(d.where("clock.differs")) == 0
	}, "the clock is right")
	assert.Equal(t, []string{"/app/lock"}, diagnose(t, a.cluster.Connect(), "/app", "--no-write").where("queue.still"))
	require.NoError(t, a.session().Delete(t.Context(), waiter.Path, -1))
	a.isHealed("queue.still")
}

// A server of another release joins for a while. Without ZKTEST_NEXT_HOME it is of the same
// release, and there is no finding.
func TestDoctorFindsServersOfTwoVersionsOnApache(t *testing.T) {
	t.Parallel()
	a := newAiling(t, &apache.Options{Servers: 3, Mode: apache.Jars})
	a.isHealed("ensemble.versions")
	follower := (a.leader() + 1) % 3
	next := os.Getenv(apache.EnvNext)
	require.NoError(t, a.cluster.UseRelease(t.Context(), next))
	require.NoError(t, a.cluster.Restart(t.Context(), follower))
	if next != "" {
		a.finds(withoutWrites, "ensemble.versions")
	}
	require.NoError(t, a.cluster.UseRelease(t.Context(), ""))
	require.NoError(t, a.cluster.Restart(t.Context(), follower))
	a.isHealed("ensemble.versions")
}

// Sessions that are shorter than the time after which a server notices that it has lost the
// others; with others, there is no such finding.
func TestDoctorFindsALongSyncLimitOnApache(t *testing.T) {
	t.Parallel()
	a := newAiling(t, &apache.Options{Servers: 3, SyncLimit: 20}) // 40 s
	args := append([]string{"--session-timeout", "40s"}, withoutWrites...)
	short, err := session.Connect(t.Context(), a.cluster.Connect(), &session.Options{Timeout: 39 * time.Second})
	require.NoError(t, err)
	a.finds(args, "timeout.sync-limit")
	require.NoError(t, short.Close(t.Context()))
	eventually(t, func() bool {
		d, _ := tryToDiagnose(t, a.cluster.Connect(), args...)
		return d != nil && len(d.where("timeout.sync-limit")) == 0
	}, "all sessions are as long")
}

// Behind a relay that lets in no connection after the second, a cut connection costs the lock.
func TestDoctorFindsALockThatAFailoverCostsOnApache(t *testing.T) {
	t.Parallel()
	a := newAiling(t, &apache.Options{})
	var closed atomic.Bool
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	var relaying sync.WaitGroup
	t.Cleanup(func() { _ = l.Close(); relaying.Wait() })
	// Waited for above; ends with the listener.
	relaying.Go(func() {
		for n := 1; ; n++ {
			c, err := l.Accept()
			if err != nil {
				return
			}
			if n > 2 && closed.Load() {
				_ = c.Close()
				continue
			}
			// Waited for above; ends with the connection, which zkr closes.
			relaying.Go(func() { relay(c, a.cluster.Servers()[0]) })
		}
	})
	closed.Store(true)
	args := []string{"--failover", "--connect-timeout", "5s", "--session-timeout", (3 * apacheTick).String()}
	d := diagnose(t, l.Addr().String(), args...)
	assert.Len(t, d.where("failover.lost"), 1)
	require.NotNil(t, d.Failover)
	assert.False(t, d.Failover.Kept)
	closed.Store(false)
	d = diagnose(t, l.Addr().String(), args...)
	assert.Empty(t, d.where("failover.lost"))
	require.NotNil(t, d.Failover)
	assert.True(t, d.Failover.Kept)
}

// More than a million watches on znodes that do not exist: 80,000 of each of 13 clients, in one request, as a client that
// reconnects sends them.
func TestDoctorFindsTooManyWatchesOnApache(t *testing.T) {
	t.Parallel()
	cluster := apache.Require(t, &apache.Options{Own: true, Heap: 512, TickTime: apacheTick})
	a := &ailing{T: t, cluster: cluster}
	a.isHealed("server.watches", "server.watch-leak")
	var paths []byte
	const each = 80000
	for i := range each {
		paths = appendText(paths, fmt.Sprintf("/%x", i))
	}
	var all []net.Conn
	for range 13 {
		c, err := net.Dial("tcp", cluster.Servers()[0])
		require.NoError(t, err)
		defer func() { _ = c.Close() }()
		all = append(all, c)
		hello := binary.BigEndian.AppendUint32(make([]byte, 12), uint32(longest.Milliseconds())) // version, zxid
		hello = append(hello, make([]byte, 8)...)                                                // session
		hello = append(appendText(hello, string(make([]byte, 16))), 0)                           // password, not read-only
		exchange(t, c, hello)
		const xid, setWatches = 0xfffffff8, 101
		request := binary.BigEndian.AppendUint32(nil, xid)
		request = binary.BigEndian.AppendUint32(request, setWatches)
		request = append(request, make([]byte, 8+4)...) // zxid, no watches of data
		request = binary.BigEndian.AppendUint32(request, each)
		request = append(request, paths...)
		exchange(t, c, append(request, make([]byte, 4)...))
	}
	a.finds(withoutWrites, "server.watches", "server.watch-leak")
	for _, c := range all {
		require.NoError(t, c.Close())
	}
	a.isHealed("server.watches", "server.watch-leak")
}

func appendText(to []byte, text string) []byte {
	return append(binary.BigEndian.AppendUint32(to, uint32(len(text))), text...)
}

// exchange sends a frame, and waits for one.
func exchange(t *testing.T, c net.Conn, frame []byte) {
	t.Helper()
	require.NoError(t, c.SetDeadline(time.Now().Add(limit)))
	_, err := c.Write(appendText(nil, string(frame)))
	require.NoError(t, err)
	head := make([]byte, 4)
	_, err = io.ReadFull(c, head)
	require.NoError(t, err)
	_, err = io.CopyN(io.Discard, c, int64(binary.BigEndian.Uint32(head)))
	require.NoError(t, err)
}
