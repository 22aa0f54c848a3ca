package fence_test

import (
	"context"
	"errors"
	"math"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/fence"
	"github.com/zkrecipes/zkrecipes/internal/world"
	"github.com/zkrecipes/zkrecipes/lock"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/zktest"
	"github.com/zkrecipes/zkrecipes/zktest/matrix"
)

const (
	lockPath  = "/locks/a"
	epochPath = "/fence/app/epoch"
)

// hold takes the lock.
func hold(w *world.World, c *session.Client) *lock.Held {
	w.Helper()
	held, err := lock.New(c, lockPath, nil).Lock(w.Ctx)
	require.NoError(w, err)
	return held
}

// issue makes a token.
func issue(w *world.World, c *session.Client, held session.Held) fence.Token {
	w.Helper()
	token, err := fence.NewIssuer(c, epochPath, nil).Token(w.Ctx, held)
	require.NoError(w, err)
	return token
}

// epoch is the data of the epoch's znode.
func epoch(w *world.World) string {
	w.Helper()
	n, err := w.Server.Get(epochPath)
	require.NoError(w, err)
	return string(n.Data)
}

// proof matches the transaction of Issuer.Token, and no heartbeat.
func proof(r zktest.Request) bool { return r.Op == "multi" && slices.Contains(r.Paths, epochPath) }

func TestTokenHasTheNumberOfTheHoldAndTheEpochOfTheEnsemble(t *testing.T) {
	world.In(t, nil, func(w *world.World) {
		c := w.Client()
		held := hold(w, c)
		before := time.Now().UnixMilli()
		first := issue(w, c, held)
		require.Equal(w, held.Token(), first.Number)
		require.Equal(w, epoch(w), strconv.FormatInt(first.Epoch, 10))
		require.GreaterOrEqual(w, first.Epoch/1e6, before)
		require.LessOrEqual(w, first.Epoch/1e6, time.Now().UnixMilli())
		require.Equal(w, first, issue(w, c, held))
		require.NoError(w, held.Unlock(w.Ctx))
		w.Pass(time.Hour)

		other := w.Client()
		next := hold(w, other)
		second := issue(w, other, next)
		require.Equal(w, first.Epoch, second.Epoch)
		require.Equal(w, 1, second.Compare(first))
		require.NoError(w, next.Unlock(w.Ctx))
	})
}

func TestATokenTakesOneReadAndOneTransaction(t *testing.T) {
	world.In(t, nil, func(w *world.World) {
		c := w.Client()
		held := hold(w, c)
		issue(w, c, held)
		before := w.Requests(c)
		issue(w, c, held)
		require.Equal(w, 2, w.Requests(c)-before)
	})
}

// The ensemble is recreated empty: the numbers begin again, and by numbers alone the
// former holder would win.
func TestAfterARecreationNewHoldersAreAcceptedAndFormerOnesRefused(t *testing.T) {
	world.In(t, nil, func(w *world.World) {
		for range 100 {
			require.NoError(w, w.Server.Create("/filler", nil))
			require.NoError(w, w.Server.Delete("/filler"))
		}
		c := w.Client()
		former := hold(w, c)
		old := issue(w, c, former)
		var receiver fence.Memory
		require.NoError(w, receiver.Do(w.Ctx, "/r", old, nothing))
		require.NoError(w, w.Server.RestartEmpty())
		w.Pass(time.Minute)

		_, err := fence.NewIssuer(c, epochPath, nil).Token(w.Ctx, former)
		require.ErrorIs(w, err, session.ErrLost, "no token has the old number and the new epoch")
		next := hold(w, w.Client())
		now := issue(w, w.Client(), next)
		require.Less(w, now.Number, old.Number)
		require.NoError(w, receiver.Do(w.Ctx, "/r", now, nothing))
		require.ErrorIs(w, receiver.Do(w.Ctx, "/r", old, nothing), fence.ErrStale)
	})
}

