package main

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"github.com/zkrecipes/zkrecipes/rebalanser"
	"github.com/zkrecipes/zkrecipes/rebalanser/assignor"
	"github.com/zkrecipes/zkrecipes/session"
)

const rebalanceJoinHelp = `Takes part in GROUP, and runs CMD once for each resource that is owned, beside each
other, each in a process group of its own, with zkr's stdout and stderr and nothing on
stdin. It goes on over lost sessions, as a new member, until it is ended: by INT
(Ctrl-C) or TERM with the exit code 0.

A resource that is to be given up is still owned: its CMD gets TERM, is waited for as
long as it takes, or is killed after --revoke-timeout, and then the resource is
released. So it is with all of them when zkr is ended; a second signal kills them. A
resource that is lost may have another owner soon: its CMD gets TERM, and KILL after
--grace, and is gone before a server can let anybody else in; "zkr lock --help" has
the limits. Whatever else CMD has started is ended with it, daemons too.

A CMD that ends with 0 is done with its resource, which stays owned. If it ends
otherwise zkr gives all up, leaves the group and exits as it did; with --retry it runs
CMD again after a while.

In CMD's environment are ZKR_RESOURCE (the name), ZKR_TOKEN (the fencing token, which
grows with each owner of the resource: what CMD writes to should refuse a lower one
than it has seen), ZKR_GROUP (the path), ZKR_CLIENT (the name of the member's znode)
and ZKR_SESSION. Signals USR1 and USR2 are passed on to all of them.

The coordinator goes by its own --assignor, --initial-delay, --departure-delay,
--min-interval and --max-moves: all members should agree on them.
`

// groupJoin is "zkr group join".
type groupJoin struct {
	*rebalance
	errand  // its flags and command only
	opts    rebalanser.Options
	assign  string
	revoke  time.Duration // how long a command may take to give up; 0: for ever
	retry   time.Duration // 0: a command that fails ends zkr
	signals chan os.Signal

	plan   plan
	client *session.Client
	group  *rebalanser.Group
	rush   chan struct{} // closed when nothing is waited for any more

	keepers keepers
}

// rebalanceJoin is "zkr group join".
func (a *app) rebalanceJoin() *cobra.Command {
	c := &rebalance{app: a}
	j := &groupJoin{rebalance: c, rush: make(chan struct{}), keepers: keepers{all: map[int]*keeping{}}}
	cmd := &cobra.Command{
		Use:   "join GROUP [flags] -- CMD [ARGS...]",
		Short: "Take part in a group: run a command for each resource that is owned",
		Long:  rebalanceJoinHelp,
		Example: "  zkr group join /rebalanser/orders -- sh -c 'exec ./consume --queue $ZKR_RESOURCE --token $ZKR_TOKEN'\n" +
			"  zkr group join /rebalanser/orders --instance $(hostname) --subscribe 'orders-*' --retry 5s -- ./consume",
		Args: beforeCommand("group", "GROUP"),
		RunE: does(func(cmd *cobra.Command, args []string) error {
			if err := c.check(args); err != nil {
				return err
			}
			j.argv = args[1:]
			if err := j.checkAll(cmd); err != nil {
				return err
			}
			return j.run(cmd.Context())
		}),
	}
	j.flags(cmd)
	return cmd
}

func (j *groupJoin) flags(cmd *cobra.Command) {
	f, o := cmd.Flags(), &j.opts
	j.modeFlag(cmd)
	f.StringVar(&o.ID, "id", "", "`text` that says to people who the member is; default: host:pid")
	f.StringVar(&o.Instance, "instance", "", "`name` that stays: the member gets back what it had if it comes back within --departure-delay, and nothing else moves")
	f.DurationVar(&o.InstanceWait, "instance-wait", 0, "how long to wait for another member of that --instance to go; 0: two session timeouts")
	f.IntVar(&o.Weight, "weight", 1, "the member's share, for the assignor weighted")
	f.StringVar(&o.Zone, "zone", "", "`name` of where the member is, for the assignor zones")
	f.StringArrayVar(&o.Subscription, "subscribe", nil, "`pattern` such as 'orders-*' of resources that the member takes; may be repeated; default: all")
	f.StringVar(&j.assign, "assignor", assignor.Names()[0], "who gets what: `name` of sticky, range, round-robin, weighted, zones")
	oneOf(cmd, "assignor", assignor.Names()...)
	f.DurationVar(&o.InitialDelay, "initial-delay", 0, "how long a group in which nobody has anything waits for more members")
	f.DurationVar(&o.DepartureDelay, "departure-delay", 0, "for how long what a member with an --instance had is kept for it; 0: 30s")
	f.DurationVar(&o.MinInterval, "min-interval", 0, "time from one plan to the next, at least")
	f.IntVar(&o.MaxMoves, "max-moves", 0, "how many resources are on their way at a time; 0: any number")
	f.DurationVar(&j.grace, "grace", defaultGrace, "time between TERM and KILL when a resource is lost, and for what CMD leaves running")
	f.DurationVar(&j.revoke, "revoke-timeout", 0, "time between TERM and KILL when a resource is to be given up; 0: for ever")
	f.DurationVar(&j.retry, "retry", 0, "run a CMD that fails again after so long; 0: leave the group, and exit as it did")
}

