package matrix_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"github.com/zkrecipes/zkrecipes/zktest"
	"github.com/zkrecipes/zkrecipes/zktest/matrix"
)

type quiet struct{}

func (quiet) Printf(string, ...any) {}

type dialer func(ctx context.Context, network, addr string) (net.Conn, error)

// connect returns a go-zookeeper client with a session.
func connect(e *matrix.Env, dial dialer) (*zk.Conn, error) {
	c, events, err := zk.Connect(strings.Split(e.Addrs(), ","), 10*time.Second, zk.WithLogger(quiet{}), zk.WithLogInfo(false),
		zk.WithDialer(func(network, addr string, d time.Duration) (net.Conn, error) {
			ctx, cancel := context.WithTimeout(context.Background(), d)
			defer cancel()
			return dial(ctx, network, addr)
		}))
	if err != nil {
		return nil, err
	}
	e.Cleanup(c.Close)
	for ev := range events {
		if ev.State == zk.StateHasSession {
			return c, nil
		}
	}
	return nil, errors.New("closed")
}

func setup(e *matrix.Env) error {
	c, err := connect(e, e.Dial)
	e.State = c
	return err
}

func open() []zk.ACL { return zk.WorldACL(zk.PermAll) }

// lost tells whether err says nothing about the request; go-zookeeper returns
// the bare error of a failed write too.
func lost(err error) bool {
	return errors.Is(err, zk.ErrConnectionClosed) || errors.Is(err, zk.ErrNoServer) || errors.Is(err, syscall.EPIPE)
}

// retry is a naive retry loop. It runs in a bubble.
func retry(f func() error) error {
	var err error
	for range 20 {
		if err = f(); !lost(err) {
			return err
		}
		time.Sleep(time.Second)
	}
	return err
}

// kinds counts the failures by fault.
func kinds(r matrix.Result) map[matrix.Fault]int {
	out := map[matrix.Fault]int{}
	for _, f := range r.Failures {
		out[f.Fault]++
	}
	return out
}

func TestNaiveRetryOfACreateIsCaught(t *testing.T) {
	res := matrix.Explore(t, matrix.Case{
		Name:  "naive sequential create",
		Setup: setup,
		Op: func(_ context.Context, e *matrix.Env) error {
			return retry(func() error {
				_, err := e.State.(*zk.Conn).Create("/n-", nil, zk.FlagSequence, open())
				return err
			})
		},
		Check: func(e *matrix.Env) error {
			if n := len(e.Server.Dump()); n > 2 { // with the root
				return fmt.Errorf("%d nodes of one create", n-1)
			}
			return nil
		},
	})
	require.Equal(t, 1, res.Requests)
	require.Equal(t, len(matrix.All()), res.Cases)
	require.Zero(t, res.Missed)
	require.Equal(t, map[matrix.Fault]int{matrix.LostReply: 1, matrix.SilentReply: 1, matrix.CancelUnknown: 1, matrix.ExpireAfter: 1}, kinds(res))
}

func TestALeakedNodeIsCaught(t *testing.T) {
	res := matrix.Explore(t, matrix.Case{
		Name:  "temporary node",
		Setup: setup,
		Op: func(ctx context.Context, e *matrix.Env) error {
			c := e.State.(*zk.Conn)
			p, err := c.Create("/tmp-", nil, zk.FlagSequence, open())
			if err != nil {
				return err // wrong: the node may have been created
			}
			if ctx.Err() != nil {
				return ctx.Err() // wrong: the created node is left behind
			}
			return c.Delete(p, -1)
		},
		Check: func(e *matrix.Env) error {
			if len(e.Server.Dump()) > 1 {
				return errors.New("a node is left")
			}
			return nil
		},
	})
	require.Equal(t, 2, res.Requests)
	got := kinds(res)
	for _, f := range []matrix.Fault{
		matrix.LostReply, matrix.SilentReply, matrix.LostRequest, matrix.BlackHole,
		matrix.CancelContext, matrix.Expire, matrix.ExpireAfter,
	} {
		require.Positive(t, got[f], f)
	}
	require.Zero(t, got[matrix.Pause])
}

func TestAHangIsCaughtAndNamed(t *testing.T) {
	res := matrix.Explore(t, matrix.Case{
		Name:  "deaf",
		Setup: setup,
		Op: func(ctx context.Context, e *matrix.Env) error {
			_, err := e.State.(*zk.Conn).Create("/a", nil, 0, open())
			if err != nil {
				time.Sleep(2 * time.Hour) // hours too long
			}
			return err
		},
		Check:  func(*matrix.Env) error { return nil },
		Faults: []matrix.Fault{matrix.LostReply, matrix.Pause},
		Limit:  time.Hour,
	})
	require.Len(t, res.Failures, 1)
	f := res.Failures[0]
	require.ErrorIs(t, f, matrix.ErrHang)
	require.Equal(t, matrix.LostReply, f.Fault)
	require.Equal(t, 1, f.Request)
	require.Contains(t, f.Error(), "LostReply at request 1: operation hangs")
}

