package session

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// network is what a client reaches: servers of a world, and addresses of the network
// 10.9.0.0/16, which drop packets, or, below 10.9.9.0, accept connections and are silent.
type network struct {
	*world

	dials atomic.Int64 // that servers of the world have accepted
	mu    sync.Mutex   // guards text, what the client has logged
	text  bytes.Buffer
}

// Write takes what the client logs.
func (n *network) Write(p []byte) (int, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.text.Write(p)
}

// unreachableLog is the warning of servers that cannot be reached.
var unreachableLog = regexp.MustCompile(`cannot be reached" servers=(\S+)`) // read only

// told is how often the client has logged of each server that it cannot be reached.
func (n *network) told() map[string]int {
	n.mu.Lock()
	defer n.mu.Unlock()
	out := map[string]int{}
	for _, line := range unreachableLog.FindAllStringSubmatch(n.text.String(), -1) {
		for server := range strings.SplitSeq(line[1], ",") {
			out[server]++
		}
	}
	return out
}

func (n *network) dial(ctx context.Context, kind, address string) (net.Conn, error) {
	switch {
	case strings.HasPrefix(address, "10.9.9."):
		conn, other := net.Pipe()
		// Nothing waits for it; ends when the client closes the connection.
		go func() {
			for buffer := make([]byte, 100); ; {
				if _, err := other.Read(buffer); err != nil {
					return
				}
			}
		}()
		return conn, nil
	case strings.HasPrefix(address, "10.9."):
		<-ctx.Done()
		return nil, ctx.Err()
	}
	if rest, ok := strings.CutPrefix(address, "10.1.0."); ok { // see inNamedNetwork
		server, err := strconv.Atoi(rest[:1])
		if err != nil {
			return nil, err
		}
		address = n.srv.ServerAddr(server)
	}
	conn, err := n.srv.Client("follower")(ctx, kind, address)
	if err == nil {
		n.dials.Add(1)
	}
	return conn, err
}

// setConfig writes a dynamic configuration of servers, in a bubble.
func (n *network) setConfig(version int, servers ...string) {
	n.Helper()
	var text strings.Builder
	for i, server := range servers {
		fmt.Fprintf(&text, "server.%d=%s:2888:3888:participant;%s\n", i+1, strings.Split(server, ":")[0], server)
	}
	fmt.Fprintf(&text, "version=%x", version)
	require.NoError(n, n.srv.Set(configPath, []byte(text.String())))
	time.Sleep(5 * time.Second)
}

// inNetwork runs body in a bubble with three servers, and a client that follows the ensemble,
// holds a znode and was given the servers of given.
func inNetwork(t *testing.T, given []int, body func(n *network, c *Client, hold *Hold)) {
	t.Helper()
	inWorld(t, &zktest.Options{Servers: 3}, nil, func(w *world) {
		n := &network{world: w}
		var list []string
		for _, i := range given {
			list = append(list, w.srv.ServerAddr(i))
		}
		c, err := Connect(w.ctx, strings.Join(list, ","), &Options{
			Dialer: n.dial, FollowEnsemble: true, Logger: slog.New(slog.NewTextHandler(n, nil)),
		})
		require.NoError(w, err)
		defer w.close(c)
		body(n, c, w.createHeld(w.session(c), "/held"))
	})
}

