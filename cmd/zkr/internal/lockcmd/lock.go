package lockcmd

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/cli"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/exit"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/supervise"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/takeaway"
	"github.com/zkrecipes/zkrecipes/lock"
	"github.com/zkrecipes/zkrecipes/session"
)

// lockSpec has the arguments of "zkr lock".
type lockSpec struct {
	supervise.RunSpec
	path    string
	permits int // of a semaphore; 0: a mutex
	// revocable: the command ends when another client asks for the lock.
	revocable bool
	layout    string
	opts      lock.Options
}

const lockHelp = `Runs CMD while holding the lock PATH, and releases the lock when CMD has ended. All
clients of PATH must use the same -n, or none: a mutex does not see the permits of a
semaphore on the same path, nor does a semaphore see the mutex.

CMD runs in a process group of its own, with zkr's stdin, stdout and stderr, and in
the foreground if zkr was in the foreground. CMD's environment has ZKR_LOCK_PATH
(the holder's znode), ZKR_LOCK_TOKEN (the fencing token, which grows with every
grant) and ZKR_LOCK_SESSION. zkr passes the signals INT, TERM, HUP, QUIT, USR1, USR2
and WINCH on to the group. While zkr waits for the lock, INT, TERM, HUP and QUIT end
the wait, and leave no znode behind. A wait of more than a second is explained on
stderr, in one line that is renewed on a terminal: who holds, for how long, and how
many are ahead. The znodes tell the moment of the grant only of a holder that has not
waited; of another one zkr says for how long it has held at least, and when it came.

If the lock is lost while CMD runs, zkr stops CMD: the group gets TERM, then KILL
after --grace, and is gone before a server can grant the lock to another client. For
this, zkr gives up the lock early: by the grace, plus a tenth of the session timeout
(2s at most) so that a busy machine has time for the KILL. The session timeout must
therefore be at least four times the sum of the grace and half a second (a timeout
below 8s: of the grace and a sixteenth of the timeout). A longer session timeout lets
a server be silent for longer before zkr stops CMD, and --tick-time adds to that.
Without --session-timeout, zkr requests six times the grace (10s to 40s). If the lock
is already gone (its znode was deleted, or its session was expired by hand), KILL
follows immediately, unless --lock-delay leaves time for the grace.

When CMD has ended, zkr stops all processes left in CMD's process group before it
releases the lock. If no server confirms the release within 5s, a note on stderr says
how long the lock may stay taken, and zkr exits as CMD did. On Linux, a lost lock
also ends descendants that have moved to other process groups. A supervisor process
between zkr and CMD kills all of these processes if zkr dies, even by KILL.

Limits: descendants that have moved to another group keep running when CMD ends by
itself; elsewhere than on Linux they also keep running when the lock is lost or zkr
dies. A zkr that is stopped, or whose machine is suspended, cannot stop CMD; it
kills CMD as soon as zkr runs again. Actions that must never happen twice should check
ZKR_LOCK_TOKEN at the place where they take effect. zkr cannot stop a CMD that
changes its user, such as sudo, and such a CMD does not end with zkr: use "sudo zkr
lock", not "zkr lock PATH -- sudo".
`

// lock is "zkr lock".
func (a *app) lock() *cobra.Command {
	var e lockSpec
	cmd := &cobra.Command{
		Use:   "lock PATH [flags] -- CMD [ARGS...]",
		Short: "Run a command while holding a lock, and stop the command before another client can hold the lock",
		Long:  lockHelp,
		Example: "  zkr lock /locks/backup -- pg_dump -f /backup/db.sql\n" +
			"  zkr lock /locks/report --try -- ./report || test $? -eq 75\n" +
			"  zkr lock /slots/encode -n 3 -- ffmpeg -i in.mov out.mp4",
		Args: cli.BeforeCommand("lock", "PATH"),
		RunE: cli.RunE(func(cmd *cobra.Command, args []string) error {
			e.path, e.Argv = args[0], args[1:]
			if err := e.checkAll(cmd); err != nil {
				return err
			}
			e.Target = e.toHold()
			return supervise.Run(cmd.Context(), a.App, &e.RunSpec)
		}),
	}
	e.RunFlags(cmd)
	f := cmd.Flags()
	f.BoolVar(&e.Try, "try", false, "do not wait: exit with 75 if the lock is not free")
	f.StringVar(&e.opts.ID, "id", "", "`text` that describes the contender to people; default: host:pid")
	f.IntVarP(&e.permits, "n", "n", 0, "semaphore of `N` permits, of which the command takes one; 0: a mutex")
	f.DurationVar(&e.opts.LockDelay, "lock-delay", 0, "how long to wait before taking over from a lost holder; must be the same for all clients of PATH")
	f.StringVar(&e.layout, "layout", "curator", "the znodes' `layout`: curator or kazoo")
	cli.OneOf(cmd, "layout", "curator", "kazoo")
	f.BoolVar(&e.opts.CuratorV2, "curator-v2", false, "with -n: share the path with Curator's InterProcessSemaphoreV2")
	f.BoolVar(&e.revocable, "revocable", false, "end the command with TERM when another client asks for the lock: \"zkr lock revoke\", or Curator's Revoker")
	cmd.AddCommand(a.lockList(), a.revoke(), a.breakLock())
	return cmd
}