func TestACorrectOperationPassesEverywhere(t *testing.T) {
	for _, servers := range []int{1, 3} {
		res := matrix.Run(t, matrix.Case{
			Name:    "idempotent set and read",
			Options: &zktest.Options{Servers: servers},
			Setup: func(e *matrix.Env) error {
				if servers == 3 {
					time.Sleep(time.Second) // election
				}
				if err := e.Server.Create("/v", nil); err != nil {
					return err
				}
				time.Sleep(time.Second)
				return setup(e)
			},
			Op: func(ctx context.Context, e *matrix.Env) error {
				c := e.State.(*zk.Conn)
				stop := context.AfterFunc(ctx, func() {
					if e.Suffers(matrix.Outage) {
						c.Close() // go-zookeeper's calls know no context
					}
				})
				defer stop()
				set := func() error { _, err := c.Set("/v", []byte("x"), -1); return err }
				get := func() error { _, _, err := c.Get("/v"); return err }
				for _, f := range []func() error{set, get} {
					err := retry(f)
					if errors.Is(err, zk.ErrSessionExpired) {
						err = retry(f)
					}
					if err != nil {
						return err
					}
				}
				return nil
			},
			Check: func(e *matrix.Env) error {
				if e.Err != nil && !e.Suffers(matrix.Outage) {
					return e.Err
				}
				n, err := e.Server.Get("/v")
				if err == nil && e.Err == nil && string(n.Data) != "x" {
					return fmt.Errorf("data %q", n.Data)
				}
				other, err2 := connect(e, e.DialOther)
				if err2 == nil {
					_, _, err2 = other.Get("/v")
				}
				return errors.Join(err, err2)
			},
		})
		require.Equal(t, 2, res.Requests)
		require.Equal(t, 2*len(matrix.All()), res.Cases)
	}
}

func TestHeartbeatsDoNotShiftTheNumbering(t *testing.T) {
	res := matrix.Explore(t, matrix.Case{
		Name:  "with heartbeats",
		Setup: setup,
		Op: func(_ context.Context, e *matrix.Env) error {
			c := e.State.(*zk.Conn)
			for range 3 {
				if _, err := c.Multi(&zk.CheckVersionRequest{Path: "/", Version: -1}); err != nil {
					return err
				}
				time.Sleep(20 * time.Second) // pings
			}
			_, _, err := c.Exists("/a")
			return err
		},
		Faults: []matrix.Fault{matrix.Cut},
	})
	require.Equal(t, 1, res.Requests)
	require.Zero(t, res.Missed)
	require.Empty(t, res.Failures)
}

func TestARequestThatNeverComesIsAFailureUnlessAllowed(t *testing.T) {
	run := func(racy bool) matrix.Result {
		return matrix.Explore(t, matrix.Case{
			Name:  "second request only without a fault",
			Setup: setup,
			Op: func(_ context.Context, e *matrix.Env) error {
				if e.Fault != "" {
					return nil
				}
				_, _, err := e.State.(*zk.Conn).Exists("/a")
				return err
			},
			Faults: []matrix.Fault{matrix.Pause},
			Racy:   racy,
		})
	}
	require.Len(t, run(false).Failures, 1)
	require.Empty(t, run(true).Failures)
	require.Equal(t, 1, run(true).Missed)
}

// Requests that few runs make are not broken.
func TestRacyCaseHasTheUsualNumberOfRequests(t *testing.T) {
	res := matrix.Explore(t, varying(20, 20, 2))
	require.Equal(t, []int{2, 2, 0, 0}, []int{res.Requests, res.Cases, res.Missed, len(res.Failures)})
}

// varying is a case whose runs have these numbers of requests, and all later runs the
// last number.
func varying(requests ...int) matrix.Case {
	return matrix.Case{
		Name: "varying", Setup: setup, Racy: true, Faults: []matrix.Fault{matrix.Pause},
		Op: func(_ context.Context, e *matrix.Env) error {
			now := requests[0]
			if len(requests) > 1 {
				requests = requests[1:]
			}
			for range now {
				if _, _, err := e.State.(*zk.Conn).Exists("/a"); err != nil {
					return err
				}
			}
			return nil
		},
	}
}

