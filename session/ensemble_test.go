package session

import (
	"context"
	"fmt"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/zktest"
)

func TestParseEnsemble(t *testing.T) {
	for text, want := range map[string][]string{
		"server.1=2001:db8:0:0:0:0:0:1:2888:3888;0.0.0.0:2181\nversion=a":                    {"[2001:db8::1]:2181"},
		"server.1=A:2888:3888;2181;2281\nserver.2=a:1:2;a:2181\nversion=a":                   {"a:2181"},
		"server.1=10.0.0.1:2888:3888:participant;10.0.0.9:2181\nversion=a":                   {"10.0.0.9:2181"},
		"server.2=b:2888:3888;2182\nserver.1=a:2888:3888:observer;0.0.0.0:2181\nversion=a\n": {"a:2181", "b:2182"},
		"server.1=[fd00::1]:2888:3888;[::]:2181\nversion=a":                                  {"[fd00::1]:2181"},
		"server.1=a:2888:3888|b:2889:3889;0.0.0.0:2181\r\nversion=a":                         {"a:2181"},
	} {
		got, err := parseEnsemble([]byte(text))
		require.NoError(t, err, text)
		assert.Equal(t, want, got.servers, text)
		assert.EqualValues(t, 10, got.version)
	}
	for text, want := range map[string]string{
		"server.1=0.0.0.0:2888:3888;2181":   "server.1: .*no host",
		"":                                  "no server",
		"version=0":                         "no server",
		"version=x\nserver.1=a:1:2;3":       "hexadecimal",
		"server.1=a:2888:3888\nversion=a":   "server.1: .* no address for clients",
		"server.7=a:2888:3888:participant;": "server.7: .* no address for clients",
		"server.1=a:2888:3888;0.0.0.0:x\nversion=1": "server.1: .*port",
		"server.1=:2888:3888;2181":                  "server.1: .*no host",
		"server.1=a:2888:3888;1:2:3":                "server.1",
	} {
		_, err := parseEnsemble([]byte(text))
		require.Error(t, err, text)
		assert.Regexp(t, want, err.Error(), text)
	}
}

// After a move, all servers have the same number of clients.
func TestMoveBetweenEnsembles(t *testing.T) {
	of := func(servers ...string) ensemble { return ensemble{servers: servers} }
	three, five := of("a:1", "b:1", "c:1"), of("a:1", "b:1", "c:1", "d:1", "e:1")
	for name, one := range map[string]struct {
		former, next ensemble
		at           string
		chance       float64
		first        []string
		why          error
	}{
		"two of five are new":         {three, five, "a:1", 0.39, []string{"d:1", "e:1"}, errServersAdded},
		"the others stay":             {three, five, "a:1", 0.41, nil, nil},
		"its server stays":            {five, three, "a:1", 0, nil, nil},
		"its server was removed":      {five, three, "", 0.99, []string{"a:1", "b:1", "c:1"}, errServerRemoved},
		"its server was replaced":     {three, of("a:1", "b:1", "d:1"), "", 0, []string{"d:1"}, errServerRemoved},
		"another server was replaced": {three, of("a:1", "b:1", "d:1"), "a:1", 0, nil, nil},
		"it was replaced by two":      {three, of("a:1", "b:1", "d:1", "e:1"), "", 0.9, []string{"d:1", "e:1"}, errServerRemoved},
		"three became one":            {five, of("a:1", "b:1", "x:1"), "", 0.44, []string{"a:1", "b:1"}, errServerRemoved},
		"and the rest goes there":     {five, of("a:1", "b:1", "x:1"), "", 0.45, []string{"x:1"}, errServerRemoved},
	} {
		first, why := one.former.move(one.next, one.at, one.chance)
		assert.Equal(t, one.why, why, name)
		assert.Equal(t, one.first, first, name)
	}
}

// setEnsemble writes a dynamic configuration of some of the servers, in a bubble.
func (w *world) setEnsemble(version int, servers ...int) {
	w.Helper()
	var text strings.Builder
	for _, i := range servers {
		host, port, _ := strings.Cut(w.srv.ServerAddr(i), ":")
		fmt.Fprintf(&text, "server.%d=%s:2888:3888:participant;0.0.0.0:%s\n", i, host, port)
	}
	fmt.Fprintf(&text, "version=%x", version)
	require.NoError(w, w.srv.Set(configPath, []byte(text.String())))
	time.Sleep(firstAway + time.Second) // a server that does not know the newest state refuses the session
}