// The clocks start at the same moment in each incarnation.
func TestIncarnationsAtTheSameTimeHaveDifferentEpochs(t *testing.T) {
	seen := map[string]bool{}
	for range 3 {
		world.In(t, nil, func(w *world.World) {
			c := w.Client()
			issue(w, c, hold(w, c))
			require.False(w, seen[epoch(w)])
			seen[epoch(w)] = true
		})
	}
}

// A backup brings back the former epoch and former zxids: only Advance helps.
func TestAfterARestoreAdvanceMakesNewHoldersWin(t *testing.T) {
	world.In(t, &zktest.Options{Servers: 3}, func(w *world.World) {
		c := w.Client()
		held := hold(w, c)
		first := issue(w, c, held)
		require.NoError(w, held.Unlock(w.Ctx))
		backup, err := w.Server.Mark()
		require.NoError(w, err)
		// The lost part of the history has a token that is far ahead.
		lost := fence.Token{Epoch: first.Epoch, Number: first.Number + 1<<40}
		var receiver fence.Memory
		require.NoError(w, receiver.Do(w.Ctx, "/r", lost, nothing))
		require.NoError(w, w.Server.RollBack(backup))
		w.Pass(time.Minute)

		c = w.Client()
		held = hold(w, c)
		require.ErrorIs(w, receiver.Do(w.Ctx, "/r", issue(w, c, held), nothing), fence.ErrStale, "the epoch is that of the backup")
		advanced, err := fence.NewIssuer(c, epochPath, nil).Advance(w.Ctx, 0)
		require.NoError(w, err)
		now := issue(w, c, held)
		require.Equal(w, advanced, now.Epoch)
		require.NoError(w, receiver.Do(w.Ctx, "/r", now, nothing))
		require.ErrorIs(w, receiver.Do(w.Ctx, "/r", lost, nothing), fence.ErrStale)
	})
}

func TestAHoldThatHasEndedGetsNoToken(t *testing.T) {
	world.In(t, nil, func(w *world.World) {
		c := w.Client()
		held := hold(w, c)
		issue(w, c, held)
		require.NoError(w, held.Unlock(w.Ctx))
		_, err := fence.NewIssuer(c, epochPath, nil).Token(w.Ctx, held)
		require.ErrorIs(w, err, session.ErrReleased)
		require.ErrorContains(w, err, "fence: token with the epoch of "+epochPath+": the hold has ended")

		held = hold(w, c)
		w.Once(proof, func() { require.NoError(w, w.Server.Delete(held.Path())) })
		_, err = fence.NewIssuer(c, epochPath, nil).Token(w.Ctx, held)
		require.ErrorIs(w, err, session.ErrNoNode, "the server knows first")
		require.ErrorContains(w, err, "the hold has ended")
	})
}

func TestAnEpochThatChangesDuringTheCallIsReadAgain(t *testing.T) {
	world.In(t, nil, func(w *world.World) {
		c := w.Client()
		held := hold(w, c)
		first := issue(w, c, held)
		higher := strconv.FormatInt(first.Epoch+7, 10)
		w.Once(proof, func() { require.NoError(w, w.Server.Set(epochPath, []byte(higher))) })
		require.Equal(w, first.Epoch+7, issue(w, c, held).Epoch)
		w.Pass(time.Second)
		w.Once(proof, func() { require.NoError(w, w.Server.Delete(epochPath)) })
		again := issue(w, c, held)
		require.Greater(w, again.Epoch, first.Epoch+7, "a deleted epoch is replaced by a higher one")
		require.Equal(w, epoch(w), strconv.FormatInt(again.Epoch, 10))
	})
}

// registration is a hold whose token changes while a token is made.
type registration struct {
	session.Held
	tokens []int64
}

func (r *registration) Context() context.Context { return context.Background() }
func (r *registration) Guard() session.Op        { return session.CheckOp("/registered", -1) }
func (r *registration) Token() int64 {
	token := r.tokens[0]
	if len(r.tokens) > 1 {
		r.tokens = r.tokens[1:]
	}
	return token
}