// Only what comes in every run without a fault must be struck.
func TestRequestsThatComeByChanceMayBeMissed(t *testing.T) {
	for name, requests := range map[string][]int{
		"the usual run is the longer one": {8, 5, 8, 5, 8, 5},
		"all runs at first are longer":    {8, 8, 8, 8, 8, 5},
	} {
		t.Run(name, func(t *testing.T) {
			res := matrix.Explore(t, varying(requests...))
			require.Equal(t, []int{8, 8, 3}, []int{res.Requests, res.Cases, res.Missed})
			require.Empty(t, res.Failures)
		})
	}
}

// An operation that returns early under a fault is not tested under this fault.
func TestCaseThatMissesMoreThanAQuarterOfItsFaultsIsAFailure(t *testing.T) {
	explore := func(cases, missed int) matrix.Result {
		n := 0
		return matrix.Explore(t, matrix.Case{
			Name: "evading", Setup: setup, Racy: true, Faults: slices.Repeat([]matrix.Fault{matrix.Pause}, cases),
			Op: func(_ context.Context, e *matrix.Env) error {
				if e.Fault != "" {
					if n++; n <= missed {
						return nil
					}
				}
				_, _, err := e.State.(*zk.Conn).Exists("/a")
				return err
			},
		})
	}
	for cases, most := range map[int]int{1: 1, 2: 1, 4: 1, 5: 2, 8: 2} {
		res := explore(cases, most)
		require.Equal(t, []int{cases, most}, []int{res.Cases, res.Missed})
		require.Empty(t, res.Failures)
		if most == cases {
			continue
		}
		res = explore(cases, most+1)
		require.Len(t, res.Failures, 1)
		require.ErrorIs(t, res.Failures[0], matrix.ErrMissed)
		require.NotContains(t, res.Failures[0].Error(), "without a fault")
	}
	res := explore(0, 0)
	require.Len(t, res.Failures, 1)
	require.ErrorIs(t, res.Failures[0], matrix.ErrMissed)
}

// findOrMake creates a node with a unique name. If the answer is lost,
// findOrMake looks for the node, but only once: two lost answers defeat the
// search. The function runs in a bubble.
func findOrMake(e *matrix.Env) error {
	c := e.State.(*zk.Conn)
	_, err := c.Create("/q/mine", nil, 0, open())
	if lost(err) {
		time.Sleep(5 * time.Second) // the client is connected again by then
		var there bool
		if there, _, err = c.Exists("/q/mine"); lost(err) {
			return errors.New("gave up") // and leaves its node behind
		}
		if err == nil && !there {
			_, err = c.Create("/q/mine", nil, 0, open())
		}
	}
	if err != nil {
		return err
	}
	return retry(func() error {
		if err := c.Delete("/q/mine", -1); !errors.Is(err, zk.ErrNoNode) {
			return err
		}
		return nil
	})
}

func TestPairsFindWhatOneFaultDoesNot(t *testing.T) {
	explore := func(pairs []matrix.Fault) matrix.Result {
		return matrix.Explore(t, matrix.Case{
			Name: "search once",
			Setup: func(e *matrix.Env) error {
				return errors.Join(e.Server.Create("/q", nil), setup(e))
			},
			Op:     func(_ context.Context, e *matrix.Env) error { return findOrMake(e) },
			Check:  func(e *matrix.Env) error { return e.NoChildren("/q", time.Minute) },
			Faults: []matrix.Fault{matrix.LostReply},
			Pairs:  pairs,
		})
	}
	require.Empty(t, explore(nil).Failures)
	res := explore([]matrix.Fault{matrix.LostReply})
	require.Len(t, res.Failures, 1)
	require.ErrorIs(t, res.Failures[0], matrix.ErrOrphan)
	require.Equal(t, []int{1, 2}, []int{res.Failures[0].Request, res.Failures[0].Second})
	require.Contains(t, res.Failures[0].Error(), "LostReply at requests 1 and 2")
}

