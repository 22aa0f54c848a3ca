package dispatch_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/dispatch"
	"github.com/zkrecipes/zkrecipes/internal/world"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/zktest"
	"github.com/zkrecipes/zkrecipes/zktest/matrix"
)

// errPaused: a task was assigned while the queue was paused.
var errPaused = errors.New("a task was assigned while the queue was paused")

// pausedSince is the zxid of the last change of admission, if the queue is paused; 0 otherwise.
func pausedSince(s *zktest.Server) int64 {
	node, err := s.Get(path + "/admission")
	if err != nil || !strings.Contains(string(node.Data), `"paused"`) {
		return 0
	}
	return node.Mzxid
}

func isPaused(s *zktest.Server) bool { return pausedSince(s) > 0 }

// checkPaused asserts that a transaction assigns nothing while the queue is paused. The server
// that is asked may be ahead of the transaction.
func checkPaused(s *zktest.Server, txn zktest.Txn) error {
	for _, p := range txn.Paths {
		if txn.Code != 0 || !strings.HasPrefix(p, path+"/workers/") || strings.Count(p, "/") != 4 {
			continue
		}
		node, err := s.Get(p)
		if since := pausedSince(s); err == nil && node.Czxid == txn.Zxid && since > 0 && since < txn.Zxid {
			return fmt.Errorf("%w: %s", errPaused, p)
		}
	}
	return nil
}

// watchPauses asserts at each change that no task is assigned while the queue is paused.
func watchPauses(s *zktest.Server, fail func(error)) {
	s.OnApply(func(txn zktest.Txn) {
		if err := checkPaused(s, txn); err != nil {
			fail(err)
		}
	})
}

func TestCheckerNoticesAnAssignmentDuringAPause(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		var bad []error
		watchPauses(w.Server, func(err error) { bad = append(bad, err) })
		q := w.queue()
		w.master(nil)
		w.worker(takes(time.Second), nil)
		w.submit(q, numbered(0))
		w.Settle()
		w.pause(q)
		w.Pass(time.Minute)
		require.Empty(w, bad)
		require.NoError(w, w.Server.Create(path+"/workers/"+w.Children(path + "/workers")[0]+"/x~1-1.1", nil))
		w.Settle()
		require.Len(w, bad, 1)
		require.ErrorIs(w, bad[0], errPaused)
	})
}

// The master's transaction is on its way when the queue is paused: it is refused, and the task is
// assigned when the queue is resumed.
func TestAssignmentThatIsOnItsWayIntoAPause(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		watchPauses(w.Server, func(err error) { t.Error(err) })
		q := w.queue() // c1
		w.worker(echo, nil)
		w.master(nil) // c3
		for n := range 3 {
			w.submit(q, numbered(n)) // makes the buckets
			w.collect(q, numbered(n).ID)
		}
		w.Once(func(r zktest.Request) bool {
			return r.Client == "c3" && r.Op == "getData" && strings.HasSuffix(r.Path, "/"+numbered(0).ID)
		}, func() { w.Server.Delay(linkOf(3), zktest.ToServer, 2*time.Second) })
		assigns := 0
		w.Server.OnRequest(func(r zktest.Request) zktest.Action {
			if r.Client == "c3" && r.Op == "multi" && slices.Contains(r.Paths, path+"/admission") {
				assigns++
			}
			return zktest.Action{}
		})
		w.submit(q, numbered(0))
		w.Pass(time.Second)
		w.pause(q)
		w.Pass(5 * time.Second)
		w.Server.Heal()
		w.submit(q, numbered(1))
		w.Pass(time.Minute)
		require.Equal(w, 1, assigns, "refused")
		require.Empty(w, w.assignments())
		w.resume(q)
		w.Settle()
		for n := range 2 {
			require.EqualValues(w, "done", w.get(q, numbered(n).ID).State)
		}
	})
}

// pauser is a client that pauses or resumes the queue, once.
type pauser struct {
	*crew
	said  error
	times atomic.Int32 // how often the queue was paused or resumed
}