// inEnsemble runs body in a bubble with three servers, and a client that was given the first
// one and follows the ensemble.
func inEnsemble(t *testing.T, body func(w *world, c *Client)) {
	t.Helper()
	inWorld(t, &zktest.Options{Servers: 3}, nil, func(w *world) {
		c, err := Connect(w.ctx, w.srv.ServerAddr(1)+"/below", &Options{Dialer: w.srv.Client("follower"), FollowEnsemble: true})
		require.NoError(w, err)
		defer w.close(c)
		body(w, c)
	})
}

// A session moves, with all that it holds, and is never lost.
func TestSessionFollowsTheEnsemble(t *testing.T) {
	inEnsemble(t, func(w *world, c *Client) {
		require.NoError(w, w.srv.Create("/below", nil))
		s, err := c.Session(w.ctx)
		require.NoError(w, err)
		node, err := s.Create(w.ctx, "/held", nil, Ephemeral, nil)
		require.NoError(w, err)
		hold, err := s.Hold(w.ctx, node.Path, nil)
		require.NoError(w, err)
		assert.Equal(w, []string{w.srv.ServerAddr(1)}, c.Servers())

		w.setEnsemble(1, 1)
		w.setEnsemble(2, 2, 3)
		assert.Equal(w, []string{w.srv.ServerAddr(2), w.srv.ServerAddr(3)}, c.Servers())
		assert.NotEqual(w, w.srv.ServerAddr(1), c.State().Server, "its server was removed")
		w.setEnsemble(3, 1)
		assert.Equal(w, w.srv.ServerAddr(1), c.State().Server)
		w.setEnsemble(2, 2, 3) // as from a backup: it is used, but not worth a connection
		assert.Equal(w, w.srv.ServerAddr(1), c.State().Server)
		assert.Equal(w, []string{w.srv.ServerAddr(2), w.srv.ServerAddr(3)}, c.Servers())
		require.NoError(w, hold.Context().Err())
		require.NoError(w, s.Err())
	})
}

// The next session, too, uses the servers of the ensemble, and those that were given when no
// other can be reached.
func TestNextSessionUsesTheServersOfTheEnsemble(t *testing.T) {
	inEnsemble(t, func(w *world, c *Client) {
		s, err := c.Session(w.ctx)
		require.NoError(w, err)
		w.setEnsemble(1, 2, 3)
		require.NoError(w, w.srv.Stop(1))
		require.NoError(w, w.srv.ExpireSession(s.ID()))
		<-s.Context().Done()
		next, err := c.Session(w.within(time.Minute))
		require.NoError(w, err)
		assert.Contains(w, []string{w.srv.ServerAddr(2), w.srv.ServerAddr(3)}, c.State().Server)

		require.NoError(w, w.srv.Restart(1))
		time.Sleep(time.Minute)
		w.srv.BlackHole(zktest.Link{Client: "follower", Server: 2}, zktest.Both)
		w.srv.BlackHole(zktest.Link{Client: "follower", Server: 3}, zktest.Both)
		time.Sleep(time.Minute)
		last, err := c.Session(w.within(time.Minute))
		require.NoError(w, err)
		require.NoError(w, last.Sync(w.within(time.Minute), "/"))
		assert.Equal(w, w.srv.ServerAddr(1), c.State().Server)
		_ = next
	})
}

// Some of many clients go to a server that was added.
func TestClientsSpreadOverAddedServers(t *testing.T) {
	inWorld(t, &zktest.Options{Servers: 3}, nil, func(w *world) {
		w.setEnsemble(1, 1)
		at := map[string]int{}
		var clients []*Client
		for range 60 {
			c, err := Connect(w.ctx, w.srv.ServerAddr(1), &Options{Dialer: w.srv.Client("follower"), FollowEnsemble: true})
			require.NoError(w, err)
			defer w.close(c)
			clients = append(clients, c)
		}
		w.setEnsemble(2, 1, 2, 3)
		for _, c := range clients {
			at[c.State().Server]++
		}
		for i := 1; i <= 3; i++ {
			assert.Greater(w, at[w.srv.ServerAddr(i)], 6, "of 60: %v", at)
		}
	})
}

// A configuration that tells no addresses for clients, or that is missing, changes nothing.
func TestConfigurationWithoutAddressesIsNotFollowed(t *testing.T) {
	inEnsemble(t, func(w *world, c *Client) {
		for _, text := range []string{"server.1=a:2888:3888:participant\nversion=5", "garbage", ""} {
			require.NoError(w, w.srv.Set(configPath, []byte(text)))
			time.Sleep(time.Second)
			assert.Equal(w, []string{w.srv.ServerAddr(1)}, c.Servers())
		}
		w.setEnsemble(6, 2)
		assert.Equal(w, []string{w.srv.ServerAddr(2)}, c.Servers(), "a later one is followed")
	})
}