// checkAll checks the flags together.
func (e *lockSpec) checkAll(cmd *cobra.Command) error {
	switch e.layout {
	case "curator":
	case "kazoo":
		e.opts.Layout = lock.Kazoo
	default:
		return exit.Usage("--layout is %q; it must be curator or kazoo", e.layout)
	}
	if err := session.ValidatePath(e.path); err != nil {
		return exit.Usage("%w", err)
	}
	if err := e.Check(cmd); err != nil {
		return err
	}
	switch {
	case cmd.Flags().Changed("n") && e.permits < 0:
		return exit.Usage("-n is %d; it must be 0 (a mutex) or more", e.permits)
	case e.opts.LockDelay < 0:
		return exit.Usage("--lock-delay is %v; it must be 0 (none) or more", e.opts.LockDelay)
	case e.permits > 0 && (e.opts.LockDelay > 0 || e.opts.Layout != lock.Curator):
		return exit.Usage("--lock-delay and --layout are for a mutex; they have no meaning with -n")
	case e.permits > 0 && e.revocable:
		return exit.Usage("--revocable is for a mutex; it has no meaning with -n")
	case e.permits == 0 && e.opts.CuratorV2:
		return exit.Usage("--curator-v2 is for a semaphore, and needs -n")
	}
	return nil
}

// toHold is the lock, or a permit.
func (e *lockSpec) toHold() supervise.Target {
	if e.permits > 0 {
		return supervise.Target{
			Name: "a permit of " + e.path, ListCommand: fmt.Sprintf("\"zkr lock ls -n %d %s\"", e.permits, e.path),
			EnvPrefix: "ZKR_LOCK", Acquire: e.acquirePermit,
			WaitsFor: supervise.Queue(e.path, func(ctx context.Context, client *session.Client) ([]lock.Contender, error) {
				return e.semaphore(client).Contenders(ctx)
			}, describe),
		}
	}
	return supervise.Target{
		Name: "the lock " + e.path, ListCommand: fmt.Sprintf("\"zkr lock ls %s\"", e.path),
		EnvPrefix: "ZKR_LOCK", Delay: e.opts.LockDelay, Acquire: e.acquireMutex,
		WaitsFor: supervise.Queue(e.path, func(ctx context.Context, client *session.Client) ([]lock.Contender, error) {
			return e.mutex(client).Contenders(ctx)
		}, describe),
	}
}

func describe(c lock.Contender) supervise.Contender {
	out := supervise.Contender{Name: string(c.Data), Session: c.Session, Since: c.Since, Holds: c.Holds}
	if !c.Outside {
		out.Token = c.Token
	}
	return out
}

func (e *lockSpec) semaphore(client *session.Client) *lock.Semaphore {
	return lock.NewSemaphore(client, e.path, e.permits, &e.opts)
}

func (e *lockSpec) mutex(client *session.Client) *lock.Mutex {
	return lock.New(client, e.path, &e.opts)
}

func (e *lockSpec) acquirePermit(ctx context.Context, client *session.Client) (*supervise.Hold, error) {
	s := e.semaphore(client)
	acquire := s.Acquire
	if e.Try {
		acquire = s.TryAcquire
	}
	p, err := acquire(ctx, 1)
	if err != nil {
		return nil, err
	}
	return &supervise.Hold{Holdable: p, Token: p.Token(), Release: p.Release, TakenBy: takeaway.By(p.Broken, readBreak)}, nil
}

func (e *lockSpec) acquireMutex(ctx context.Context, client *session.Client) (*supervise.Hold, error) {
	m := e.mutex(client)
	get := m.Lock
	if e.Try {
		get = m.TryLock
	}
	h, err := get(ctx)
	if err != nil {
		return nil, err
	}
	hold := &supervise.Hold{Holdable: h, Token: h.Token(), Release: h.Unlock, TakenBy: takeaway.By(h.Broken, readBreak)}
	if e.revocable {
		hold.AwaitRequest = h.AwaitRevocation
	}
	return hold, nil
}
