package session

import (
	"bytes"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/zktest"
)

const sharedFolder = "/app/heartbeats"

// sharedOptions are those of clients that share heartbeats.
func sharedOptions() *Options {
	return &Options{Timeout: 10 * time.Second, TickTime: 2 * time.Second, SharedHeartbeats: sharedFolder}
}

// crowd is sessions on an ensemble that share heartbeats, each with a hold.
type crowd struct {
	*world
	holds   []*Hold
	clients []*Client
}

// inCrowd runs body with n such sessions on three servers, spread evenly.
func inCrowd(t *testing.T, n int, o *Options, body func(*crowd)) {
	t.Helper()
	inWorld(t, &zktest.Options{Servers: 3, TickTime: 2 * time.Second}, nil, func(w *world) {
		c := &crowd{world: w}
		for i := range n {
			c.join(o, 1+i%3, fmt.Sprintf("/held-%d", i))
		}
		body(c)
		for _, client := range c.clients {
			c.close(client)
		}
	})
}

// join adds a session on a server, which it may leave later.
func (c *crowd) join(o *Options, server int, path string) *Hold {
	g := &gate{srv: c.srv, only: server}
	opts := *o
	opts.Dialer = g.dial
	client := c.connect("", &opts)
	g.set(0)
	c.clients = append(c.clients, client)
	h := c.createHeld(c.session(client), path)
	c.holds = append(c.holds, h)
	return h
}

// lost are the holds that have ended.
func (c *crowd) lost() (out []string) {
	for _, h := range c.holds {
		if h.Err() != nil {
			out = append(out, fmt.Sprintf("%s: %v", h.Path(), h.Err()))
		}
	}
	return out
}

// during counts the requests that arrive in a time.
func (c *crowd) during(d time.Duration) map[string]int {
	c.srv.ResetStats()
	c.sleep(d)
	return c.srv.Stats().Requests
}

// leastTrust is the least time of trust that any of the sessions has left, over a time.
func (c *crowd) leastTrust(d time.Duration) time.Duration {
	least := time.Hour
	for range d / (50 * time.Millisecond) {
		c.sleep(50 * time.Millisecond)
		for _, client := range c.clients {
			least = min(least, time.Until(client.State().TrustedUntil))
		}
	}
	return least
}

// Writes for trust do not grow with the holders: the heartbeats of 60 sessions are as
// many as those of 6.
func TestSharedHeartbeatsDoNotGrowWithTheHolders(t *testing.T) {
	const minute = time.Minute
	for _, n := range []int{3, 6, 60} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			inCrowd(t, n, sharedOptions(), func(c *crowd) {
				c.sleep(20 * time.Second)
				got := c.during(minute)
				least := c.leastTrust(20 * time.Second)
				t.Logf("%d holders: %d writes, %d reads in a minute; least trust %v", n, got["multi"], got["getData"], least)
				assert.LessOrEqual(c, got["multi"], 450, "2.5 per second from each server")
				assert.LessOrEqual(c, got["getData"], n*60*2)
				assert.Greater(c, least, 3*time.Second)
				require.Empty(c, c.lost())
			})
		})
	}
}

func TestSharedHeartbeatsLastForAnHour(t *testing.T) {
	inCrowd(t, 9, sharedOptions(), func(c *crowd) {
		c.sleep(time.Duration(rounds(50)) * time.Minute)
		require.Empty(c, c.lost())
	})
}

// The znode's deletion, and other data in it, cost no session its hold.
func TestSharedHeartbeatThatIsDeletedComesBack(t *testing.T) {
	inCrowd(t, 6, sharedOptions(), func(c *crowd) {
		c.sleep(10 * time.Second)
		require.True(c, c.exists(sharedFolder+"/server-1"))
		require.NoError(c, c.srv.DeleteAll(sharedFolder))
		c.sleep(30 * time.Second)
		require.Empty(c, c.lost())
		require.True(c, c.exists(sharedFolder+"/server-1"))
		require.LessOrEqual(c, c.during(time.Minute)["multi"], 450)

		for range 20 {
			require.NoError(c, c.srv.Set(sharedFolder+"/server-1", []byte("not a heartbeat")))
			c.sleep(time.Second)
		}
		require.Empty(c, c.lost())
	})
}

// A session that has moved to another server sends heartbeats of its own.
func TestSessionThatHasMovedSendsItsOwnHeartbeats(t *testing.T) {
	inCrowd(t, 3, sharedOptions(), func(c *crowd) {
		c.sleep(10 * time.Second)
		moved := c.holds[0].Session()
		c.srv.Cut(moved.ID())
		c.sleep(10 * time.Second)
		c.srv.ResetStats()
		c.sleep(20 * time.Second)
		mine := c.srv.Stats().BySession[moved.ID()]
		assert.InDelta(c, 20, mine["multi"], 2, "one per period")
		assert.Zero(c, mine["getData"])
		require.Empty(c, c.lost())
	})
}