func TestTheNumberIsThatOfTheProvedGrant(t *testing.T) {
	world.In(t, nil, func(w *world.World) {
		require.NoError(w, w.Server.Create("/registered", nil))
		require.EqualValues(w, 9, issue(w, w.Client(), &registration{tokens: []int64{5, 7, 7, 9}}).Number)
		_, err := fence.NewIssuer(w.Client(), epochPath, nil).Token(w.Ctx, &registration{tokens: []int64{0}})
		require.ErrorIs(w, err, fence.ErrInvalidArgument)
	})
}

func TestIssuersThatStartTogetherHaveOneEpoch(t *testing.T) {
	world.In(t, nil, func(w *world.World) {
		require.NoError(w, w.Server.Create("/registered", nil))
		var wg sync.WaitGroup
		epochs := make([]int64, 10)
		for i := range epochs {
			c := w.Client()
			// Waited for below; ends with its token.
			wg.Go(func() {
				token, err := fence.NewIssuer(c, epochPath, nil).Token(w.Ctx, &registration{tokens: []int64{1}})
				if err != nil {
					w.Error(err)
				}
				epochs[i] = token.Epoch
			})
		}
		wg.Wait()
		require.Len(w, slices.Compact(epochs), 1)
	})
}

func TestInvalidEpochsAreReportedAndReplacedByAdvance(t *testing.T) {
	world.In(t, nil, func(w *world.World) {
		c := w.Client()
		held := hold(w, c)
		issue(w, c, held)
		issuer := fence.NewIssuer(c, epochPath, nil)
		for _, data := range []string{"", "0", "-1", "+1", "01", "1\n", "one", "9223372036854775808"} {
			require.NoError(w, w.Server.Set(epochPath, []byte(data)))
			_, err := issuer.Token(w.Ctx, held)
			require.ErrorIs(w, err, fence.ErrCorruptEpoch, "%q", data)
			require.ErrorContains(w, err, strconv.Quote(data))
			advanced, err := issuer.Advance(w.Ctx, 0)
			require.NoError(w, err)
			require.Equal(w, advanced, issue(w, c, held).Epoch)
		}
		require.NoError(w, w.Server.Set(epochPath, []byte("1")))
		require.EqualValues(w, 1, issue(w, c, held).Epoch, "the lowest epoch is valid")
	})
}

func TestAdvanceGoesBeyondThePresentEpochAndTheGivenOne(t *testing.T) {
	world.In(t, nil, func(w *world.World) {
		issuer := fence.NewIssuer(w.Client(), epochPath, nil)
		first, err := issuer.Advance(w.Ctx, 0)
		require.NoError(w, err)
		require.Equal(w, epoch(w), strconv.FormatInt(first, 10), "a missing znode is created")
		second, err := issuer.Advance(w.Ctx, 0)
		require.NoError(w, err)
		require.Greater(w, second, first)

		const ahead = math.MaxInt64 - 10 // of a clock that was wrong
		third, err := issuer.Advance(w.Ctx, ahead)
		require.NoError(w, err)
		require.EqualValues(w, ahead+1, third)
		fourth, err := issuer.Advance(w.Ctx, 0)
		require.NoError(w, err)
		require.EqualValues(w, ahead+2, fourth)
		// Another operator advances at the same time.
		w.Once(func(r zktest.Request) bool { return r.Op == "setData" }, func() {
			require.NoError(w, w.Server.Set(epochPath, strconv.AppendInt(nil, ahead+5, 10)))
		})
		fifth, err := issuer.Advance(w.Ctx, 0)
		require.NoError(w, err)
		require.EqualValues(w, ahead+6, fifth)

		require.NoError(w, w.Server.Set(epochPath, strconv.AppendInt(nil, math.MaxInt64, 10)))
		_, err = issuer.Advance(w.Ctx, 0)
		require.ErrorIs(w, err, fence.ErrCorruptEpoch)
		require.Equal(w, "9223372036854775807", epoch(w))
	})
}