// A connection is kept until another server has accepted one, however long that takes.
func TestConnectionIsKeptWhileNoOtherServerCanBeReached(t *testing.T) {
	for name, configs := range map[string][][]string{
		"removed":                     {{"SELF"}, {"10.9.0.1:2181", "10.9.0.2:2181"}},
		"removed, others silent":      {{"10.9.0.1:2181", "SELF"}, {"10.9.0.1:2181"}},
		"others were added":           {{"SELF"}, {"SELF", "10.9.0.1:2181", "10.9.0.2:2181", "10.9.0.3:2181", "10.9.0.4:2181"}},
		"the first one is of others":  {{"10.9.0.1:2181", "10.9.0.2:2181"}, {"10.9.0.1:2181", "10.9.0.2:2181", "10.9.0.3:2181"}},
		"removed, and others as well": {{"SELF", "10.9.0.1:2181"}, {"10.9.0.2:2181"}, {"10.9.0.3:2181"}},
	} {
		inNetwork(t, []int{1}, func(n *network, c *Client, hold *Hold) {
			version := 0
			for _, servers := range configs {
				version++
				for i, server := range servers {
					if server == "SELF" {
						servers[i] = n.srv.ServerAddr(1)
					}
				}
				n.setConfig(version, servers...)
			}
			time.Sleep(20 * time.Minute)
			require.NoError(n, hold.Context().Err(), name)
			assert.EqualValues(n, 1, n.dials.Load(), "%s: it stays where it is", name)
			assert.Equal(n, n.srv.ServerAddr(1), c.State().Server)

			told := n.told()
			for _, servers := range configs {
				for _, server := range servers {
					if strings.HasPrefix(server, "10.9.") {
						assert.Equal(n, 1, told[server], "%s: users are told once of %s: %v", name, server, told)
					}
				}
			}

			n.setConfig(version+1, n.srv.ServerAddr(2), n.srv.ServerAddr(3))
			assert.Contains(n, []string{n.srv.ServerAddr(2), n.srv.ServerAddr(3)}, c.State().Server, "%s: it goes where it can", name)
			require.NoError(n, hold.Context().Err(), name)
		})
	}
}

// A lost connection is replaced soon, although the configuration has addresses that drop
// packets, and nothing is lost: by a server of the list, or one that has answered earlier.
func TestReconnectionBesideAddressesThatDropPackets(t *testing.T) {
	internal := []string{"10.9.0.1:2181", "10.9.0.2:2181", "10.9.0.3:2181", "10.9.0.4:2181", "10.9.0.5:2181"}
	for _, answered := range []bool{false, true} {
		given := []int{1, 2, 3}
		if answered {
			given = []int{1}
		}
		inNetwork(t, given, func(n *network, c *Client, hold *Hold) {
			if answered {
				n.setConfig(1, n.srv.ServerAddr(2), n.srv.ServerAddr(3))
				n.setConfig(2, n.srv.ServerAddr(2), n.srv.ServerAddr(3))
				require.NoError(n, n.srv.Stop(1))
				n.setConfig(3, n.srv.ServerAddr(2), n.srv.ServerAddr(3), "10.9.0.1:2181")
				n.srv.CutAll()
				time.Sleep(20 * time.Second)
			}
			n.setConfig(4, internal...)
			for range 20 {
				n.srv.CutAll()
				cut := time.Now()
				require.NoError(n, n.session(c).Sync(n.within(time.Minute), "/"))
				assert.Less(n, time.Since(cut), 1500*time.Millisecond, "answered earlier: %v", answered)
				time.Sleep(30 * time.Second)
				require.NoError(n, hold.Context().Err())
			}
			for _, server := range internal {
				assert.Equal(n, 1, n.told()[server], "%s", server)
			}
		})
	}
}

// A server that accepts connections, and is silent, costs a session that goes there a part of
// its timeout, and not again and again.
func TestServersThatAcceptConnectionsAndAreSilent(t *testing.T) {
	inNetwork(t, []int{1}, func(n *network, c *Client, hold *Hold) {
		n.setConfig(1, n.srv.ServerAddr(1))
		n.setConfig(2, "10.9.9.1:2181", "10.9.9.2:2181")
		time.Sleep(30 * time.Minute)
		require.NoError(n, hold.Context().Err())
		assert.Less(n, n.dials.Load(), int64(20))
		assert.Equal(n, Connected, c.State().Status)
	})
}

// Close ends an attempt to reach another server.
func TestCloseWhileOtherServersAreTried(t *testing.T) {
	inNetwork(t, []int{1}, func(n *network, _ *Client, _ *Hold) {
		c, err := Connect(n.ctx, n.srv.ServerAddr(2), &Options{Dialer: n.dial, FollowEnsemble: true})
		require.NoError(n, err)
		require.NoError(n, n.srv.Set(configPath, []byte("server.1=10.9.0.1:1:1;2181\nversion=1")))
		time.Sleep(100 * time.Millisecond)
		began := time.Now()
		n.close(c)
		assert.Less(n, time.Since(began), time.Second)
	})
}