func TestMixedPairsAreOfTwoFaultsInEitherOrder(t *testing.T) {
	explore := func(mixed int) (out []string) {
		res := matrix.Explore(t, matrix.Case{
			Name: "two reads", Faults: []matrix.Fault{}, Pairs: []matrix.Fault{matrix.Pause, matrix.Cut}, Mixed: mixed, Setup: setup,
			Op: func(_ context.Context, e *matrix.Env) error {
				read := func() error { _, _, err := e.State.(*zk.Conn).Exists("/a"); return err }
				return errors.Join(retry(read), retry(read))
			},
			Check: func(e *matrix.Env) error {
				if e.Second == 0 {
					return nil
				}
				if !e.Suffers(matrix.LostReply, e.Then) || !e.Suffers(e.Fault) || e.Suffers(matrix.LostReply) {
					t.Errorf("it suffers something else than %s and %s", e.Fault, e.Then)
				}
				return errors.New("so it is")
			},
		})
		require.Len(t, res.Failures, res.Cases)
		for _, f := range res.Failures {
			out = append(out, f.Error())
		}
		return out
	}
	all := []string{
		"Pause at requests 1 and 2: so it is", "Pause at request 1 and Cut at request 2: so it is",
		"Cut at request 1 and Pause at request 2: so it is", "Cut at requests 1 and 2: so it is",
	}
	require.Equal(t, all, explore(1))
	require.Equal(t, []string{all[1], all[3]}, explore(2))
	require.Equal(t, []string{all[0], all[3]}, explore(0))
}

func TestEveryTriesAllAtTheEndsAndTakesTurnsBetween(t *testing.T) {
	explore := func(requests, every int, pairs ...matrix.Fault) (out []string) {
		res := matrix.Explore(t, matrix.Case{
			Name: "reads", Faults: []matrix.Fault{matrix.Pause, matrix.Cut}, Pairs: pairs, Every: every, Setup: setup,
			Op: func(_ context.Context, e *matrix.Env) error {
				for range requests {
					if err := retry(func() error { _, _, err := e.State.(*zk.Conn).Exists("/a"); return err }); err != nil {
						return err
					}
				}
				return nil
			},
			Check: func(e *matrix.Env) error {
				if e.Request == 0 || len(pairs) > 0 && e.Second == 0 {
					return nil
				}
				return errors.New("so it is")
			},
		})
		for _, f := range res.Failures {
			out = append(out, strings.TrimSuffix(strings.Replace(f.Error(), " at request", "", 1), ": so it is"))
		}
		return out
	}
	require.Equal(t, []string{"Pause 1", "Cut 1", "Cut 2", "Pause 3", "Pause 4", "Cut 4"}, explore(4, 3))
	require.Equal(t, []string{"Pause 1", "Cut 1", "Pause 2", "Cut 2"}, explore(2, 3), "there are only ends")
	require.Len(t, explore(4, 0), 8)
	require.Len(t, explore(4, 1), 8)
	require.Equal(t, []string{"Pauses 1 and 2"}, explore(2, 3, matrix.Pause))
	require.Equal(t, []string{"Pauses 1 and 2", "Pauses 2 and 4"}, explore(4, 3, matrix.Pause))
	require.Len(t, explore(4, 0, matrix.Pause), 6)
}

func TestEventuallyWaitsInVirtualTime(t *testing.T) {
	res := matrix.Explore(t, matrix.Case{
		Name:    "ensemble is ready before Setup",
		Options: &zktest.Options{Servers: 5},
		Setup: func(e *matrix.Env) error {
			if e.Server.Leader() == 0 {
				return errors.New("no leader yet")
			}
			return setup(e)
		},
		Op: func(_ context.Context, e *matrix.Env) error {
			_, err := e.State.(*zk.Conn).Create("/e", nil, zk.FlagEphemeral, open())
			return err
		},
		Check: func(e *matrix.Env) error {
			if err := e.NoChildren("/none", 0); err != nil {
				return err
			}
			if err := e.NoChildren("/", time.Second); !errors.Is(err, matrix.ErrOrphan) {
				return fmt.Errorf("/ has children, but %w", err)
			}
			begin := time.Now()
			n := 0
			err := e.Eventually(time.Hour, func() error {
				if n++; n < 10 {
					return errors.New("not yet")
				}
				return nil
			})
			if time.Since(begin) != 900*time.Millisecond {
				return errors.New("polls at another rate")
			}
			return err
		},
		Faults: []matrix.Fault{matrix.Pause},
	})
	require.Empty(t, res.Failures)
	require.Equal(t, 1, res.Cases)
}

func TestAnOperationThatFailsWithoutAFaultIsAFailure(t *testing.T) {
	res := matrix.Explore(t, matrix.Case{
		Name: "fails",
		Op:   func(context.Context, *matrix.Env) error { return errors.New("always") },
	})
	require.Len(t, res.Failures, 1)
	require.ErrorContains(t, res.Failures[0], "without a fault: the operation fails: always")
	res = matrix.Explore(t, matrix.Case{
		Name:  "setup fails",
		Setup: func(*matrix.Env) error { return errors.New("no") },
		Op:    func(context.Context, *matrix.Env) error { return nil },
	})
	require.ErrorContains(t, res.Failures[0], "setup: no")
}