// A client without the right to write the znode, or to read it, says so once, and sends
// heartbeats of its own.
func TestSessionWithoutRightsSendsItsOwnHeartbeats(t *testing.T) {
	for name, perms := range map[string]int32{"read only": PermRead, "nothing": PermAdmin} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, nil, nil, func(w *world) {
				server := fmt.Sprintf("%s/server-%d", sharedFolder, w.s.ID()>>56)
				require.NoError(w, w.s.ensure(w.ctx, server, Persistent, nil))
				_, err := w.s.SetACL(w.ctx, server, WorldACL(perms), -1)
				require.NoError(w, err)
				var log bytes.Buffer
				o := sharedOptions()
				o.Logger = slog.New(slog.NewTextHandler(&synced{w: &log}, nil))
				c := w.connect("", o)
				defer w.close(c)
				h := w.createHeld(w.session(c), "/held")
				w.sleep(10 * time.Second)
				w.srv.ResetStats()
				w.sleep(20 * time.Second)
				assert.InDelta(w, 20, w.srv.Stats().BySession[h.Session().ID()]["multi"], 2)
				require.NoError(w, h.Err())
				assert.Equal(w, 1, strings.Count(log.String(), "does not share heartbeats"), log.String())
			})
		})
	}
}

// synced is a writer for several goroutines.
type synced struct {
	mu sync.Mutex
	w  *bytes.Buffer
}

func (s *synced) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.w.Write(p)
}

// The deletion of a held znode is reported although the session sends no checks.
func TestDeletionIsToldWithSharedHeartbeats(t *testing.T) {
	inCrowd(t, 6, sharedOptions(), func(c *crowd) {
		c.sleep(10 * time.Second)
		h := c.holds[4]
		require.NoError(c, c.srv.Delete(h.Path()))
		c.sleep(100 * time.Millisecond)
		require.ErrorIs(c, h.Err(), ErrNodeDeleted)

		young := c.join(sharedOptions(), 2, "/young")
		require.NoError(c, c.srv.Delete(young.Path()))
		c.sleep(2 * time.Second)
		require.ErrorIs(c, young.Err(), ErrNodeDeleted)
	})
}

func TestSharedHeartbeatsNeedAKnownTick(t *testing.T) {
	inWorld(t, &zktest.Options{TickTime: 2 * time.Second}, nil, func(w *world) {
		for _, o := range []*Options{
			{SharedHeartbeats: sharedFolder},
			{SharedHeartbeats: sharedFolder, TickTime: 2 * time.Second, Timeout: 4 * time.Second},
			{SharedHeartbeats: sharedFolder, TickTime: 2 * time.Second, StopMargin: 2 * time.Second},
		} {
			o.Dialer = w.srv.Dial
			_, err := Connect(w.ctx, w.srv.Addr(), o)
			require.ErrorIs(w, err, ErrTimeoutTooShort)
			require.ErrorContains(w, err, "shared heartbeats")
		}
		for _, path := range []string{"x", "/", "/a/"} {
			_, err := Connect(w.ctx, w.srv.Addr(), &Options{SharedHeartbeats: path, Dialer: w.srv.Dial})
			require.ErrorIs(w, err, ErrInvalidOption)
			require.ErrorContains(w, err, "SharedHeartbeats")
		}
	})
}

func TestServersAreToldApartByTheSessionsId(t *testing.T) {
	timing, err := newShareTiming(theTiming(t, 2*time.Second))
	require.NoError(t, err)
	for id, want := range map[int64]string{
		0x0100000000000001: "/f/server-1", 0x03ffffffffffffff: "/f/server-3", -1: "/f/server-255",
	} {
		assert.Equal(t, want, newSharing(&Options{SharedHeartbeats: "/f"}, id, timing, nil).path)
	}
	assert.Nil(t, newSharing(&Options{SharedHeartbeats: "/f"}, 7, timing, nil), "ids that count up from 1 tell nothing")
	assert.Nil(t, newSharing(&Options{}, 0x0100000000000001, timing, nil))
	assert.Nil(t, newSharing(&Options{SharedHeartbeats: "/f", Trust: TrustAnswered}, 0x0100000000000001, timing, nil))
}

// Of any number of sessions, few send at about the same time.
func TestSuppressionDelaysFitAnyNumberOfSessions(t *testing.T) {
	const most, reply = 500 * time.Millisecond, 10 * time.Millisecond
	rng := rand.New(rand.NewPCG(1, 1))
	assert.Zero(t, suppressionDelay(most, 0))
	for _, sessions := range []int{1, 10, 100, 1000, 10_000} {
		const rounds = 200
		sent, first := 0, time.Duration(0)
		for range rounds {
			delays := make([]time.Duration, sessions)
			for i := range delays {
				delays[i] = suppressionDelay(most, rng.Float64())
			}
			slices.Sort(delays)
			require.LessOrEqual(t, delays[sessions-1], most)
			first += delays[0]
			for _, d := range delays {
				if d < delays[0]+reply {
					sent++
				}
			}
		}
		t.Logf("%d sessions: %.2f heartbeats, the first after %v", sessions, float64(sent)/rounds, first/rounds)
		assert.Less(t, float64(sent)/rounds, 3.0)
	}
}

// The holder knows of its loss before the servers end its session, for each fault at
// many moments, while it shares heartbeats with sessions on all servers.
func TestHolderThatSharesHeartbeatsKnowsBeforeTheServersEndItsSession(t *testing.T) {
	set := soundSetting{timeout: 10 * time.Second, tick: 2 * time.Second, syncLimit: 5, known: true, sharing: 3}
	for i, tc := range soundCases() {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			var tally soundTally
			for round := range rounds(5) {
				offset := time.Duration(5000+round*1741+i*97) * time.Millisecond
				r := holdUnderFault(t, set, tc, offset)
				tally.add(r, offset.String())
				if tc.survives {
					assert.True(t, r.lost.IsZero(), "lost at offset %v: %v", offset, r.cause)
				}
			}
			t.Logf("%v", &tally)
			assert.Zero(t, tally.unsound, "for instance at offset %s", tally.worst)
		})
	}
}
