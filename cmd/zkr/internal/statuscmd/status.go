package statuscmd

import (
	"bytes"
	"context"
	"errors"
	"time"

	"github.com/spf13/cobra"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/cli"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/doctor"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/exit"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/ui"
	"github.com/zkrecipes/zkrecipes/session"
)

const statusHelp = `Shows what needs attention at and below ROOT: problems, the worst first; what the
servers' own words show, as "zkr doctor" has it, but not over TLS; locks that clients
wait for, the longest wait first; leaders; jobs, rebalancers and queues; services and
groups; and how many of each kind there are. It is the overview of "zkr ui" for a terminal, and
recognizes the same layouts: those of zkr, Curator and Kazoo.

The exit code is 1 if there are problems or findings of the levels bad or warn; a hint is
no reason, and findings that are hints are in the JSON only.
Some problems are only found by observation: "zkr ui", or --watch, finds more than a
single look.

With --watch the state is shown again whenever it changes, on a terminal every two
seconds, until INT (Ctrl-C) or TERM ends the command with the exit code 0.
`

// period is how often --watch looks.
const period = 2 * time.Second

// status is "zkr status".
func (a *app) status() *cobra.Command {
	var watch bool
	var adminPort int
	cmd := &cobra.Command{
		Annotations: cli.Does(cli.Connects, cli.Reads),
		Use:         "status [ROOT]",
		Short:       "Show problems, long waits, leaders, and the state of jobs and queues",
		Long:        statusHelp,
		Example: "  zkr status\n" +
			"  zkr status /app --watch\n" +
			"  zkr status -o json | jq -r '.problems[] | [.level, .path, .text] | @tsv'",
		Args: cli.OptionalPath,
		RunE: cli.RunE(func(cmd *cobra.Command, args []string) error {
			root := "/"
			if len(args) > 0 {
				root = args[0]
			}
			var auditor *doctor.Auditor
			if !a.Flags.TLS {
				auditor = &doctor.Auditor{AdminPort: adminPort}
			}
			if watch {
				return a.Follow(cmd.Context(), func(ctx context.Context, client *session.Client) error {
					return ui.ObserveWith(ctx, client, root, auditor, a.repeat)
				})
			}
			return a.LongCall(cmd.Context(), func(ctx context.Context, client *session.Client) error {
				return ui.ObserveWith(ctx, client, root, auditor, a.once)
			})
		}),
	}
	cli.AdminPortFlag(cmd, &adminPort, doctor.AdminPort)
	cmd.Flags().BoolVar(&watch, "watch", false, "show the state again whenever it changes")
	return cmd
}

func (a *app) once(ctx context.Context, m *ui.Model) error {
	v, err := m.Await(ctx)
	if err != nil {
		return err
	}
	if !v.Exists {
		a.Note("there is no znode %s", v.Root)
	}
	s := summarize(v)
	if err := a.show(s); err != nil {
		return err
	}
	if n := s.serious(); n > 0 {
		return &exit.Failure{Code: exit.CodeFailed, Err: errors.New(cli.Count(n, "problem"))}
	}
	return nil
}

func (a *app) show(s *summary) error {
	if a.JSON() {
		return a.PrintJSON(s)
	}
	return a.Print(s.text())
}

// repeat shows the state until ctx ends. On a pipe it shows changes alone.
func (a *app) repeat(ctx context.Context, m *ui.Model) error {
	v, err := m.Await(ctx)
	tick := time.NewTicker(period)
	defer tick.Stop()
	terminal := !a.JSON() && cli.IsTerminal(a.Stdout)
	var last []byte
	for err == nil {
		s := summarize(v)
		state := *s
		state.At = time.Time{}
		now, failed := cli.Encode(state)
		switch changed := !bytes.Equal(now, last); {
		case failed != nil:
			return failed
		case terminal:
			err = a.Print(append([]byte("\x1b[H\x1b[2J"), s.text()...))
		case changed && !a.JSON():
			err = a.Print(append([]byte(cli.Timestamp(s.At)+"\n"), s.text()...))
		case changed:
			err = a.PrintJSON(s)
		}
		last = now
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-tick.C:
			v = m.View()
		}
	}
	return err
}
