package uicmd

import (
	"context"
	"errors"
	"net/http"
	"sync"

	"github.com/spf13/cobra"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/cli"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/doctor"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/exit"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/ui"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/web"
	"github.com/zkrecipes/zkrecipes/session"
)

const uiHelp = `Serves a web page that shows all coordination in ZooKeeper: locks with their holders
and waiters in order, elections with leader and term, barriers with the missing
parties, counters, services, members, jobs, rebalancers, task queues, sessions with
everything they hold, and the tree itself. The page knows the layouts of zkr, Curator
and Kazoo, points out problems such as orphans, and stays up to date by itself. The
page of the servers shows what they say of themselves: zkr ui asks them every 30 seconds
with four-letter words, as zkr doctor does, but not over TLS; it then also looks for
what zkr doctor finds in znodes. The page of the sessions names their clients.

A queue of tasks, a job and a service have a list of their tasks, workers or instances,
100 on a page, which links sort and narrow to a state. The list of tasks shows the
attempt, the worker, the last error and the beginning of the payload of each task, and
the filter searches them.

The page of a lock or an election has its last hour: the holders as a time line and as a
list, with the beginning and the end of each hold and how it ended, and the number of
waiters; the overview has holders, waiters and grants by minute. zkr ui knows this from
looking at the znodes every two seconds or more often, whether a page is open or not,
and says when it could not: of an outage, and of a time before it was started, only what
was left at the end is known. A hold that came and went between two looks is not shown;
"zkr history" has it from the logs of the servers. The last 100 holds of each lock are
kept, and 10,000 in all.

Without --actions, zkr ui never writes. Without --allow-remote, only this machine can reach the page, and
every user of this machine can read it. Any client that reaches the page sees everything
that zkr's credentials may read; so --allow-remote needs one of these:

  --web-config FILE    users with passwords (basic_auth_users), or TLS with verified
                       client certificates, in the format of the Prometheus exporter
                       toolkit: https://github.com/prometheus/exporter-toolkit
  --trust-header NAME  a proxy in front of zkr ui authenticates users, and names the
                       user in this header, such as X-Forwarded-User. The proxy must
                       replace the header in all requests of its clients. Requests of
                       addresses other than --trusted-proxies are refused, and so are
                       requests without a user
  --no-auth            no authentication: any client may read

All pages, their updates, and GET /api/things are protected alike. The file of
--web-config is read again for each request: a user who is removed from it can read no
more, and open pages of that user get no updates after some 15 seconds. Every failed
attempt to log in takes the same time, for known and unknown users; attempts are
computed one at a time. Passwords need TLS: in the same file, or by a proxy.

With --actions, authenticated users may break a lock, take permits away, and depose a
leader, as "zkr lock break", "zkr rwlock break" and "zkr elect depose" do; and cancel a
running task, retry a failed one, and pause and resume a queue of tasks, as "zkr task
cancel", "requeue", "pause" and "resume" do. A page first shows the holder, the task or
the pause, and what would happen, and asks for the reason. A hold is taken away only from
the holder on that page; the user's name and the reason are recorded in ZooKeeper, and so
are those of a pause. Each attempt is a line on stderr, with the user, the action,
the path, the reason and the result. zkr's own credentials do the work: every user may do
what the credentials may do, below --root.

The host of a request must be an IP address or localhost, or a name given with --host.
Pages of other sites can link to the page, but cannot read it. zkr keeps up to 64 open
pages up to date at a time; further pages can be read.

zkr ui continues over lost connections and sessions, and shows since when its state is
out of date. INT (Ctrl-C) and TERM end it with the exit code 0. While no page is open
and no program asks, zkr ui only keeps its copy of the znodes in sync. A holder that
got its lock meanwhile is shown as "held for at least", and counters have no history
of that time.

Programs read GET /api/things, which answers with JSON. ?q=WORDS selects the things
that the filter of the pages finds (at most 200 bytes and 8 words; otherwise the
answer is 400). ?limit=N returns at most N elements of each list; as long as the
answer has a field next, ?limit=N&after=NEXT returns the elements that follow. Answers
are compressed for clients that accept gzip.

  root          the path whose tree is shown
  loaded        false while the tree is read for the first time
  stale         true while ZooKeeper is away: everything is as it was at as_of
  as_of         if stale: the time of the last known state
  read_only     with --read-only: the server without a quorum whose state this is
  znodes        the number of znodes
  not_readable  the paths of the znodes that the credentials may not read
  things        the recognized things, by path: each has kind, path, how (it was
                recognized), state (in words) and, if there are any, guess (why it
                may be something else), part_of, problems (level: bad, warn or
                hint; text, path), strangers (children not its own)
  sessions      sessions with ephemeral znodes: session, names, since, holdings, and
                connection, as far as the servers tell: client, server, since,
                timeout_ms, silent_ms (for how long at least the server had not heard
                of the client)
  servers       the servers that were asked last: address, mode, version
  findings      what zkr doctor says of them, and of the znodes: level, name, where, evidence, meaning,
                remedy, more (a section of the documentation)
  moment        with --history: the moment, see below
  next          if a limit left elements out: the value for after

By its kind, a thing also has some of these fields:

  queue         of locks, semaphores, elections: path, id, number, session,
                holds, token, entered, since, at_least_since (if since is not
                known), watches (places in the queue), role, permits, priority (of
                candidates), value (which the leader of an election has
                proclaimed), outside (it waits beside the queue), odd, denied (it
                may not be read: nothing else is known)
  entries       the length of a queue of another library
  breaks        of locks and elections, the last times at which they were taken away:
                at, by, reason, holder, token
  permits       total, held
  meeting       of barriers: parties, round, here, inside, closed
  number        of counters and values: value (null for bytes), format, writers,
                version, modified, czxid
  members       of groups and services: path, id, session, since, data, address,
                type, disabled, broken
  job           id, name, state, size, running, left, failed, dead, missing,
                workers ...
  tasks         counts (by state), total, max, open, master, workers, trouble ...
  shares        mode, epoch, generation, coordinator, members, resources, moves ...

With --history, zkr ui asks no server: it shows the same pages as of any moment of the past,
from the transaction logs and snapshots of servers, or from a recording of zkr record, as
"zkr history" does. DIR is the dataDir of a server, or DIR,DIR if the server has a
dataLogDir, too; NAME=DIR names the server; with several servers, --history is given for
each. The pages have a time line to drag and to play. Each address names its moment:
?at=0x200000017 is the state after a transaction, ?at=2026-11-28T03:12:00Z that of a time;
03:12 and 90m (ago) lead to such an address. In a recording, ?at=2026-11-28T03:12:00Z~2 is
the state after the second of several changes of one time. zkr ui reads all of the files
once, and shows how much has been read; then a moment usually takes less than a second. What
a running server writes later is not read. Gaps, damage and missing files are marked on the
time line, and told on the pages that they concern. Access lists, the values that counters
had before, and the page of the servers are not shown. GET /api/things?at=... answers
with the state of a moment. Its field moment has:

  at, first, last             the moment, and the first and last known states, as values
                              for ?at=
  previous, next              the events around it, likewise
  read_percent                below 100 while the files are read for the first time; then
                              loaded is false
  zxid, time                  the last transaction up to the moment, as far as known
  before_first, after_last    true if the files do not reach to the moment
  remarks                     why the state may be wrong or unknown
  events                      at, time, event (came, granted, ended), later (than the
                              moment), stay (a line of zkr history in JSON)

Fields keep their names and meanings; later versions may add fields. Times are in
RFC 3339, sessions are hexadecimal text. A field without a value may be missing, or null.
`

