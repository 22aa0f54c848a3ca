package main

import (
	"context"

	"github.com/spf13/cobra"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/barriercmd"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/cli"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/countercmd"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/democmd"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/discoverycmd"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/doctorcmd"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/electcmd"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/exportercmd"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/fencecmd"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/historycmd"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/jobcmd"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/lockcmd"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/rebalancecmd"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/recordcmd"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/rwlockcmd"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/servecmd"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/statuscmd"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/supervise"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/taskcmd"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/uicmd"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/valuecmd"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/znodecmd"
)

const rootHelp = `zkr runs commands while holding a lock, while leading, at a barrier, or as a member
of a group, all coordinated through ZooKeeper. It shows holders, waiting contenders,
leaders and members, and demonstrates the guarantees of a lock. Start with: zkr demo

Environment variables set the global flags too; the help of a flag names its
variable in parentheses. The command line takes precedence. ZKR_AUTH is
user:password, and appears in no process list. Durations are written as 500ms, 10s,
5m or 2h. NO_COLOR disables colors on a terminal.

INT (Ctrl-C) and TERM end every command. A command that only shows what changes exits
with 0. A command with a role (task master, task worker, rebalance join, job janitor
--watch) exits with 0 only if a server has confirmed that everything was given back,
and otherwise with 76; a second signal cuts short what zkr waits for, and zkr exits
with 128+n. A command that runs CMD while it holds something passes the signal on to
CMD, and exits as CMD did; if no server confirms that the hold was given back, a note
on stderr says how long the hold may stay taken.

With -o json all output is JSON, one object per line. Fields keep their names and
meanings; later versions may add fields. Numbers of 64 bits (tokens, terms, values
of counters) are strings, because jq and JavaScript lose their last digits. Times
are in RFC 3339. Notes, and messages about empty lists, go to stderr.`

// run runs zkr and returns its exit code.
func (a *app) run(ctx context.Context, args []string) int {
	root := a.root()
	return a.Execute(ctx, root, countercmd.WithNumbers(root, args))
}

func (a *app) root() *cobra.Command {
	root := cli.CommandGroup(&cobra.Command{
		Use:     "zkr",
		Short:   "Coordinate processes through ZooKeeper: locks, elections, barriers, counters, values, members, services, jobs, tasks, resources",
		Long:    rootHelp,
		Example: "  zkr demo\n  zkr serve &\n  zkr lock /locks/backup -- ./backup\n  zkr lock ls /locks/backup",
	}, barriercmd.Command(&a.App), countercmd.Command(&a.App), democmd.Command(&a.App), democmd.WorkerCommand(&a.App), doctorcmd.Command(&a.App),
		electcmd.Command(&a.App), exportercmd.Command(&a.App), fencecmd.Command(&a.App), historycmd.Command(&a.App), supervise.SupervisorCommand(&a.App), jobcmd.Command(&a.App), znodecmd.KeepCommand(&a.App), countercmd.LatchCommand(&a.App), lockcmd.Command(&a.App), a.Manual(),
		discoverycmd.MembersCommand(&a.App), rebalancecmd.Command(&a.App), recordcmd.Command(&a.App), znodecmd.RemoveCommand(&a.App), rwlockcmd.Command(&a.App), servecmd.Command(&a.App),
		discoverycmd.ServiceCommand(&a.App), statuscmd.Command(&a.App), taskcmd.Command(&a.App), znodecmd.TreeCommand(&a.App), uicmd.Command(&a.App), valuecmd.Command(&a.App), a.version(),
		znodecmd.WatchCommand(&a.App))
	a.versionFlag(root)
	a.Prepare(root)
	return root
}

// app is one run of zkr; the methods of app make the commands.
type app struct{ cli.App }