// checkAll checks what can be checked without a server.
func (j *groupJoin) checkAll(cmd *cobra.Command) (err error) {
	if err := j.check(cmd); err != nil {
		return err
	}
	if err := j.checkMode(); err != nil {
		return err
	}
	o := &j.opts
	for flag, d := range map[string]time.Duration{
		"instance-wait": o.InstanceWait, "initial-delay": o.InitialDelay, "departure-delay": o.DepartureDelay,
		"min-interval": o.MinInterval, "revoke-timeout": j.revoke, "retry": j.retry,
	} {
		if d < 0 {
			return usage("--%s is %v; it must be 0 or more", flag, d)
		}
	}
	for flag, value := range map[string]string{"id": o.ID, "zone": o.Zone} {
		if err := isText(flag, value); err != nil {
			return err
		}
	}
	if j.opts.Assignor, err = assignor.ByName(j.assign); err != nil {
		return usage("--assignor: %w", err)
	}
	if cmd.Flags().Changed("instance") {
		if err := checkShort("--instance", o.Instance); err != nil {
			return err
		}
	}
	switch {
	case strings.HasPrefix(o.Instance, "_"):
		return usage("--instance is %.60q; it must not begin with an underscore, as the names of members do", o.Instance)
	case o.Weight < 1 || o.Weight > 1_000_000:
		return usage("--weight is %d; it must be from 1 to 1000000", o.Weight)
	case o.MaxMoves < 0:
		return usage("--max-moves is %d; it must be 0 (any number) or more", o.MaxMoves)
	}
	return patterns(o.Subscription)
}

// check of the errand, and not of the path.
func (j *groupJoin) check(cmd *cobra.Command) error { return j.errand.check(cmd) }

// run takes part until a signal comes.
func (j *groupJoin) run(ctx context.Context) error {
	if err := canRun(j.argv[0]); err != nil {
		return err // each resource would be taken, and given up, for it
	}
	defer listenForBrokenPipes()() // a remark that nobody reads must not end zkr
	adoptOrphans()
	j.signals = listen()
	signal.Notify(j.signals, syscall.SIGTSTP)
	defer signal.Stop(j.signals)
	member, end := context.WithCancelCause(ctx)
	defer end(nil)
	over := make(chan struct{})
	var listener sync.WaitGroup
	defer listener.Wait()
	defer close(over)
	// Waited for above; ends with over.
	listener.Go(func() { j.heed(member, end, over) })
	client, p, err := j.app.connectFor(member, &j.errand)
	if err == nil {
		j.client, j.plan = client, p
		defer func() { _ = hangUp(ctx, client) }()
		err = j.takePart(member)
	}
	return j.verdict(context.Cause(member), err)
}

// takePart is the membership.
func (j *groupJoin) takePart(ctx context.Context) (err error) {
	making, cancel := context.WithTimeout(ctx, j.app.flags.connectTimeout)
	defer cancel()
	if j.opts.Mode, err = j.make(making, j.client, j.opts); err != nil {
		return err
	}
	j.group = rebalanser.New(j.client, j.path, rebalanser.Each(j.work), &j.opts)
	watching, stop := context.WithCancel(ctx)
	var watcher sync.WaitGroup
	defer watcher.Wait()
	defer stop()
	// Waited for above; ends when the member has looked once, or with watching.
	watcher.Go(func() { j.remarkEmpty(watching) })
	return j.group.Run(ctx)
}

// remarkEmpty says, once it is a member, if there is nothing to share out: the path may
// be misspelled, and who joins such a group has made it.
func (j *groupJoin) remarkEmpty(ctx context.Context) {
	for s, err := range j.group.States(ctx) {
		if err != nil {
			return
		}
		if s.Phase != "member" {
			continue
		}
		names, err := rebalanser.Open(j.client, j.path, nil).Resources(ctx)
		if err == nil && len(names) == 0 {
			path := readable([]byte(j.path))
			j.app.note("%s has no resources: waiting for some; \"zkr group add %s RESOURCE...\" adds them", path, path)
		}
		return
	}
}

// verdict is what zkr's end means. cause is why the membership was ended, if
// somebody has ended it.
func (j *groupJoin) verdict(cause, err error) error {
	var by endedBy
	switch {
	case errors.As(err, new(*failure)):
		return err
	case j.group == nil && cause != nil:
		return interrupted(cause, "gave up joining")
	case errors.Is(err, session.ErrLost):
		return &failure{code: exitLost, err: err}
	case err != nil:
		return j.advised(err)
	case errors.As(cause, &by) && by.sig != syscall.SIGINT && by.sig != syscall.SIGTERM:
		return interrupted(cause, "left the group")
	}
	return nil
}

// heed does what signals say: the first that ends things ends the membership in
// order, the second waits for nothing.
func (j *groupJoin) heed(ctx context.Context, end context.CancelCauseFunc, over <-chan struct{}) {
	rushed := false
	for {
		select {
		case sig := <-j.signals:
			switch {
			case sig == syscall.SIGTSTP:
				// Its commands would go on, and others own what they work on.
				j.app.note("cannot be stopped: it must watch over its commands")
			case !ends(sig):
				j.keepers.pass(sig.(syscall.Signal))
			case ctx.Err() == nil:
				end(endedBy{sig.(syscall.Signal)})
			case !rushed:
				rushed = true
				close(j.rush)
			}
		case <-over:
			return
		}
	}
}
