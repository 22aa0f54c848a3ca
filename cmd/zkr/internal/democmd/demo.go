package democmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os/signal"
	"runtime"
	"time"

	"github.com/spf13/cobra"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/cli"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/signals"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/supervise"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// The settings of the demonstration. Short sessions keep the demonstration short; on a
// machine that is too slow for them the sessions become longer, up to demoLongest.
const (
	demoTick    = 500 * time.Millisecond
	demoSession = 3 * time.Second
	demoLongest = 24 * time.Second
	demoDir     = "/demo"
	demoLock    = demoDir + "/lock"
	demoValue   = demoDir + "/value"
)

const demoHelp = `Starts a ZooKeeper server in this process, and four worker processes that contend
for one lock. The demo kills one holder and freezes another for longer than its
session lasts; the other workers hand the lock over. The time line shows each holder
with its token. At the end the demo checks that two workers never held the lock at
the same time, that tokens grew, that the frozen worker was told of its loss, and
that its late write was refused.

The demo needs nothing but this program, takes about 15 seconds, and exits with 0
only if all checks succeeded. If a busy machine makes a worker lose its session, the
demo starts once more with longer sessions. "zkr demo cluster" shows an election, on
a page where nodes can be killed.`

// demo is "zkr demo".
func (a *app) demo() *cobra.Command {
	var keep bool
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Demonstrate how a lock is handed over, lost and fenced; needs no server",
		Long:  demoHelp,
		Example: "  zkr demo\n" +
			"  zkr demo -o json | jq -r 'select(.event) | \"\\(.worker) \\(.event)\"'",
		Args: cobra.NoArgs,
		RunE: cli.RunE(func(cmd *cobra.Command, _ []string) error {
			received := signals.Listen()
			defer signal.Stop(received)
			ctx, stop := signals.UntilSignal(cmd.Context(), received)
			defer func() { _ = stop() }()
			return a.runDemo(ctx, keep)
		}),
	}
	cmd.Flags().BoolVar(&keep, "keep", false, "continue with new workers until Ctrl-C")
	cmd.AddCommand(a.demoCluster(), a.demoNode())
	return cmd
}

// errDisturbed: a worker has lost a session without a scene that takes the
// session.
var errDisturbed = errors.New("a worker has lost its session without a scene that ends the session")

func (a *app) runDemo(ctx context.Context, keep bool) error {
	if !supervise.RunsCommands {
		return errors.New("the demonstration freezes processes with SIGSTOP, which Windows lacks; \"zkr demo cluster\" runs here")
	}
	// Workers die with the thread that starts them: this thread lasts.
	runtime.LockOSThread()
	for timeout := cmp.Or(a.Flags.SessionTimeout, demoSession); ; timeout *= 2 {
		err := a.demoUnder(ctx, timeout, keep)
		if !errors.Is(err, errDisturbed) {
			return err
		}
		a.Note("%v: this machine is too busy for sessions of %v; retrying with sessions of %v", err, timeout, 2*timeout)
	}
}

// demoUnder shows the demonstration with sessions of that timeout. The error is
// errDisturbed if nothing was wrong, but some scenes could not be shown.
func (a *app) demoUnder(ctx context.Context, timeout time.Duration, keep bool) error {
	srv, err := zktest.Start(&zktest.Options{TickTime: demoTick, MaxSessionTimeout: max(timeout, 20*demoTick)})
	if err != nil {
		return err
	}
	defer func() { _ = srv.Close() }()
	judge := newJudge()
	srv.OnApply(judge.applied)
	if err := errors.Join(srv.Create(demoDir, nil), srv.Create(demoValue, nil)); err != nil {
		return err
	}
	show := newTimeline(a)
	show.title(srv.Addr(), timeout)
	for round := 1; ; round++ {
		err := a.demoRound(ctx, srv.Addr(), timeout, judge, show)
		if err != nil && ctx.Err() != nil {
			round, err = round-1, nil // a signal is a usual end; the scenes so far are judged
		}
		if err == nil && keep && ctx.Err() == nil {
			show.line("round %d is over; the next round has new workers (Ctrl-C ends the demo)", round)
			continue
		}
		v := judge.judgeEvents()
		if err != nil && v.OK && judge.disturbed() && timeout < demoLongest {
			return errDisturbed
		}
		v.Rounds = round
		if err := show.printVerdict(v, err); err != nil || round > 0 {
			return err
		}
		return signals.Interrupted(context.Cause(ctx), "not all scenes were shown")
	}
}