// Pause and Resume under every fault: the result is true, each is made once, and no task is
// assigned in a pause.
func TestPauseAndResumeUnderEveryFault(t *testing.T) {
	t.Parallel()
	for name, x := range map[string]struct {
		paused, created bool // before
		op              pauseCall
		changes         bool
		after           bool // it is paused
	}{
		"pause":                      {false, true, pausing("ann"), true, true},
		"pause of a queue to create": {false, false, pausing("ann"), true, true},
		"pause of a paused queue":    {true, true, pausing("ann"), false, true},
		"resume":                     {true, true, resuming, true, false},
		"resume of an active queue":  {false, true, resuming, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			report(t, world.Trial{
				Name: name,
				Setup: func(e *matrix.Env, p *world.Party) error {
					parts := "mw"
					if !x.created {
						parts = ""
					}
					c := startCrew(e, p, parts, slow)
					watchPauses(e.Server, c.fail)
					var err error
					if x.created {
						_, err = c.queue.Submit(context.Background(), dispatch.Task{ID: "x"})
					}
					if err == nil && x.paused {
						_, err = c.queue.Pause(context.Background(), "bob", "before")
					}
					if err != nil {
						return err
					}
					world.Pause(time.Second)
					k := &pauser{crew: c}
					before := x.paused
					e.Server.OnApply(func(zktest.Txn) {
						if now := isPaused(e.Server); now != before {
							before = now
							k.times.Add(1)
						}
					})
					p.State = k
					return nil
				},
				Op: func(ctx context.Context, p *world.Party) error {
					k := p.State.(*pauser)
					changed, err := x.op(ctx, dispatch.New(p.Tested, path, nil))
					if k.said = err; err != nil {
						return err
					}
					st, err := k.queue.Stats(context.Background())
					if err != nil || changed != x.changes || st.Paused != x.after {
						return fmt.Errorf("changed: %v; %+v: %w", changed, st, err)
					}
					return nil
				},
				Next: func(ctx context.Context, p *world.Party) error {
					k := p.State.(*pauser)
					c, times := k.crew, int(k.times.Load())
					p.State = c
					if err := world.CheckOutcome(k.said, times); x.changes && err != nil {
						return err
					}
					if times > 0 && !x.changes {
						return errors.New("the queue was paused or resumed")
					}
					if !x.created {
						c.start(dispatch.NewMaster(p.Other, path, nil).Run)
						c.start(dispatch.NewWorker(p.Other, path, slow, nil).Run)
					}
					if _, err := c.queue.Pause(ctx, "next", "why"); err != nil { // it may be paused
						return err
					}
					if existed, err := c.queue.Resume(ctx); err != nil || !existed {
						return fmt.Errorf("existed: %v: %w", existed, err)
					}
					return sound(1)(ctx, p)
				},
			}, matrix.LostReply)
		})
	}
}

// pauseCall is a call that pauses or resumes the queue, and reports whether it did.
type pauseCall func(ctx context.Context, q *dispatch.Queue) (bool, error)

func pausing(by string) pauseCall {
	return func(ctx context.Context, q *dispatch.Queue) (bool, error) { return q.Pause(ctx, by, "why") }
}

func resuming(ctx context.Context, q *dispatch.Queue) (bool, error) { return q.Resume(ctx) }

