package contender_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/internal/contender"
	pause "github.com/zkrecipes/zkrecipes/internal/world"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// crowd is contenders of a queue for few that have come one after the other: the first ones
// are in the queue, the others in the room.
type crowd struct {
	*world
	sessions []*session.Session
	cancel   []context.CancelFunc
	outs     []<-chan *contender.Contender
	left     map[int]bool
}

// Of a crowd, the first limit contenders have no place, the next ahead have one and are in
// the queue, too; firstOutside is the first in the room alone.
const (
	ahead        = limit + limit/2
	firstOutside = limit + ahead
)

func (w *world) crowd(n int) *crowd {
	c := &crowd{world: w, left: map[int]bool{}}
	for range n {
		c.come(crowdedSpec())
	}
	return c
}

func (c *crowd) come(sp contender.Spec) {
	ctx, cancel := context.WithCancel(c.ctx)
	c.Cleanup(cancel)
	s := c.session()
	c.sessions, c.cancel = append(c.sessions, s), append(c.cancel, cancel)
	c.outs = append(c.outs, c.await(ctx, s, sp))
}

// slow lets all that is sent take a while from now on, so that the order of events does not
// depend on the machine.
func (c *crowd) slow() {
	c.srv.Delay(zktest.Link{}, zktest.ToServer, time.Millisecond)
	c.srv.Delay(zktest.Link{}, zktest.ToClient, time.Millisecond)
}

// settle waits until all have done what they can: less than a heartbeat period in all.
func (c *crowd) settle() {
	pause.Pause(20 * time.Millisecond)
	synctest.Wait()
}

// serveInOrder serves all contenders but those that have left, and requires that they are
// granted one at a time, in the order in which they have come.
func (c *crowd) serveInOrder() {
	for i, out := range c.outs {
		if c.left[i] {
			continue
		}
		c.settle()
		for later := i + 1; later < len(c.outs); later++ {
			require.True(c, c.left[later] || len(c.outs[later]) == 0, "%d is granted before %d", later, i)
		}
		granted := <-out
		require.NotNil(c, granted, "%d", i)
		require.NoError(c, granted.Leave(c.ctx))
	}
	c.settle()
	require.Empty(c, c.children())
	require.Empty(c, c.places())
}

// span is the numbers from first to last.
func span(first, last int) (out []int) {
	for i := first; i <= last; i++ {
		out = append(out, i)
	}
	return out
}

// The end of a place is no grant: the contender that waits for it does not overtake those
// that came before.
func TestNoContenderOvertakesBecauseAnotherLeaves(t *testing.T) {
	reversed := func(of []int) []int { slices.Reverse(of); return of }
	for name, leaving := range map[string][]int{
		"one":                         {firstOutside + 2},
		"one in the queue":            {limit + 3},
		"several":                     {firstOutside, firstOutside + 3, firstOutside + 10, firstOutside + 12},
		"neighbors, the first first":  span(firstOutside+2, firstOutside+ahead),
		"neighbors, the last first":   reversed(span(firstOutside+2, firstOutside+ahead)),
		"as many as go ahead":         span(firstOutside+2, firstOutside+1+ahead),
		"the last before one that is": {firstOutside + 1, firstOutside + 1 + ahead},
	} {
		for how, end := range map[string]func(c *crowd, i int){
			"gives up": func(c *crowd, i int) { c.cancel[i]() },
			"dies":     func(c *crowd, i int) { require.NoError(c, c.srv.ExpireSession(c.sessions[i].ID())) },
		} {
			t.Run(name+" "+how, func(t *testing.T) {
				inWorld(t, func(w *world) {
					c := w.crowd(firstOutside + 5*ahead)
					c.slow()
					inQueue := len(w.children())
					for _, i := range leaving {
						c.left[i] = true
						end(c, i)
						c.settle()
					}
					require.LessOrEqual(w, len(w.children()), inQueue, "none has come out of the room")
					c.serveInOrder()
				})
			})
		}
	}
}