func TestEpochIsTheOneOfTheTokensAndCreatesNothing(t *testing.T) {
	world.In(t, nil, func(w *world.World) {
		c := w.Client()
		issuer := fence.NewIssuer(c, epochPath, nil)
		present, err := issuer.Epoch(w.Ctx)
		require.NoError(w, err)
		require.Zero(w, present)
		_, err = w.Server.Get("/fence")
		require.Error(w, err, "nothing was created")
		token := issue(w, c, hold(w, c))
		present, err = issuer.Epoch(w.Ctx)
		require.NoError(w, err)
		require.Equal(w, token.Epoch, present)
		advanced, err := issuer.Advance(w.Ctx, 0)
		require.NoError(w, err)
		present, err = fence.NewIssuer(w.Client(), epochPath, nil).Epoch(w.Ctx)
		require.NoError(w, err)
		require.Equal(w, advanced, present)
		require.NoError(w, w.Server.Delete(epochPath))
		present, err = issuer.Epoch(w.Ctx)
		require.NoError(w, err)
		require.Zero(w, present)
		require.NoError(w, w.Server.Create(epochPath, []byte("01")))
		_, err = issuer.Epoch(w.Ctx)
		require.ErrorIs(w, err, fence.ErrCorruptEpoch)
		require.ErrorContains(w, err, "fence: read the epoch of "+epochPath)
	})
}

// A server that lags behind has the former epoch.
func TestEpochIsNotThatOfAServerThatLagsBehind(t *testing.T) {
	world.In(t, &zktest.Options{Servers: 3}, func(w *world.World) {
		w.Pass(time.Second)
		leader := w.Server.Leader()
		follower := leader%3 + 1
		other := fence.NewIssuer(w.ClientAt(w.Server.ServerAddr(leader), session.Options{}), epochPath, nil)
		first, err := other.Advance(w.Ctx, 0)
		require.NoError(w, err)
		issuer := fence.NewIssuer(w.ClientAt(w.Server.ServerAddr(follower), session.Options{}), epochPath, nil)
		present, err := issuer.Epoch(w.Ctx)
		require.NoError(w, err)
		require.Equal(w, first, present)
		require.NoError(w, w.Server.Lag(follower, true))
		second, err := other.Advance(w.Ctx, 0)
		require.NoError(w, err)
		_, err = issuer.Epoch(w.Within(2 * time.Second))
		require.ErrorIs(w, err, context.DeadlineExceeded, "rather no answer than an old one")
		require.NoError(w, w.Server.Lag(follower, false))
		present, err = issuer.Epoch(w.Ctx)
		require.NoError(w, err)
		require.Equal(w, second, present)
	})
}

func TestTheEpochHasTheACLOfTheOptions(t *testing.T) {
	world.In(t, nil, func(w *world.World) {
		c := w.Client()
		held := hold(w, c)
		acl := session.WorldACL(session.PermRead)
		issuer := fence.NewIssuer(c, epochPath, &fence.Options{ACL: acl})
		_, err := issuer.Token(w.Ctx, held)
		require.NoError(w, err)
		got, _, err := w.Session(c).ACL(w.Ctx, epochPath)
		require.NoError(w, err)
		require.Equal(w, acl, got)
		_, err = issuer.Advance(w.Ctx, 0)
		require.ErrorIs(w, err, session.ErrNoAuth)
	})
}

