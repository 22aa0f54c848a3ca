package taskcmd

import (
	"context"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/cli"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/exit"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/records"
	"github.com/zkrecipes/zkrecipes/dispatch"
	"github.com/zkrecipes/zkrecipes/session"
)

const masterHelp = `Assigns the tasks of QUEUE to its workers. Several masters may run on several
machines: one leads, and another master takes over when the leader ends, dies or is
cut off. A master reads its state from ZooKeeper, and all its writes are conditional
on its leadership, so a master may be started, stopped or killed at any time and
place.

zkr shows when this master leads, when it stands by, and which master leads instead.` + cli.UntilGivenBack

// mastering has the arguments of "zkr task master".
type mastering struct {
	taskCommand
	opts dispatch.Options
}

// taskMaster is "zkr task master".
func (a *app) taskMaster() *cobra.Command {
	m := &mastering{taskCommand: taskCommand{app: a}}
	cmd := &cobra.Command{
		Annotations: cli.Does(cli.HasRole),
		Use:         "master QUEUE",
		Short:       "Assign the tasks of a queue to its workers, while leading",
		Long:        masterHelp,
		Example:     "  zkr task master /queues/mail",
		Args:        cli.Arguments("queue", "QUEUE"),
		RunE: cli.RunE(func(cmd *cobra.Command, args []string) error {
			if err := m.check(args[0]); err != nil {
				return err
			}
			if err := cli.IsText("id", m.opts.ID); err != nil {
				return err
			}
			if m.opts.MaxTasks < 0 || cmd.Flags().Changed("max-tasks") && m.opts.MaxTasks == 0 {
				return exit.Usage("--max-tasks is %d; it must be 1 or more", m.opts.MaxTasks)
			}
			return m.app.Serve(cmd.Context(), m.run)
		}),
	}
	f := cmd.Flags()
	f.StringVar(&m.opts.ID, "id", "", "`text` that describes the master to people; default: host:pid")
	f.IntVar(&m.opts.MaxTasks, "max-tasks", 0, "how many tasks the queue holds that have not ended; as many that have ended are kept; default: as before, and 100000 at first")
	return cmd
}

// run is the master's life. A slow reader does not matter: the tasks do.
func (m *mastering) run(ctx context.Context, client *session.Client) error {
	watching, cancel := context.WithCancel(ctx)
	var teller sync.WaitGroup
	defer teller.Wait()
	defer cancel()
	// Waited for above; ends with watching. Its errors need no report: the master
	// meets them, too, and reports them.
	teller.Go(func() { _ = m.showLeaders(watching, client) })
	return m.advised("", dispatch.NewMaster(client, m.path, &m.opts).Run(ctx))
}

// leadership is the leader in JSON.
type leadership struct {
	Time   time.Time          `json:"time"`
	Queue  string             `json:"queue"`
	Leads  bool               `json:"leads"` // this zkr leads
	Leader *records.Candidate `json:"leader"`
}

// showLeaders shows the leader, and each change.
func (m *mastering) showLeaders(ctx context.Context, client *session.Client) error {
	masters := dispatch.New(client, m.path, nil).Masters()
	for state, err := range masters.Observe(ctx) {
		if err != nil {
			return err
		}
		s, err := client.Session(ctx)
		if err != nil {
			return err
		}
		now := leadership{Time: time.Now(), Queue: m.path}
		if state.Leader != nil {
			c := records.CandidateOf(masters.Path(), *state.Leader)
			now.Leader, now.Leads = &c, state.Leader.Session == s.ID()
		}
		_ = m.showLeadership(now)
	}
	return context.Cause(ctx)
}

func (m *mastering) showLeadership(now leadership) error {
	switch l := now.Leader; {
	case m.app.JSON():
		return m.app.PrintJSON(now)
	case l == nil:
		return m.app.Printf("%s  no leader\n", cli.Timestamp(now.Time))
	case now.Leads:
		return m.app.Printf("%s  leads      term %d, token %d\n", cli.Timestamp(now.Time), l.Term, l.Token)
	default:
		return m.app.Printf("%s  stands by  %s leads, term %d, token %d\n", cli.Timestamp(now.Time), cli.Readable([]byte(l.ID)), l.Term, l.Token)
	}
}