// The configuration of an ensemble that was never reconfigured has the version 0.
func TestConfigurationOfAnEnsembleThatWasNeverReconfigured(t *testing.T) {
	inEnsemble(t, func(w *world, c *Client) {
		w.setEnsemble(0, 2, 3)
		assert.Equal(w, []string{w.srv.ServerAddr(2), w.srv.ServerAddr(3)}, c.Servers())
		assert.Equal(w, w.srv.ServerAddr(1), c.State().Server, "its server may have another name there")
		w.setEnsemble(0, 2)
		assert.Equal(w, w.srv.ServerAddr(1), c.State().Server, "servers with differing files do not send clients around")
	})
}

// A server is known by its address, if the list given to Connect has another name for it.
func TestServerOfAnotherNameIsLeftWhenItIsRemoved(t *testing.T) {
	inWorld(t, &zktest.Options{Servers: 3}, nil, func(w *world) {
		host, port, err := net.SplitHostPort(w.srv.ServerAddr(1))
		require.NoError(w, err)
		w.setEnsemble(1, 1, 2, 3)
		c, err := Connect(w.ctx, "ZK.example.org:"+port, &Options{
			FollowEnsemble: true, Dialer: w.srv.Client("follower"),
			Resolver: func(context.Context, string) ([]string, error) { return []string{host}, nil },
		})
		require.NoError(w, err)
		defer w.close(c)
		time.Sleep(time.Second)
		w.setEnsemble(2, 1, 3)
		assert.Equal(w, "ZK.example.org:"+port, c.State().Server, "it is one of them")
		w.setEnsemble(3, 2, 3)
		assert.Contains(w, c.Servers(), c.State().Server)
	})
}

// A session that has gone back to a server of the list, because no other could be reached,
// tries the others again.
func TestSessionOnARemovedServerTriesTheOthersAgain(t *testing.T) {
	inEnsemble(t, func(w *world, c *Client) {
		w.setEnsemble(1, 1, 2, 3)
		w.setEnsemble(2, 2, 3)
		s, err := c.Session(w.ctx)
		require.NoError(w, err)
		for _, i := range []int{2, 3} {
			w.srv.BlackHole(zktest.Link{Client: "follower", Server: i}, zktest.Both)
		}
		for range 600 { // it asks the others now and then, and is back soon
			time.Sleep(time.Second)
			require.NoError(w, s.Err())
		}
		require.NoError(w, s.Sync(w.within(10*time.Second), "/"))
		w.srv.Heal()
		time.Sleep(longestAway + 10*time.Second)
		assert.Contains(w, []string{w.srv.ServerAddr(2), w.srv.ServerAddr(3)}, c.State().Server)
		require.NoError(w, s.Err())
	})
}

// A configuration that another session of the client has read, such as one on trial, is news
// for the session.
func TestConfigurationThatAnotherSessionHasRead(t *testing.T) {
	inEnsemble(t, func(w *world, c *Client) {
		w.setEnsemble(1, 1)
		s, err := c.Session(w.ctx)
		require.NoError(w, err)
		w.srv.BlackHole(zktest.Link{Client: "follower", Server: 1}, zktest.Both)
		time.Sleep(3 * time.Second)
		w.setEnsemble(2, 2, 3)
		other := w.connect("other", &Options{FollowEnsemble: true})
		defer w.close(other)
		time.Sleep(time.Second)
		c.mu.Lock()
		c.ensemble = other.currentEnsemble()
		c.mu.Unlock()
		w.srv.Heal()
		time.Sleep(time.Minute)
		require.NoError(w, s.Err())
		assert.Contains(w, []string{w.srv.ServerAddr(2), w.srv.ServerAddr(3)}, c.State().Server)
	})
}

// A session that the servers refuse is found out, even if the configuration names none of them.
func TestRefusedSessionIsFoundOutBesideAConfigurationOfOthers(t *testing.T) {
	inWorld(t, nil, nil, func(w *world) {
		c, err := Connect(w.ctx, w.srv.ServerAddr(1), &Options{FollowEnsemble: true, Dialer: w.srv.Client("follower")})
		require.NoError(w, err)
		defer w.close(c)
		s, err := c.Session(w.ctx)
		require.NoError(w, err)
		_, err = s.Create(w.ctx, "/old", nil, Persistent, nil)
		require.NoError(w, err)
		require.NoError(w, w.srv.Set(configPath, []byte("server.2=127.0.0.77:1:1;2181\nserver.3=127.0.0.78:1:1;2181\nversion=1")))
		time.Sleep(time.Second)
		require.NoError(w, w.srv.RestartEmpty())
		select {
		case <-s.Context().Done():
			require.ErrorIs(w, s.Err(), ErrRefused)
		case <-time.After(10 * time.Minute):
			w.Errorf("still %+v", c.State())
		}
	})
}

