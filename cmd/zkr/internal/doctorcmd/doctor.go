package doctorcmd

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/spf13/cobra"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/cli"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/doctor"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/exit"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/ui"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/ui/recognize"
	"github.com/zkrecipes/zkrecipes/session"
)

const doctorHelp = `Audits the servers and what runs on them at and below ROOT, and says what to do: the
state, version, load and settings of each server, session timeouts, long lists of
children, access lists, clocks, and the problems that "zkr status" shows. The worst
finding comes first. The page docs/doctor.md has a section for each finding.

The servers are those of --servers, or with --follow-ensemble those of the ensemble's
configuration. They are asked with the four-letter words srvr, mntr, conf, cons, dirs,
wchs and gtmk. By default servers allow only srvr: the output says what was not seen. zkr
cannot send four-letter words over TLS. Their admin servers, on port 8080 or that of
--admin-port, are asked for the system properties.

zkr acquires and releases a lock on a scratch path below ROOT five times, and removes
the path. --no-write leaves this out, and the comparison with the leader's clock. With
--failover, zkr also cuts a connection of its own while it holds the scratch lock, and
shows how long the next server took to answer.

The exit code is 1 if there are findings of the levels bad or warn; a hint is no reason.
If zkr gets no session, but a server answers, zkr shows what the servers say. If zkr
loses its session meanwhile, or has no connection for --connect-timeout, that is a
finding, and the output says what was not seen.
`

// choices are the flags.
type choices struct {
	noWrite, failover bool
	adminPort         int
}

// doctor is "zkr doctor".
func (a *app) doctor() *cobra.Command {
	var v choices
	cmd := &cobra.Command{
		Annotations: cli.Does(cli.Connects),
		Use:         "doctor [ROOT]",
		Short:       "Audit the servers and what runs on them, and say what to do",
		Long:        doctorHelp,
		Example: "  zkr doctor\n" +
			"  zkr doctor /app --failover\n" +
			"  zkr doctor --no-write -o json | jq -r '.findings[] | [.level, .name, .where] | @tsv'",
		Args: cli.OptionalPath,
		RunE: cli.RunE(func(cmd *cobra.Command, args []string) error {
			if v.noWrite && v.failover {
				return exit.Usage("--no-write and --failover exclude each other: a failover needs the scratch lock")
			}
			root := "/"
			if len(args) > 0 {
				root = args[0]
			}
			return a.run(cmd.Context(), root, v)
		}),
	}
	cmd.Flags().BoolVar(&v.noWrite, "no-write", false, "write nothing: no round trip, and no comparison with the clock of the leader")
	cmd.Flags().BoolVar(&v.failover, "failover", false, "cut a connection of zkr's own, and measure the time to the next server")
	cli.AdminPortFlag(cmd, &v.adminPort, doctor.AdminPort)
	return cmd
}

func (a *app) run(ctx context.Context, root string, v choices) error {
	list, err := a.ConnectString()
	if err != nil {
		return err
	}
	r := &report{Root: root, At: time.Now(), Servers: []doctor.Row{}, Findings: []doctor.Finding{}, NotSeen: []doctor.Unseen{}}
	ask := func(ctx context.Context, addresses []string) []*doctor.Server {
		if a.Flags.TLS {
			return nil
		}
		return doctor.Asking{Patience: a.Flags.ConnectTimeout, AdminPort: v.adminPort}.Ask(ctx, addresses)
	}
	var servers []*doctor.Server
	examined := false
	err = a.LongCall(ctx, func(ctx context.Context, client *session.Client) error {
		examined = true
		a.examine(ctx, client, r, v)
		if ctx.Err() == nil {
			servers = ask(ctx, client.Servers())
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		return nil
	})
	if !examined && errors.Is(err, session.ErrUnreachable) {
		servers = ask(ctx, doctor.Addresses(list))
	}
	answered := slices.ContainsFunc(servers, func(s *doctor.Server) bool { return s.Err == nil })
	if err != nil && (examined || !answered || !errors.Is(err, session.ErrUnreachable)) {
		return err
	}
	if err != nil {
		r.NotSeen = append(r.NotSeen, doctor.Unseen{Where: "ensemble", What: "the znodes: " + err.Error(), Remedy: "repair the servers first, and run zkr doctor again"})
	}
	r.addServers(servers, a.Flags.TLS)
	return a.show(r)
}

// examine looks at what a client sees. A step that fails is a finding: the next steps, and what
// the servers say, are all the more of interest.
func (a *app) examine(ctx context.Context, client *session.Client, r *report, v choices) {
	step := func(what string, do func(context.Context) error) {
		if ctx.Err() == nil {
			r.addFailure(what, untilOutage(ctx, client, a.Flags.ConnectTimeout, do))
		}
	}
	var things []*recognize.Thing
	defer func() { r.things = things }()
	seen, exists := false, false
	step("problems, lists of children", func(ctx context.Context) error {
		return ui.Observe(ctx, client, r.Root, func(ctx context.Context, m *ui.Model) error {
			view, err := m.Await(ctx)
			if err != nil {
				return err
			}
			things, seen, exists = view.Things, true, view.Exists
			r.addFindings(doctor.Problems(view.Things)...)
			r.addFindings(doctor.Parents(view.World, r.Root)...)
			r.addFindings(doctor.Still(view.World, time.Now())...)
			if n := len(view.Denied); n > 0 {
				r.NotSeen = append(r.NotSeen, doctor.Unseen{Where: r.Root, What: cli.Count(n, "znode") + " that may not be read", Remedy: "run zkr doctor with credentials (ZKR_AUTH) that may read them"})
			}
			return nil
		})
	})
	if exists {
		step("access lists", func(ctx context.Context) error {
			s, err := client.Session(ctx)
			if err != nil {
				return err
			}
			lists, unseen, err := doctor.ReadAccess(ctx, s, r.Root, things)
			r.addFindings(doctor.Open(lists)...)
			if unseen > 0 {
				r.NotSeen = append(r.NotSeen, doctor.Unseen{Where: r.Root, What: cli.Count(unseen, "access list"), Remedy: "name a ROOT with fewer recipes, or credentials that may read the lists"})
			}
			return err
		})
	}
	switch {
	case v.noWrite:
		r.NotSeen = append(r.NotSeen, doctor.Unseen{Where: r.Root, What: "round trip, clocks", Remedy: "leave --no-write out"})
	case seen && !exists:
		r.NotSeen = append(r.NotSeen, doctor.Unseen{Where: r.Root, What: "round trip, clocks: there is no such znode", Remedy: "create ROOT, or name another one"})
	default:
		step("round trip, clocks", func(ctx context.Context) error { return a.exercise(ctx, client, r, v) })
	}
}
