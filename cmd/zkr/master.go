package main

import (
	"context"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"github.com/zkrecipes/zkrecipes/dispatch"
	"github.com/zkrecipes/zkrecipes/election"
	"github.com/zkrecipes/zkrecipes/session"
)

const masterHelp = `Gives the tasks of QUEUE to its workers. Several may run, on several machines: one leads,
and another one takes over when it ends, dies or is cut off. Whatever a master knows it
has read from ZooKeeper, and whatever it writes is on condition that it leads, so it does
not matter where and when it is started, stopped or killed.

zkr shows when it leads, when it does not, and who does instead.` + untilEnded

// mastersNode is where the masters of a queue elect their leader (docs/dispatch.md).
const mastersNode = "/masters"

// mastering is what "zkr master" is asked to do.
type mastering struct {
	taskCommand
	opts dispatch.Options
}

// master is "zkr master".
func (a *app) master() *cobra.Command {
	m := &mastering{taskCommand: taskCommand{app: a}}
	cmd := &cobra.Command{
		Use:     "master QUEUE",
		Short:   "Give the tasks of a queue to its workers, while leading",
		Long:    masterHelp,
		Example: "  zkr master /queues/mail",
		Args:    arguments("queue", "QUEUE"),
		RunE: does(func(cmd *cobra.Command, args []string) error {
			if err := m.check(args[0]); err != nil {
				return err
			}
			if err := isText("id", m.opts.ID); err != nil {
				return err
			}
			if m.opts.MaxTasks < 0 || cmd.Flags().Changed("max-tasks") && m.opts.MaxTasks == 0 {
				return usage("--max-tasks is %d; it must be 1 or more", m.opts.MaxTasks)
			}
			return m.app.follow(cmd.Context(), m.run)
		}),
	}
	f := cmd.Flags()
	f.StringVar(&m.opts.ID, "id", "", "`text` that says to people who the master is; default: host:pid")
	f.IntVar(&m.opts.MaxTasks, "max-tasks", 0, "how many tasks the queue holds, those included that have ended and are kept; default: as before, and 100000 at first")
	return cmd
}

// run is the master's life. Somebody who does not look does not matter: the tasks do.
func (m *mastering) run(ctx context.Context, client *session.Client) error {
	watching, cancel := context.WithCancel(ctx)
	var teller sync.WaitGroup
	defer teller.Wait()
	defer cancel()
	// Waited for above; ends with watching. What keeps it from going on keeps the
	// master too, which says so.
	teller.Go(func() { _ = m.tell(watching, client) })
	return m.advised("", dispatch.NewMaster(client, m.path, &m.opts).Run(ctx))
}

// leadership is who leads as "-o json" shows it.
type leadership struct {
	Time   time.Time  `json:"time"`
	Queue  string     `json:"queue"`
	Leads  bool       `json:"leads"` // this zkr does
	Leader *candidate `json:"leader"`
}

// tell shows who leads, and each change.
func (m *mastering) tell(ctx context.Context, client *session.Client) error {
	for state, err := range election.New(client, m.path+mastersNode, nil).Observe(ctx) {
		if err != nil {
			return err
		}
		s, err := client.Session(ctx)
		if err != nil {
			return err
		}
		now := leadership{Time: time.Now(), Queue: m.path}
		if state.Leader != nil {
			c := candidateOf(m.path+mastersNode, *state.Leader)
			now.Leader, now.Leads = &c, state.Leader.Session == s.ID()
		}
		_ = m.showLeadership(now)
	}
	return context.Cause(ctx)
}

func (m *mastering) showLeadership(now leadership) error {
	switch l := now.Leader; {
	case m.app.json():
		return m.app.line(now)
	case l == nil:
		return m.app.printf("%s  nobody leads\n", moment(now.Time))
	case now.Leads:
		return m.app.printf("%s  leads      term %d, token %d\n", moment(now.Time), l.Term, l.Token)
	default:
		return m.app.printf("%s  stands by  %s leads, term %d, token %d\n", moment(now.Time), readable([]byte(l.ID)), l.Term, l.Token)
	}
}
