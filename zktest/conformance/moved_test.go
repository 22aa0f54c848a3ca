package conformance

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zkrecipes/zkrecipes/zktest"
	"github.com/zkrecipes/zkrecipes/zktest/apache"
)

// leftTimeout is the session timeout, and leftLimit bounds how long a server keeps a
// connection that its session has left: the timeout, and an interval of 10 s.
const leftTimeout, leftLimit = 4 * time.Second, 14 * time.Second

// keepsLeft reports how long the first server keeps an idle connection after its session
// has moved to the second server, and was used there.
func keepsLeft(first, second string) (time.Duration, error) {
	old, err := connect(first)
	if err != nil {
		return 0, err
	}
	defer old.Close()
	if _, err := old.handshake(connectRequest(0, 0, int32(leftTimeout.Milliseconds()), 0, make([]byte, 16), true)); err != nil {
		return 0, err
	}
	idle := time.Now()
	now, err := connect(second)
	if err != nil {
		return 0, err
	}
	defer now.Close()
	if _, err := now.handshake(connectRequest(0, 0, old.timeout, old.sid, old.passwd, true)); err != nil {
		return 0, err
	}
	for time.Since(idle) < 2*leftLimit {
		if err := now.send(body{}.int(-2).int(11)); err != nil { // a ping
			return 0, err
		}
		if _, err := now.next(); err != nil {
			return 0, err
		}
		if _, err := old.nextWithin(leftTimeout / 8); describeEnd(err) == "closed" {
			break
		}
	}
	return time.Since(idle), nil
}

// A server that never hears of the end of a connection closes it although its session
// lives on, and with it the watches.
func TestServerClosesConnectionsThatTheirSessionsHaveLeftAsApacheDoes(t *testing.T) {
	real := apache.Require(t, &apache.Options{Own: true, Servers: 3})
	s, err := zktest.Start(&zktest.Options{Servers: 3})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	require.NoError(t, s.WaitLeader(t.Context()))
	for name, servers := range map[string][]string{
		"in-process": {s.ServerAddr(1), s.ServerAddr(2)},
		"apache":     real.Servers()[:2],
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d, err := keepsLeft(servers[0], servers[1])
			require.NoError(t, err)
			t.Logf("closed after %v", d)
			require.GreaterOrEqual(t, d, leftTimeout)
			require.Less(t, d, leftLimit+3*time.Second, "and the time that the test needs")
		})
	}
}