// dashboard has the arguments of "zkr ui".
type dashboard struct {
	root, listen string
	hosts        []string
	access       access
	actions      bool
	history      []string
	adminPort    int
}

// ui is "zkr ui".
func (a *app) ui() *cobra.Command {
	var d dashboard
	cmd := &cobra.Command{
		Annotations: cli.Does(cli.Connects, cli.Reads),
		Use:         "ui",
		Short:       "Serve a web page that shows locks, elections, jobs, sessions and all znodes, live",
		Long:        uiHelp,
		Example: "  zkr ui\n" +
			"  zkr ui --servers zk1:2181,zk2:2181,zk3:2181 --root /apps\n" +
			"  zkr ui --listen 0.0.0.0:8380 --allow-remote --host zk-ui.example.org --web-config web.yml\n" +
			"  zkr ui --trust-header X-Forwarded-User --host zk-ui.example.org --actions\n" +
			"  zkr ui --history /var/lib/zookeeper\n" +
			"  zkr ui --history zk1=/copy/1 --history zk2=/copy/2 --root /locks\n" +
			"  curl -s http://127.0.0.1:8380/api/things | jq '.things[] | select(.problems)'",
		Args: cobra.NoArgs,
		RunE: cli.RunE(func(cmd *cobra.Command, _ []string) error {
			if err := d.check(); err != nil {
				return err
			}
			if len(d.history) > 0 {
				return a.showPast(cmd, d)
			}
			return a.Follow(cmd.Context(), func(ctx context.Context, client *session.Client) error {
				return a.serveUI(ctx, client, d)
			})
		}),
	}
	f := cmd.Flags()
	f.StringVar(&d.root, "root", "/", "`path` of the root of the shown tree")
	f.StringVar(&d.listen, "listen", "127.0.0.1:8380", "`host:port` to listen on; port 0: any free port")
	f.StringSliceVar(&d.hosts, "host", nil, "further host `names` that requests may use; with --allow-remote, IP addresses are always accepted")
	d.access.addFlags(f)
	f.BoolVar(&d.actions, "actions", false, "let authenticated users break locks, depose leaders, cancel and retry tasks, and pause queues; needs a user's name: --web-config or --trust-header")
	f.StringArrayVar(&d.history, "history", nil, "show the past, from the files of a server or of a recording in `[NAME=]DIR`; may be repeated")
	cli.AdminPortFlag(cmd, &d.adminPort, doctor.AdminPort)
	return cmd
}