// The reply to a pause or its end is lost, and other clients pause and resume the queue before the
// first one is connected again, in the same session or in the next one: nothing that they have done
// is undone, and the call says what it has done, or that it cannot know.
func TestPauseIsNotRepeatedOverAnotherCall(t *testing.T) {
	const applied, lost = zktest.DropReplyHole, zktest.DropRequest
	ann, bob, eve := pausing("ann"), pausing("bob"), pausing("eve")
	limited := func(ctx context.Context, q *dispatch.Queue) (bool, error) { return true, errNewLimit }
	for name, x := range map[string]struct {
		fault   zktest.Fault
		before  bool // eve has paused the queue
		call    pauseCall
		others  []pauseCall
		changed bool
		want    error
		by      string // of the pause afterwards
	}{
		"paused":                               {applied, false, ann, nil, true, nil, "ann"},
		"paused, resumed":                      {applied, false, ann, []pauseCall{resuming}, true, nil, ""},
		"paused, resumed, paused":              {applied, false, ann, []pauseCall{resuming, bob}, false, nil, "bob"},
		"paused, resumed, paused, resumed":     {applied, false, ann, []pauseCall{resuming, bob, resuming}, false, session.ErrUnknownOutcome, ""},
		"paused, another limit":                {applied, false, ann, []pauseCall{limited}, true, nil, "ann"},
		"not paused":                           {lost, false, ann, nil, true, nil, "ann"},
		"not paused, another limit":            {lost, false, ann, []pauseCall{limited}, true, nil, "ann"},
		"not paused, paused":                   {lost, false, ann, []pauseCall{bob}, false, nil, "bob"},
		"not paused, paused, resumed":          {lost, false, ann, []pauseCall{bob, resuming}, false, session.ErrUnknownOutcome, ""},
		"resumed":                              {applied, true, resuming, nil, true, nil, ""},
		"resumed, paused":                      {applied, true, resuming, []pauseCall{bob}, true, nil, "bob"},
		"not resumed":                          {lost, true, resuming, nil, true, nil, ""},
		"not resumed, another limit":           {lost, true, resuming, []pauseCall{limited}, true, nil, ""},
		"not resumed, resumed, paused":         {lost, true, resuming, []pauseCall{resuming, bob}, true, nil, "bob"},
		"not resumed, resumed, paused by same": {lost, true, resuming, []pauseCall{resuming, eve}, true, nil, "eve"},
	} {
		for _, where := range []string{"the same session", "the next session"} {
			t.Run(name+", "+where, func(t *testing.T) {
				inWorld(t, nil, func(w *World) {
					c, events := w.ClientObserved(world.IsUnknown) // c1
					mine, theirs := dispatch.New(c, path, nil), w.queue()
					w.submit(theirs, numbered(0))
					if x.before {
						_, err := eve(w.Ctx, theirs)
						require.NoError(w, err)
					}
					w.Server.FailNth(func(r zktest.Request) bool {
						return r.Client == "c1" && r.Op == "multi" && !r.OnlyChecks
					}, 1, zktest.Action{Do: x.fault})
					type result struct {
						changed bool
						err     error
					}
					done := make(chan result, 1)
					// Waited for below; ends with the call.
					go func() {
						changed, err := x.call(w.Within(5*time.Minute), mine)
						done <- result{changed, err}
					}()
					w.Pass(time.Second)
					for n, call := range x.others {
						changed, err := call(w.Ctx, theirs)
						if errors.Is(err, errNewLimit) {
							m := w.master(&dispatch.Options{MaxTasks: 77 + n})
							w.Settle()
							require.Equal(w, 77+n, w.limit(theirs))
							require.NoError(w, m.end())
							continue
						}
						require.NoError(w, err)
						require.True(w, changed)
					}
					if where == "the next session" {
						w.Expire(c)
					}
					got := <-done
					require.ErrorIs(w, got.err, x.want)
					w.ToldUnknown(events, "tasks", path, "pause", got.err)
					require.Equal(w, x.changed, got.changed)
					by := ""
					if p := w.paused(theirs); p != nil {
						by = p.by
					}
					require.Equal(w, x.by, by)
				})
			})
		}
	}
}

// errNewLimit: not a call, but a master that changes MaxTasks.
var errNewLimit = errors.New("a master changes MaxTasks")

// A leading server that has lost its followers without knowing neither denies a pause nor
// confirms one that has ended.
func TestDeposedServerKnowsNothingOfPauses(t *testing.T) {
	for _, resumed := range []bool{false, true} {
		inWorld(t, &zktest.Options{Servers: 3}, func(w *World) {
			require.NoError(w, w.Server.WaitLeader(w.Ctx))
			alone := w.Server.Leader()
			mine := dispatch.New(w.ClientAt(w.Server.ServerAddr(alone), session.Options{}), path, nil)
			other := dispatch.New(w.ClientAt(w.Server.ServerAddr(1+alone%3), session.Options{}), path, nil)
			w.submit(mine, numbered(0))
			w.submit(other, numbered(1))
			if resumed {
				w.pause(other)
			}
			w.Settle()
			w.Server.IsolateServer(alone)
			call := resuming
			if resumed {
				w.resume(other)
				call = pausing("bob")
			} else {
				w.pause(other)
			}
			require.NotEqual(w, alone, w.Server.Leader())
			changed, err := call(w.Within(time.Minute), mine)
			if err == nil {
				require.True(w, changed)
			}
		})
	}
}