func TestInvalidArgumentsOfAnIssuerAreErrorsOfTheFirstCall(t *testing.T) {
	world.In(t, nil, func(w *world.World) {
		c := w.Client()
		held := hold(w, c)
		for name, issuer := range map[string]*fence.Issuer{
			"client is nil":             fence.NewIssuer(nil, epochPath, nil),
			"path":                      fence.NewIssuer(c, "relative", nil),
			"path is the root":          fence.NewIssuer(c, "/", nil),
			"make it with":              {},
			"make it with fence.NewIss": nil,
		} {
			_, err := issuer.Token(w.Ctx, held)
			require.ErrorIs(w, err, fence.ErrInvalidArgument)
			require.ErrorContains(w, err, name)
			_, err = issuer.Advance(w.Ctx, 0)
			require.ErrorIs(w, err, fence.ErrInvalidArgument)
			require.ErrorContains(w, err, name)
			_, err = issuer.Epoch(w.Ctx)
			require.ErrorIs(w, err, fence.ErrInvalidArgument)
			require.ErrorContains(w, err, name)
		}
		issuer := fence.NewIssuer(c, epochPath, nil)
		_, err := issuer.Token(w.Ctx, nil)
		require.ErrorContains(w, err, "held is nil")
		for _, above := range []int64{-1, math.MaxInt64} {
			_, err = issuer.Advance(w.Ctx, above)
			require.ErrorIs(w, err, fence.ErrInvalidArgument)
		}
		ctx, cancel := context.WithCancel(w.Ctx)
		cancel()
		_, err = issuer.Token(ctx, held)
		require.ErrorIs(w, err, context.Canceled)
		_, err = issuer.Advance(ctx, 0)
		require.ErrorIs(w, err, context.Canceled)
		_, err = issuer.Epoch(ctx)
		require.ErrorIs(w, err, context.Canceled)
	})
}

// Both calls under every fault at every request.
func TestTokenUnderEveryFault(t *testing.T) {
	t.Parallel()
	n := world.Trial{
		Name: "Token",
		Op: func(ctx context.Context, p *world.Party) error {
			return lock.New(p.Tested, lockPath, nil).Do(ctx, func(ctx context.Context, held *lock.Held) error {
				token, err := fence.NewIssuer(p.Tested, epochPath, nil).Token(ctx, held)
				p.State = token
				if err == nil {
					err = token.Validate()
				}
				return err
			})
		},
		Next: func(ctx context.Context, p *world.Party) error {
			held, err := lock.New(p.Other, lockPath, nil).Lock(ctx)
			if err != nil {
				return err
			}
			token, err := fence.NewIssuer(p.Other, epochPath, nil).Token(ctx, held)
			if err == nil {
				former, _ := p.State.(fence.Token)
				err = fence.Check("/r", token, former)
			}
			return errors.Join(err, held.Unlock(ctx))
		},
	}.Run(t)
	require.Positive(t, n)
}

func TestAdvanceUnderEveryFault(t *testing.T) {
	t.Parallel()
	n := world.Trial{
		Name: "Advance",
		Op: func(ctx context.Context, p *world.Party) error {
			advanced, err := fence.NewIssuer(p.Tested, epochPath, nil).Advance(ctx, 0)
			p.State = advanced
			return err
		},
		Next: func(ctx context.Context, p *world.Party) error {
			former, _ := p.State.(int64)
			next, err := fence.NewIssuer(p.Other, epochPath, nil).Advance(ctx, 0)
			if err == nil && next <= former {
				err = fence.ErrStale
			}
			return err
		},
	}.Run(t)
	require.Positive(t, n)
}

func TestEpochUnderEveryFault(t *testing.T) {
	t.Parallel()
	n := world.Trial{
		Name:   "Epoch",
		Counts: func(r zktest.Request) bool { return r.Op == "multi" || r.Op == "getData" },
		Setup: func(e *matrix.Env, _ *world.Party) error {
			return e.Server.Create("/epoch", []byte("17"))
		},
		Op:   func(ctx context.Context, p *world.Party) error { return requireEpoch(ctx, p.Tested) },
		Next: func(ctx context.Context, p *world.Party) error { return requireEpoch(ctx, p.Other) },
	}.Run(t)
	require.Positive(t, n)
}

// errOtherEpoch is the error of requireEpoch.
var errOtherEpoch = errors.New("the epoch is not 17")

// requireEpoch reads the epoch, which must be 17.
func requireEpoch(ctx context.Context, c *session.Client) error {
	present, err := fence.NewIssuer(c, "/epoch", nil).Epoch(ctx)
	if err == nil && present != 17 {
		err = errOtherEpoch
	}
	return err
}