// The connection is lost while another server is tried.
func TestConnectionIsLostWhileOtherServersAreTried(t *testing.T) {
	inNetwork(t, []int{1}, func(n *network, c *Client, hold *Hold) {
		n.setConfig(1, n.srv.ServerAddr(1))
		require.NoError(n, n.srv.Set(configPath, []byte("server.1=10.9.0.1:1:1;2181\nversion=2")))
		time.Sleep(100 * time.Millisecond)
		n.srv.Cut(c.State().Session)
		require.NoError(n, n.session(c).Sync(n.within(5*time.Second), "/"))
		time.Sleep(10 * time.Minute)
		require.NoError(n, hold.Context().Err())
		assert.EqualValues(n, 2, n.dials.Load())
		n.setConfig(3, n.srv.ServerAddr(3))
		assert.Equal(n, n.srv.ServerAddr(3), c.State().Server)
	})
}

func TestOrderOfServersThatMayBeUnreachable(t *testing.T) {
	list := func(text string) []string { return strings.Fields(text) }
	for _, one := range []struct{ members, given, answered, failed, want string }{
		{"a b c", "a b c", "", "", "a b c"},
		{"a b c", "a b c", "", "a", "b c a"},
		{"a b c", "x", "", "", "a x b c"},
		{"a b c", "x y", "", "", "a x b y c"},
		{"a b c", "x y", "", "a b c", "x a y b c"},
		{"a b c", "x y", "b", "a", "b c x y a"},
		{"a b", "x y", "", "x", "a y b x"},
		{"a b", "b x", "", "", "b a x"},
		{"a b", "x", "y", "a b", "x a y b"},
		{"a b", "x", "a y", "b", "a x b"},
	} {
		r := newReachability()
		for _, server := range list(one.answered) {
			r.setAnswered(server)
		}
		for _, server := range list(one.failed) {
			r.setFailed(server)
		}
		assert.Equal(t, one.want, strings.Join(r.order(list(one.members), list(one.given)), " "), "%+v", one)
	}
	r := newReachability()
	r.setFailed("a")
	assert.Equal(t, []string{"a", "b"}, r.untold([]string{"a", "b"}))
	assert.Empty(t, r.untold([]string{"a", "b"}))
	r.setAnswered("a")
	assert.Equal(t, []string{"a"}, r.untold([]string{"a", "b"}))
}

// Servers that have other names in the list given to Connect are tried once in a round.
func TestServersOfTheListAndTheConfigurationAreTriedOnce(t *testing.T) {
	book := newAddressBook(t.Context(), func(context.Context, string) ([]string, error) { return []string{"10.0.0.1", "10.0.0.2"}, nil })
	resolve := func(servers []string) []target { return book.targets(context.Background(), servers, time.Second) }
	e := ensemble{followed: true, given: []string{"zk:2181"}, servers: []string{"10.0.0.1:2181", "10.0.0.2:2181", "10.0.0.3:2181"}}
	r := newRotation(e, newReachability(), resolve, func() bool { return false }, nil)
	for range 20 {
		assert.ElementsMatch(t, e.servers, r.nextRound())
	}
}

// inNamedNetwork runs body in a bubble with three servers, of which server i has the address
// 10.1.0.i and every name that ends with i. A client that was given another name of server 1
// follows the ensemble of zk1, zk2 and zk3. The name server answers while up is true.
func inNamedNetwork(t *testing.T, body func(n *network, c *Client, up *atomic.Bool)) {
	t.Helper()
	inWorld(t, &zktest.Options{Servers: 3}, nil, func(w *world) {
		n := &network{world: w}
		var up atomic.Bool
		up.Store(true)
		c, err := Connect(w.ctx, "example1:2181", &Options{
			FollowEnsemble: true, Dialer: n.dial,
			Resolver: func(_ context.Context, host string) ([]string, error) {
				if !up.Load() {
					return nil, errors.New("the name server is away")
				}
				return []string{"10.1.0." + host[len(host)-1:]}, nil
			},
		})
		require.NoError(w, err)
		defer w.close(c)
		n.setConfig(1, "zk1:2181", "zk2:2181", "zk3:2181")
		body(n, c, &up)
		require.NoError(w, w.session(c).Err())
	})
}

