package rebalancecmd

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
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/cli"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/exit"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/signals"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/supervise"
	"github.com/zkrecipes/zkrecipes/rebalanser"
	"github.com/zkrecipes/zkrecipes/rebalanser/assignor"
	"github.com/zkrecipes/zkrecipes/session"
)

const rebalanceJoinHelp = `Joins GROUP as a member, and runs CMD once for each owned resource, concurrently.
Each CMD has a process group of its own, zkr's stdout and stderr, and an empty
stdin. zkr continues over lost sessions, as a new member, until INT (Ctrl-C) or TERM
ends it.

If the coordinator moves a resource to another member, zkr still owns the resource
while CMD ends: CMD gets TERM, zkr waits for CMD indefinitely or kills it after
--revoke-timeout, and then releases the resource. At its end zkr releases all
resources in the same way, after --leave-grace, in which the commands continue
undisturbed. A second signal kills the commands; zkr then exits with 128+n.

If a resource is lost, another member may own it soon: CMD gets TERM, then KILL after
--grace, and is gone before a server can grant the resource to another member; "zkr
lock --help" describes the limits. All processes that CMD has started end with CMD,
daemons too.

If CMD ends with 0, its work for the resource is done, and zkr keeps the resource.
If CMD ends otherwise, zkr releases all resources, leaves the group and exits as CMD
did. With --retry zkr keeps the resource and runs CMD again after a pause, which
doubles with each failure in a row, up to a minute; "zkr rebalance status" lists
such resources. With --restart-delay zkr joins again after a failure of CMD or an
error of a server has made it leave.

CMD's environment has ZKR_RESOURCE (the name), ZKR_TOKEN (the fencing token, which
grows with each owner of the resource: a store that CMD writes to should refuse a
token lower than the greatest it has seen), ZKR_GROUP (the path), ZKR_CLIENT (the
name of the member's znode) and ZKR_SESSION. zkr passes the signals USR1 and USR2 on
to all commands.
` + cli.GivenBack

// groupJoin is "zkr rebalance join".
type groupJoin struct {
	*rebalance
	supervise.RunSpec // its flags and command only
	opts              rebalanser.Options
	assign            string
	revoke            time.Duration // how long a command may take to give up; 0: no limit
	signals           chan os.Signal

	plan   supervise.Plan
	client *session.Client
	group  *rebalanser.Group
	rush   chan struct{} // closed when zkr waits for nothing any more

	keepers supervise.Supervisors
}