func (d *dashboard) check() error {
	if err := cli.CheckPath(d.root); err != nil {
		return err
	}
	if err := web.CheckListen(d.listen, d.access.remote, "any client that reaches the page sees everything that zkr may read; --allow-remote permits that, with --web-config, --trust-header or --no-auth"); err != nil {
		return err
	}
	if err := d.access.check(); err != nil {
		return err
	}
	if d.actions && !d.access.namesUsers() {
		return exit.Usage("--actions needs users: give --web-config with basic_auth_users, or --trust-header")
	}
	if len(d.hosts) > 0 && !d.access.remote && d.access.proxy == nil {
		return exit.Usage("--host needs --allow-remote or --trust-header")
	}
	return nil
}

// serveUI serves the page until ctx ends, or the tree cannot be read.
func (a *app) serveUI(ctx context.Context, client *session.Client, d dashboard) error {
	servers, _ := a.ConnectString() // checked when the client connected
	model := ui.NewModel(client, d.root)
	model.Attentive = true
	if !a.Flags.TLS {
		model.Auditor = &doctor.Auditor{AdminPort: d.adminPort}
	}
	says := "shows the znodes, and changes nothing"
	if d.actions {
		says = "shows the znodes, and lets users act"
	}
	return a.serve(ctx, d, site{ui.Handler(model, servers, a.actions(d)), says, model.Run})
}

// site is what is served.
type site struct {
	handler http.Handler
	says    string
	// run keeps the content up to date until its context ends, or the content cannot be read.
	run func(context.Context) error
}

// serve serves a site until ctx ends, or its content cannot be read.
func (a *app) serve(ctx context.Context, d dashboard, s site) error {
	l, err := web.Listen(ctx, d.listen, d.access.remote)
	if err != nil {
		return cli.ExplainOccupiedPort("zkr ui", err)
	}
	handler := web.Guard(web.Hosts{Remote: d.access.remote, Names: d.hosts}, d.access.protect(s.handler))
	if warning := d.access.warning(); warning != "" {
		a.Note("%s", warning)
	}
	if err := a.PrintAddress(d.access.file.URL(l), s.says); err != nil {
		_ = l.Close()
		return err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var watching sync.WaitGroup
	defer watching.Wait()
	// Waited for above; ends with ctx, or when the tree cannot be read.
	watching.Go(func() { cancel(s.run(ctx)) })
	err = web.Serve(ctx, d.access.file.Listener(l), handler)
	cancel(err)
	if cause := context.Cause(ctx); err == nil && !errors.Is(cause, context.Canceled) {
		return cause
	}
	return err
}