// A client that cannot tell whether its server is in the configuration stays where it is, until
// it can tell.
func TestConfigurationOfNamesWhileTheNameServerIsAway(t *testing.T) {
	for name, one := range map[string]struct {
		next    []string
		removed bool
		knows   bool
	}{
		"by another name":                {next: []string{"new1:2181", "new2:2181", "new3:2181"}},
		"by another name, without it":    {next: []string{"new2:2181", "new3:2181"}, removed: true},
		"by the same names":              {next: []string{"zk1:2181", "zk3:2181"}, knows: true},
		"by the same names, without it":  {next: []string{"zk2:2181", "zk3:2181"}, removed: true, knows: true},
		"by its address":                 {next: []string{"10.1.0.1:2181", "new3:2181"}, knows: true},
		"by other addresses, without it": {next: []string{"10.1.0.2:2181", "10.1.0.3:2181"}, removed: true, knows: true},
	} {
		inNamedNetwork(t, func(n *network, c *Client, up *atomic.Bool) {
			hold := n.createHeld(n.session(c), "/held")
			since := c.State().Since
			up.Store(false)
			n.setConfig(2, one.next...)
			time.Sleep(10 * time.Minute)
			assert.Equal(n, one.removed && one.knows, c.State().Server != "example1:2181", name)
			up.Store(true)
			time.Sleep(longestAway + time.Minute)
			assert.Equal(n, one.removed, c.State().Server != "example1:2181", "%s: it can tell now", name)
			if one.removed {
				assert.Contains(n, one.next, c.State().Server, name)
			} else {
				assert.Equal(n, since, c.State().Since, "%s: it has never moved", name)
			}
			require.NoError(n, hold.Context().Err(), name)
		})
	}
}

// A dialer that resolves names itself tells by the connection which server it has found.
func TestServerIsKnownByTheRemoteAddress(t *testing.T) {
	inWorld(t, &zktest.Options{Servers: 3}, nil, func(w *world) {
		n := &network{world: w}
		c, err := Connect(w.ctx, "somewhere:2181", &Options{
			FollowEnsemble: true,
			Dialer: func(ctx context.Context, kind, address string) (net.Conn, error) {
				if address == "somewhere:2181" {
					address = w.srv.ServerAddr(1)
				}
				return n.dial(ctx, kind, address)
			},
		})
		require.NoError(w, err)
		defer w.close(c)
		n.setConfig(1, w.srv.ServerAddr(1), w.srv.ServerAddr(2), w.srv.ServerAddr(3))
		n.setConfig(2, w.srv.ServerAddr(1), w.srv.ServerAddr(3))
		assert.Equal(w, "somewhere:2181", c.State().Server, "it is one of them")
		n.setConfig(3, w.srv.ServerAddr(3))
		assert.Equal(w, w.srv.ServerAddr(3), c.State().Server, "it was one of them")
	})
}

// The servers' names have no address that the client could know: a proxy resolves them.
func TestClientBehindAProxyStaysUnlessItsServerWasRemovedByName(t *testing.T) {
	inWorld(t, &zktest.Options{Servers: 3}, nil, func(w *world) {
		n := &network{world: w}
		c, err := Connect(w.ctx, "proxied1:2181", &Options{
			FollowEnsemble: true,
			Dialer: func(ctx context.Context, kind, address string) (net.Conn, error) {
				host, _, _ := strings.Cut(address, ":")
				conn, err := n.dial(ctx, kind, "10.1.0."+host[len(host)-1:]+":2181")
				return proxied{conn}, err
			},
		})
		require.NoError(w, err)
		defer w.close(c)
		n.setConfig(1, "zk1:2181", "zk2:2181", "zk3:2181")
		n.setConfig(2, "zk2:2181", "zk3:2181")
		time.Sleep(10 * time.Minute)
		assert.Equal(w, "proxied1:2181", c.State().Server, "it cannot tell")
		n.srv.CutAll()
		time.Sleep(time.Minute)
		if at := c.State().Server; at == "zk2:2181" {
			n.setConfig(3, "zk3:2181")
		} else {
			n.setConfig(3, "zk2:2181")
		}
		assert.Equal(w, c.Servers()[0], c.State().Server, "the name has gone")
	})
}

// proxied is a connection whose remote address is that of a proxy.
type proxied struct{ net.Conn }

func (proxied) RemoteAddr() net.Addr { return nil }