// demoRound lets four workers live through everything once.
func (a *app) demoRound(ctx context.Context, servers string, timeout time.Duration, judge *judge, show *timeline) error {
	c := newCrew(servers, timeout, a.Stderr, judge, show)
	defer c.dismiss()
	for i, name := range []string{"w1", "w2", "w3", "w4"} {
		if err := c.startWorker(name); err != nil {
			return err
		}
		// Workers queue up one after the other, so that their places in the queue
		// are known. A worker reports its wait before the request for its place:
		// the next worker could overtake.
		if _, err := c.await(ctx, name, "waits"); err != nil {
			return err
		}
		if err := c.queue(ctx, i+1); err != nil {
			return err
		}
		if name != "w1" {
			continue
		}
		if _, err := c.await(ctx, name, "holds"); err != nil {
			return err
		}
	}
	s := &script{crew: c, judge: judge}
	for _, scene := range []func(context.Context) error{s.killed, s.frozen, s.handedOver, s.comeBack} {
		if err := scene(ctx); err != nil {
			return err
		}
	}
	return nil
}

// script plays the scenes in order.
type script struct {
	crew  *crew
	judge *judge
}

// killed: the holder dies without a word; the next worker gets the lock when
// the server expires the session.
func (s *script) killed(ctx context.Context) error {
	if err := s.crew.watch(ctx, 1200*time.Millisecond); err != nil {
		return err
	}
	at := s.crew.kill("w1")
	next, err := s.crew.await(ctx, "w2", "holds")
	if err == nil {
		s.judge.took(killToGrant, next.At.Sub(at))
	}
	return err
}

// frozen: the holder does not run while its session ends and another worker
// gets the lock. When the holder runs again, the holder is told at once, and
// its late write fails.
func (s *script) frozen(ctx context.Context) error {
	if err := s.crew.watch(ctx, 1200*time.Millisecond); err != nil {
		return err
	}
	s.crew.freeze("w2")
	if _, err := s.crew.await(ctx, "w3", "holds"); err != nil {
		return err
	}
	if err := s.crew.watch(ctx, 800*time.Millisecond); err != nil {
		return err
	}
	at := s.crew.wake("w2")
	lost, err := s.crew.await(ctx, "w2", "lost")
	if err != nil {
		return err
	}
	s.judge.took(wakeToTold, lost.At.Sub(at))
	_, err = s.crew.await(ctx, "w2", "refused")
	return err
}

// handedOver: the holder releases the lock, and the next worker has the lock in
// milliseconds.
func (s *script) handedOver(ctx context.Context) error {
	if err := s.crew.watch(ctx, 800*time.Millisecond); err != nil {
		return err
	}
	if err := s.crew.order("w3", "release"); err != nil {
		return err
	}
	released, err := s.crew.await(ctx, "w3", "releases")
	if err != nil {
		return err
	}
	next, err := s.crew.await(ctx, "w4", "holds")
	if err == nil {
		s.judge.took(handOver, next.At.Sub(released.At))
	}
	return err
}

// comeBack: the worker that had lost the lock has queued up again, and gets the
// lock in turn.
func (s *script) comeBack(ctx context.Context) error {
	for _, name := range []string{"w4", "w2"} {
		if name == "w2" {
			if _, err := s.crew.await(ctx, name, "holds"); err != nil {
				return err
			}
		}
		if err := s.crew.watch(ctx, 800*time.Millisecond); err != nil {
			return err
		}
		if err := s.crew.order(name, "release"); err != nil {
			return err
		}
	}
	for _, name := range []string{"w3", "w4", "w2"} {
		if _, err := s.crew.await(ctx, name, "leaves"); err != nil {
			return fmt.Errorf("the end of %s: %w", name, err)
		}
	}
	return nil
}