// ClickHouse Keeper would end a session that moves.
func TestSessionOnClickHouseKeeperStaysWhereItIs(t *testing.T) {
	inWorld(t, &zktest.Options{Servers: 3, Product: zktest.ClickHouseKeeper}, &Options{FollowEnsemble: true}, func(w *world) {
		w.setEnsemble(1, 1, 2, 3)
		w.setEnsemble(2, 1)
		w.setEnsemble(3, 2)
		require.NoError(w, w.s.Err())
	})
}

// A dial to a removed server is on its way when the session reads that it was removed.
func TestServerThatWasRemovedWhileItWasDialedIsLeft(t *testing.T) {
	inEnsemble(t, func(w *world, c *Client) {
		w.setEnsemble(1, 1, 2, 3)
		s, err := c.Session(w.ctx)
		require.NoError(w, err)
		former := s.servers.ensemble()
		s.servers.replace(ensemble{followed: true, version: 2, servers: []string{w.srv.ServerAddr(2), w.srv.ServerAddr(3)}}, &former)
		assert.Equal(w, w.srv.ServerAddr(1), c.State().Server)
		w.setEnsemble(2, 2, 3) // as it reads it on the new connection
		assert.Contains(w, []string{w.srv.ServerAddr(2), w.srv.ServerAddr(3)}, c.State().Server)
		require.Equal(w, decision{}, s.servers.stand().decision)
	})
}

// Whatever becomes of each of its requests, a session reads the configuration, leaves the
// removed server, keeps what it holds (unless the fault ends it), and leaves no watch behind.
func TestEnsembleIsFollowedUnderEveryFault(t *testing.T) {
	faults := map[string]zktest.Fault{
		"request lost": zktest.DropRequest, "cut before": zktest.CutBefore, "reply lost, cut": zktest.DropReplyCut,
		"cut after": zktest.CutAfter, "reply lost": zktest.DropReplyHole, "expired before": zktest.ExpireBefore, "expired after": zktest.ExpireAfter,
	}
	for name, fault := range faults {
		for n := 1; ; n++ {
			hit := false
			inEnsemble(t, func(w *world, c *Client) {
				w.setEnsemble(1, 1, 2, 3)
				s, err := c.Session(w.ctx)
				require.NoError(w, err)
				id := s.ID()
				remove := w.srv.FailNth(func(r zktest.Request) bool { return r.Session == id }, n, zktest.Action{Do: fault})
				defer remove()
				var asked atomic.Int64
				counted := w.srv.OnRequest(func(r zktest.Request) zktest.Action {
					if r.Session == id {
						asked.Add(1)
					}
					return zktest.Action{}
				})
				w.setEnsemble(2, 2, 3)
				time.Sleep(time.Minute)
				counted()
				hit = asked.Load() >= int64(n) && n < 12 // the rest are heartbeats and pings
				if expires := fault == zktest.ExpireBefore || fault == zktest.ExpireAfter; !expires {
					require.NoError(w, s.Err(), "%s at request %d", name, n)
				}
				assert.Contains(w, []string{w.srv.ServerAddr(2), w.srv.ServerAddr(3)}, c.State().Server, "%s at request %d", name, n)
				assert.LessOrEqual(w, len(w.srv.Watches()[configPath]), 1, "%s at request %d", name, n)
			})
			if !hit {
				require.Greater(t, n, 3, "it sends several requests")
				break
			}
		}
	}
}

// Each connection of a session that follows the ensemble is authenticated.
func TestEnsembleIsFollowedWithSASL(t *testing.T) {
	login := SASLDigestMD5("alice", saslUsers()["alice"])
	servers := &zktest.Options{Servers: 3, SASLUsers: saslUsers(), EnforceAuth: []string{"sasl"}}
	inWorld(t, servers, &Options{SASL: login}, func(w *world) {
		c, err := Connect(w.ctx, w.srv.ServerAddr(1), &Options{Dialer: w.srv.Client("follower"), FollowEnsemble: true, SASL: login})
		require.NoError(w, err)
		defer w.close(c)
		s, err := c.Session(w.ctx)
		require.NoError(w, err)
		w.setEnsemble(1, 1)
		w.setEnsemble(2, 2, 3)
		assert.Contains(w, []string{w.srv.ServerAddr(2), w.srv.ServerAddr(3)}, c.State().Server)
		_, err = s.Create(w.ctx, "/mine", nil, Persistent, &CreateOptions{ACL: CreatorACL()})
		require.NoError(w, err)
		_, err = s.Set(w.ctx, "/mine", []byte("from another server"), -1)
		require.NoError(w, err)
	})
}
