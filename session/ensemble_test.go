package session

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/zktest"
)

func TestParseEnsemble(t *testing.T) {
	for text, want := range map[string][]string{
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

// Of the clients of a server that stays, the part goes to added servers that makes all servers
// have the same number.
func TestMoveBetweenEnsembles(t *testing.T) {
	three := ensemble{version: 1, servers: []string{"a:1", "b:1", "c:1"}}
	five := ensemble{version: 2, servers: []string{"a:1", "b:1", "c:1", "d:1", "e:1"}}
	stay := func(former, next ensemble, at string, chance float64) {
		t.Helper()
		_, why := former.move(next, at, chance)
		require.NoError(t, why)
	}
	first, why := three.move(five, "a:1", 0.39)
	require.ErrorIs(t, why, errServersAdded)
	assert.Equal(t, []string{"d:1", "e:1"}, first)
	stay(three, five, "a:1", 0.41)
	stay(five, three, "a:1", 0)
	_, why = five.move(three, "e:1", 1)
	require.ErrorIs(t, why, errServerRemoved)
	stay(ensemble{servers: []string{"alias:1"}}, three, "alias:1", 0) // the list that was given
	stay(five, three, "alias:1", 0)
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
	time.Sleep(time.Second)
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
		w.setEnsemble(2, 2, 3) // from a server that lags behind
		assert.Equal(w, w.srv.ServerAddr(1), c.State().Server)
		assert.Equal(w, []string{w.srv.ServerAddr(1)}, c.Servers())
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