// A contender that takes a place behind one whose contender has left waits for the one
// before, if the room is full.
func TestNewcomerDoesNotOvertakeBecauseAnotherHasLeft(t *testing.T) {
	inWorld(t, func(w *world) {
		c := w.crowd(firstOutside + 2*ahead)
		for _, i := range span(firstOutside+ahead, firstOutside+ahead+2) {
			c.left[i] = true
			c.cancel[i]()
		}
		synctest.Wait()
		inQueue := len(w.children())
		for range 2 * ahead {
			c.come(crowdedSpec())
		}
		require.Len(w, w.children(), inQueue)
		c.slow()
		c.serveInOrder()
	})
}

// A place that ends without an event, since the connection was lost, keeps no contender
// waiting.
func TestGrantDuringADisconnectionIsNotMissed(t *testing.T) {
	inWorld(t, func(w *world) {
		c := w.crowd(firstOutside + 2*ahead)
		c.slow()
		for i := range c.outs {
			c.settle()
			granted := <-c.outs[i]
			require.NotNil(w, granted)
			if i%3 == 0 {
				w.srv.CutAll()
			}
			require.NoError(w, granted.Leave(w.ctx))
			time.Sleep(time.Minute)
		}
		time.Sleep(time.Minute)
		require.Empty(w, w.children())
		require.Empty(w, w.places())
	})
}

// A contender that may not write its own place is granted all the same, and its place ends.
func TestPlaceThatMayNotBeWrittenEnds(t *testing.T) {
	inWorld(t, func(w *world) {
		_, err := w.s.Create(w.ctx, dir, nil, session.Persistent, nil)
		require.NoError(w, err)
		_, err = w.s.Create(w.ctx, roomPath, nil, session.Persistent, nil)
		require.NoError(w, err)
		c := &crowd{world: w, left: map[int]bool{}}
		sp := crowdedSpec()
		sp.ACL = session.WorldACL(session.PermRead)
		for range firstOutside + 2*ahead {
			c.come(sp)
		}
		c.slow()
		c.serveInOrder()
	})
}

// active are the sessions that have sent something since the last reset.
func (c *crowd) active() (out []string) {
	synctest.Wait()
	for i, s := range c.sessions {
		if r := c.requestsOf(s); len(r) > 0 {
			out = append(out, fmt.Sprint(i, " ", r))
		}
	}
	return out
}

// The number of clients that a release wakes does not depend on how many wait, also after
// some have left.
func TestReleaseWakesFewHoweverManyWait(t *testing.T) {
	for name, leaving := range map[string][]int{"all stay": nil, "one has left": {firstOutside + 1}} {
		t.Run(name, func(t *testing.T) {
			var before [][]string
			for _, n := range []int{firstOutside + 3*ahead, firstOutside + 9*ahead} {
				inWorld(t, func(w *world) {
					c := w.crowd(n)
					c.slow()
					for _, i := range leaving {
						c.left[i] = true
						c.cancel[i]()
						c.settle()
					}
					var woken [][]string
					for i := range firstOutside + 3 {
						c.settle()
						if c.left[i] {
							continue
						}
						granted := <-c.outs[i]
						require.NotNil(w, granted)
						w.srv.ResetStats()
						require.NoError(w, granted.Leave(w.ctx))
						c.settle()
						woken = append(woken, c.active())
						// The one that has gone, the next, the one behind that, and those that come out of the
						// room.
						require.LessOrEqual(w, len(c.active()), 4+len(leaving), "%v", c.active())
					}
					if before != nil {
						require.Equal(w, before, woken)
					}
					before = woken
				})
			}
		})
	}
}

// The requests of a contender that waits in the room, from its arrival to its grant.
func TestRequestsOfAWaitInTheRoom(t *testing.T) {
	inWorld(t, func(w *world) {
		c := w.crowd(firstOutside + 2*ahead)
		c.slow()
		w.srv.ResetStats()
		c.come(crowdedSpec())
		c.settle()
		c.serveInOrder()
		require.Equal(w, map[string]int{
			"create2": 3, "getData": 4, "setData": 1, "delete": 2, "getChildren2": 2, "multi": 1,
		}, w.requestsOf(c.sessions[len(c.sessions)-1]))
	})
}