// rebalanceJoin is "zkr rebalance join".
func (a *app) rebalanceJoin() *cobra.Command {
	c := &rebalance{app: a}
	j := &groupJoin{rebalance: c, rush: make(chan struct{}), keepers: supervise.Supervisors{All: map[int]*supervise.Supervised{}}}
	cmd := &cobra.Command{
		Annotations: cli.Does(cli.HasRole, cli.CanBeBusy),
		Use:         "join GROUP [flags] -- CMD [ARGS...]",
		Short:       "Be a member of a group: run a command for each owned resource",
		Long:        rebalanceJoinHelp,
		Example: "  zkr rebalance join /rebalanser/orders -- sh -c 'exec ./consume --queue $ZKR_RESOURCE --token $ZKR_TOKEN'\n" +
			"  zkr rebalance join /rebalanser/orders --instance $(hostname) --subscribe 'orders-*' --retry 5s -- ./consume",
		Args: cli.BeforeCommand("group", "GROUP"),
		RunE: cli.RunE(func(cmd *cobra.Command, args []string) error {
			if err := c.check(args); err != nil {
				return err
			}
			j.Argv = args[1:]
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
	f.StringVar(&o.ID, "id", "", "`text` that describes the member to people; default: host:pid")
	f.StringVar(&o.Instance, "instance", "", "`name` of a static member: if the member comes back within --departure-delay, it gets its resources back, and no other resource moves")
	f.DurationVar(&o.InstanceWait, "instance-wait", 0, "how long to wait until another member of the same --instance has left; 0: two session timeouts")
	f.IntVar(&o.Weight, "weight", 1, "the member's weight, for the assignor weighted")
	f.StringVar(&o.Zone, "zone", "", "`name` of the member's zone, for the assignor zones")
	f.StringArrayVar(&o.Subscription, "subscribe", nil, "`pattern` of the resources that the member takes, such as 'orders-*'; may be repeated; default: all")
	f.StringVar(&j.assign, "assignor", assignor.Names()[0], "`name` of the assignor, which chooses the owners: sticky, range, round-robin, weighted or zones")
	cli.OneOf(cmd, "assignor", assignor.Names()...)
	f.DurationVar(&o.InitialDelay, "initial-delay", 0, "how long a group without assigned resources waits for more members")
	f.DurationVar(&o.DepartureDelay, "departure-delay", 0, "how long the resources of an absent member with an --instance are kept for that member; 0: 30s")
	f.DurationVar(&o.MinInterval, "min-interval", 0, "minimum time between two assignments")
	f.IntVar(&o.MaxMoves, "max-moves", 0, "how many resources move at the same time at most; 0: any number")
	f.DurationVar(&j.Grace, "grace", supervise.DefaultGrace, "time between TERM and KILL when a resource is lost, and for what CMD leaves running")
	f.DurationVar(&j.revoke, "revoke-timeout", 0, "time between TERM and KILL when a resource moves to another member; 0: no limit")
	f.DurationVar(&o.RetryDelay, "retry", 0, "pause before a failed CMD runs again, which doubles with each failure in a row; 0: leave the group, and exit as CMD did")
	f.DurationVar(&o.RestartDelay, "restart-delay", 0, "pause before zkr joins again after a failure has ended the membership; 0: exit")
	f.DurationVar(&o.AssignmentDelay, "assignment-delay", 0, "time between owning a resource and the start of CMD, for processes that the previous owner has left running")
	f.DurationVar(&o.Grace, "leave-grace", 0, "how long the commands continue, after a signal has ended zkr, before they get TERM")
}

// checkAll checks the arguments as far as possible without a server.
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
		"min-interval": o.MinInterval, "revoke-timeout": j.revoke, "retry": o.RetryDelay,
		"restart-delay": o.RestartDelay, "assignment-delay": o.AssignmentDelay, "leave-grace": o.Grace,
	} {
		if d < 0 {
			return exit.Usage("--%s is %v; it must be 0 or more", flag, d)
		}
	}
	for flag, value := range map[string]string{"id": o.ID, "zone": o.Zone} {
		if err := cli.IsText(flag, value); err != nil {
			return err
		}
	}
	if j.opts.Assignor, err = assignor.ByName(j.assign); err != nil {
		return exit.Usage("--assignor: %w", err)
	}
	if cmd.Flags().Changed("instance") {
		if err := cli.CheckName("--instance", o.Instance); err != nil {
			return err
		}
	}
	switch {
	case strings.HasPrefix(o.Instance, "_"):
		return exit.Usage("--instance is %.60q; it must not begin with an underscore, as the names of members do", o.Instance)
	case o.Weight < 1 || o.Weight > 1_000_000:
		return exit.Usage("--weight is %d; it must be from 1 to 1000000", o.Weight)
	case o.MaxMoves < 0:
		return exit.Usage("--max-moves is %d; it must be 0 (any number) or more", o.MaxMoves)
	}
	return patterns(o.Subscription)
}

// check of the RunSpec, and not of the path.
func (j *groupJoin) check(cmd *cobra.Command) error { return j.RunSpec.Check(cmd) }

// run takes part until a signal comes.
func (j *groupJoin) run(ctx context.Context) error {
	if err := supervise.CheckCommand(j.Argv[0]); err != nil {
		return err // zkr would acquire and release each resource because of this error
	}
	defer cli.IgnoreBrokenPipes()() // a note without a reader must not end zkr
	supervise.AdoptOrphans()
	j.signals = signals.Listen()
	signal.Notify(j.signals, signals.TerminalStop)
	defer signal.Stop(j.signals)
	member, end := context.WithCancelCause(ctx)
	defer end(nil)
	over := make(chan struct{})
	var second error
	var listener sync.WaitGroup
	// Waited for below; ends with over.
	listener.Go(func() { second = j.heed(member, end, over) })
	client, p, err := supervise.ConnectFor(member, j.app.App, &j.RunSpec)
	if err == nil {
		j.client, j.plan = client, p
		defer func() { _ = cli.CloseClient(ctx, client) }()
		err = j.takePart(member)
	}
	close(over)
	listener.Wait()
	return j.exitError(context.Cause(member), second, err)
}

// takePart is the membership.
func (j *groupJoin) takePart(ctx context.Context) (err error) {
	making, cancel := context.WithTimeout(ctx, j.app.Flags.ConnectTimeout)
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
	if j.opts.RestartDelay > 0 {
		// Waited for above; ends with watching.
		watcher.Go(func() { j.remarkRestarts(watching) })
	}
	return j.group.Run(ctx)
}

// remarkEmpty notes, once zkr is a member, that the group has no resources: the
// path may be misspelled, and a join creates the group.
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
			path := cli.Readable([]byte(j.path))
			j.app.Note("%s has no resources: waiting for some; \"zkr rebalance add %s RESOURCE...\" adds them", path, path)
		}
		return
	}
}

// remarkRestarts notes why the member has left, before the member joins again.
func (j *groupJoin) remarkRestarts(ctx context.Context) {
	for s, err := range j.group.States(ctx) {
		if err != nil {
			return
		}
		if s.Phase == "restarting" {
			j.app.Note("left the group: %s: joining again after %v", cli.Readable([]byte(s.Err.Error())), j.opts.RestartDelay)
		}
	}
}

// exitError is the exit of zkr. cause is why the membership was ended, and second
// the signal that has killed the commands; both may be nil.
func (j *groupJoin) exitError(cause, second, err error) error {
	switch {
	case errors.As(err, new(*exit.Failure)): // of a command
		return err
	case j.group == nil && cause != nil:
		return signals.Interrupted(cause, "gave up joining")
	}
	return cli.RoleEnd(cause, second, j.advised(err))
}

// heed acts on signals: the first ending signal ends the membership gracefully;
// the second, which heed returns, kills the commands.
func (j *groupJoin) heed(ctx context.Context, end context.CancelCauseFunc, over <-chan struct{}) (second error) {
	for {
		select {
		case sig := <-j.signals:
			switch {
			case sig == signals.TerminalStop:
				// The commands would continue while other members own their
				// resources.
				j.app.Note("cannot be stopped: zkr must supervise its commands")
			case !signals.EndsWait(sig):
				j.keepers.Pass(sig.(syscall.Signal))
			case ctx.Err() == nil:
				end(signals.EndedBySignal{Sig: sig.(syscall.Signal)})
			case second == nil:
				second = signals.EndedBySignal{Sig: sig.(syscall.Signal)}
				close(j.rush)
			}
		case <-over:
			return second
		}
	}
}
