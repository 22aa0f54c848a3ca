package main

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"
	"github.com/zkrecipes/zkrecipes/lock"
	"github.com/zkrecipes/zkrecipes/session"
)

// job is what "zkr lock" is asked to do.
type job struct {
	path    string
	argv    []string
	timeout time.Duration // of the wait, from zkr's start; 0: none
	try     bool
	grace   time.Duration
	graceIs bool // it was asked for, and is not the default
	permits int  // of a semaphore; 0: a mutex
	layout  string
	opts    lock.Options
}

const lockHelp = `Runs CMD while holding the lock PATH, and releases it when CMD has ended.

CMD runs in a process group of its own, in the foreground if zkr was there, with
zkr's stdin, stdout and stderr and with ZKR_LOCK_PATH (the znode that stands for
the lock), ZKR_LOCK_TOKEN (the fencing token, which grows with every grant) and
ZKR_LOCK_SESSION in its environment. Signals INT, TERM, HUP, QUIT, USR1, USR2 and
WINCH are passed on to the group. While zkr waits for the lock, INT, TERM, HUP
and QUIT end the wait, and leave no znode behind.

When the lock is lost, the group gets TERM, and KILL after --grace, and is gone
before a server can grant the lock to anybody else: zkr gives up that much ahead
of the end of its session. So the session timeout must be at least four times the
grace and half a second; without --session-timeout, zkr asks for six times the
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
takes effect.
` + exitHelp

// lock is "zkr lock".
func (a *app) lock() *cobra.Command {
	var j job
	cmd := &cobra.Command{
		Use:   "lock PATH [flags] -- CMD [ARGS...]",
		Short: "Run a command while holding a lock, and stop it before the lock can be lost",
		Long:  lockHelp,
		Example: "  zkr lock /locks/backup -- pg_dump -f /backup/db.sql\n" +
			"  zkr lock /locks/report --try -- ./report || test $? -eq 75\n" +
			"  zkr lock /slots/encode -n 3 -- ffmpeg -i in.mov out.mp4",
		Args: func(cmd *cobra.Command, args []string) error {
			dash := cmd.ArgsLenAtDash()
			switch {
			case dash == 1 && len(args) > 1:
				return nil
			case len(args) == 0:
				return usage("which lock, and which command? zkr lock PATH -- CMD [ARGS...]")
			case dash < 0 && len(args) > 1:
				return usage("put -- between the lock's path and the command: zkr lock %s -- %s ...", args[0], args[1])
			case dash > 1:
				return usage("one path, then --, then the command; there are %d words before the --", dash)
			}
			return usage("which command? zkr lock %s -- CMD [ARGS...]", args[0])
		},
		RunE: does(func(cmd *cobra.Command, args []string) error {
			j.path, j.argv, j.graceIs = args[0], args[1:], cmd.Flags().Changed("grace")
			if err := j.check(cmd.Flags().Changed("n")); err != nil {
				return err
			}
			return a.runJob(cmd.Context(), &j)
		}),
	}
	f := cmd.Flags()
	f.DurationVar(&j.timeout, "timeout", 0, "how long to wait for the lock, connecting included; 0: for ever")
	f.BoolVar(&j.try, "try", false, "do not wait: exit with 75 if somebody else has it")
	f.DurationVar(&j.grace, "grace", defaultGrace, "time between TERM and KILL when the command must stop")
	f.StringVar(&j.opts.ID, "id", "", "`text` that says to others who holds or waits; default: host:pid")
	f.IntVarP(&j.permits, "n", "n", 0, "semaphore of `N` permits, of which the command takes one; 0: a mutex")
	f.DurationVar(&j.opts.LockDelay, "lock-delay", 0, "wait so long before taking over from a holder that was lost; all who use PATH must say the same")
	f.StringVar(&j.layout, "layout", "curator", "`curator|kazoo`: whose names the znodes have")
	f.BoolVar(&j.opts.CuratorV2, "curator-v2", false, "with -n: share the path with Curator's InterProcessSemaphoreV2")
	cmd.AddCommand(a.lockList())
	return cmd
}

// check checks what the flags say together.
func (j *job) check(semaphore bool) error {
	switch j.layout {
	case "curator":
	case "kazoo":
		j.opts.Layout = lock.Kazoo
	default:
		return usage("--layout is %q; it must be curator or kazoo", j.layout)
	}
	if err := session.ValidatePath(j.path); err != nil {
		return usage("%w", err)
	}
	switch {
	case j.timeout < 0:
		return usage("--timeout is %v; it must be 0 (for ever) or more", j.timeout)
	case j.grace < 0:
		return usage("--grace is %v; it must be 0 (KILL at once) or more", j.grace)
	case semaphore && j.permits < 0:
		return usage("-n is %d; it must be 0 (a mutex) or more", j.permits)
	case j.opts.LockDelay < 0:
		return usage("--lock-delay is %v; it must be 0 (none) or more", j.opts.LockDelay)
	case j.permits > 0 && (j.opts.LockDelay > 0 || j.opts.Layout != lock.Curator):
		return usage("--lock-delay and --layout are for a mutex; they have no meaning with -n")
	case j.permits == 0 && j.opts.CuratorV2:
		return usage("--curator-v2 is for a semaphore; say -n as well")
	}
	return nil
}

// look is the command that shows who has the lock.
func (j *job) look() string {
	if j.permits > 0 {
		return fmt.Sprintf("\"zkr lock ls -n %d %s\"", j.permits, j.path)
	}
	return fmt.Sprintf("\"zkr lock ls %s\"", j.path)
}

// what names the lock for people.
func (j *job) what() string {
	if j.permits > 0 {
		return fmt.Sprintf("a permit of %s", j.path)
	}
	return "the lock " + j.path
}
