package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"
	"github.com/zkrecipes/zkrecipes/lock"
	"github.com/zkrecipes/zkrecipes/session"
)

// lockErrand is what "zkr lock" is asked to do.
type lockErrand struct {
	errand
	path    string
	permits int // of a semaphore; 0: a mutex
	layout  string
	opts    lock.Options
}

const lockHelp = `Runs CMD while holding the lock PATH, and releases it when CMD has ended. All who
use PATH must say the same -n, or none: a mutex does not see a semaphore's permits
on its path, nor they it.

CMD runs in a process group of its own, in the foreground if zkr was there, with
zkr's stdin, stdout and stderr and with ZKR_LOCK_PATH (the znode that stands for
the lock), ZKR_LOCK_TOKEN (the fencing token, which grows with every grant) and
ZKR_LOCK_SESSION in its environment. Signals INT, TERM, HUP, QUIT, USR1, USR2 and
WINCH are passed on to the group. While zkr waits for the lock, INT, TERM, HUP
and QUIT end the wait, and leave no znode behind.

When the lock is lost, the group gets TERM, and KILL after --grace, and is gone
before a server can grant the lock to anybody else: zkr gives up that much ahead
of the end of its session, and half a second to two seconds more, so that a busy
machine has time for the KILL. So the session timeout must be at least four times
the grace and half a second; without --session-timeout, zkr asks for six times the
grace (10s to 40s). When it turns out that the lock is gone already (somebody
deleted the znode, or expired the session by hand) there is no grace but that of
--lock-delay: KILL follows at once.

When CMD has ended, what it left running in its process group is stopped as well,
before the lock is released. On Linux a lost lock also ends descendants that have
moved to other process groups, and CMD is killed when zkr dies.

Limits: descendants that moved to another group are left alone when CMD ends by
itself, and elsewhere than on Linux also when the lock is lost; the rest of the
group outlives a zkr that is killed with KILL. A zkr that is itself stopped, or
on a machine that is suspended, cannot stop anything; it kills CMD as soon as it
runs again. What must never happen twice should check ZKR_LOCK_TOKEN where it
takes effect. What changes its user, as sudo does, cannot be stopped by zkr, nor does
it die with it: use "sudo zkr lock", not "zkr lock PATH -- sudo".
`

// lock is "zkr lock".
func (a *app) lock() *cobra.Command {
	var e lockErrand
	cmd := &cobra.Command{
		Use:   "lock PATH [flags] -- CMD [ARGS...]",
		Short: "Run a command while holding a lock, and stop it before the lock can be lost",
		Long:  lockHelp,
		Example: "  zkr lock /locks/backup -- pg_dump -f /backup/db.sql\n" +
			"  zkr lock /locks/report --try -- ./report || test $? -eq 75\n" +
			"  zkr lock /slots/encode -n 3 -- ffmpeg -i in.mov out.mp4",
		Args: beforeCommand("lock", "PATH"),
		RunE: does(func(cmd *cobra.Command, args []string) error {
			e.path, e.argv = args[0], args[1:]
			if err := e.checkAll(cmd); err != nil {
				return err
			}
			e.aim = e.toHold()
			return a.carryOut(cmd.Context(), &e.errand)
		}),
	}
	e.runFlags(cmd)
	f := cmd.Flags()
	f.BoolVar(&e.try, "try", false, "do not wait: exit with 75 if somebody else has it")
	f.StringVar(&e.opts.ID, "id", "", "`text` that says to others who holds or waits; default: host:pid")
	f.IntVarP(&e.permits, "n", "n", 0, "semaphore of `N` permits, of which the command takes one; 0: a mutex")
	f.DurationVar(&e.opts.LockDelay, "lock-delay", 0, "wait so long before taking over from a holder that was lost; all who use PATH must say the same")
	f.StringVar(&e.layout, "layout", "curator", "the znodes' `layout`: curator or kazoo")
	oneOf(cmd, "layout", "curator", "kazoo")
	f.BoolVar(&e.opts.CuratorV2, "curator-v2", false, "with -n: share the path with Curator's InterProcessSemaphoreV2")
	cmd.AddCommand(a.lockList())
	return cmd
}

// checkAll checks what the flags say together.
func (e *lockErrand) checkAll(cmd *cobra.Command) error {
	switch e.layout {
	case "curator":
	case "kazoo":
		e.opts.Layout = lock.Kazoo
	default:
		return usage("--layout is %q; it must be curator or kazoo", e.layout)
	}
	if err := session.ValidatePath(e.path); err != nil {
		return usage("%w", err)
	}
	if err := e.check(cmd); err != nil {
		return err
	}
	switch {
	case cmd.Flags().Changed("n") && e.permits < 0:
		return usage("-n is %d; it must be 0 (a mutex) or more", e.permits)
	case e.opts.LockDelay < 0:
		return usage("--lock-delay is %v; it must be 0 (none) or more", e.opts.LockDelay)
	case e.permits > 0 && (e.opts.LockDelay > 0 || e.opts.Layout != lock.Curator):
		return usage("--lock-delay and --layout are for a mutex; they have no meaning with -n")
	case e.permits == 0 && e.opts.CuratorV2:
		return usage("--curator-v2 is for a semaphore; say -n as well")
	}
	return nil
}

// toHold is the lock, or a permit.
func (e *lockErrand) toHold() aim {
	if e.permits > 0 {
		return aim{
			name: "a permit of " + e.path, look: fmt.Sprintf("\"zkr lock ls -n %d %s\"", e.permits, e.path),
			env: "ZKR_LOCK", get: e.permit,
		}
	}
	return aim{
		name: "the lock " + e.path, look: fmt.Sprintf("\"zkr lock ls %s\"", e.path),
		env: "ZKR_LOCK", delay: e.opts.LockDelay, get: e.mutex,
	}
}

func (e *lockErrand) permit(ctx context.Context, client *session.Client) (*grant, error) {
	s := lock.NewSemaphore(client, e.path, e.permits, &e.opts)
	acquire := s.Acquire
	if e.try {
		acquire = s.TryAcquire
	}
	p, err := acquire(ctx, 1)
	if err != nil {
		return nil, err
	}
	return &grant{holdable: p, token: p.Token(), release: p.Release}, nil
}

func (e *lockErrand) mutex(ctx context.Context, client *session.Client) (*grant, error) {
	m := lock.New(client, e.path, &e.opts)
	get := m.Lock
	if e.try {
		get = m.TryLock
	}
	h, err := get(ctx)
	if err != nil {
		return nil, err
	}
	return &grant{holdable: h, token: h.Token(), release: h.Unlock}, nil
}
