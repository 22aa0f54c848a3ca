package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"

	"github.com/spf13/cobra"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/ui"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/web"
	"github.com/zkrecipes/zkrecipes/session"
)

const uiHelp = `Serves a web page that shows what coordination there is in ZooKeeper, as what it
is: locks as queues with who holds them and who waits for whom, elections with
leader and term, barriers with who is missing, counters, services, jobs, groups,
task queues, sessions and what each has; and the tree itself. It knows the layouts
of this tool, of Curator and of Kazoo, points out what looks wrong, such as orphans,
and stays up to date by itself.

It only reads, and only this machine can reach it, unless --allow-remote says
otherwise: there are no passwords, so whoever reaches it sees what zkr's
credentials may read. Requests must name an address; further names are allowed by
--host. Pages from elsewhere get nothing, other than by links. 64 pages are kept up
to date at a time; the others can be read.

It goes on over lost connections and sessions, saying since when nothing is known,
until it is ended: by INT (Ctrl-C) or TERM with the exit code 0. Who got a lock
while nobody looked is said to have held it for so long or more.

What is there is also told to programs: GET /api/things answers with JSON, and with
?q=WORDS only with those things that the filter of the pages finds (200 bytes and 8
words at most; 400 beyond).

  root          the path whose tree is shown
  loaded        false while the tree is read for the first time
  stale         true while ZooKeeper is away: all is as it was at as_of
  as_of         when it was so
  znodes        how many there are
  not_readable  the paths of those that the credentials may not read
  things        what was recognized, by path: each has kind, path, how (it was
                told), state (in words) and, as far as there are any, guess
                (why it may be something else), part_of, problems (level: bad,
                warn or hint; text, path), strangers (children not its own)
  sessions      those with ephemeral znodes: session, names, since, holdings

And by its kind a thing has some of

  queue         of locks, semaphores, elections: path, id, number, session,
                holds, token, entered, since, at_least_since (if since is not
                known), watches (places in the queue), role, permits, odd,
                denied (it may not be read: nothing else is known)
  entries       how many there are, of queues of other libraries
  permits       total, held
  meeting       of barriers: parties, round, here, inside, closed
  number        of counters: value, format, writers, version, modified, czxid
  members       of groups and services: path, id, session, since, data, address,
                type, disabled, broken
  job           id, name, state, size, running, left, failed, missing, workers ...
  tasks         counts (by state), total, max, open, master, workers, trouble ...
  shares        mode, epoch, generation, coordinator, members, resources, moves ...

Fields keep their names and meanings; others may come. Times are as in RFC 3339,
sessions are hexadecimal text. A field without a value may be missing, or null.
`

// dashboard is what "zkr ui" is asked to serve.
type dashboard struct {
	root, listen string
	remote       bool
	hosts        []string
}

// ui is "zkr ui".
func (a *app) ui() *cobra.Command {
	var d dashboard
	cmd := &cobra.Command{
		Use:   "ui",
		Short: "Serve a web page that shows locks, elections, barriers, jobs, sessions, the tree",
		Long:  uiHelp,
		Example: "  zkr ui\n" +
			"  zkr ui --servers zk1:2181,zk2:2181,zk3:2181 --root /apps\n" +
			"  zkr ui --listen 0.0.0.0:8380 --allow-remote --host zk-ui.example.org\n" +
			"  curl -s http://127.0.0.1:8380/api/things | jq '.things[] | select(.problems)'",
		Args: cobra.NoArgs,
		RunE: does(func(cmd *cobra.Command, _ []string) error {
			if err := d.check(); err != nil {
				return err
			}
			return a.follow(cmd.Context(), func(ctx context.Context, client *session.Client) error {
				return a.serveUI(ctx, client, d)
			})
		}),
	}
	f := cmd.Flags()
	f.StringVar(&d.root, "root", "/", "`path` of the znode whose tree is shown")
	f.StringVar(&d.listen, "listen", "127.0.0.1:8380", "`host:port` to listen on; port 0: any that is free")
	f.BoolVar(&d.remote, "allow-remote", false, "listen on an address that others can reach, without any password")
	f.StringSliceVar(&d.hosts, "host", nil, "with --allow-remote: further `names` that the page may be asked by; addresses always may")
	return cmd
}

func (d dashboard) check() error {
	if err := checkPath(d.root); err != nil {
		return err
	}
	if len(d.hosts) > 0 && !d.remote {
		return usage("--host needs --allow-remote")
	}
	if err := web.CheckAddress(d.listen, true); err != nil {
		return usage("--listen: %w", err)
	}
	if err := web.CheckAddress(d.listen, d.remote); err != nil {
		return &failure{code: exitUsage, err: fmt.Errorf("--listen: %w", err), hint: "whoever reaches the page sees all that zkr may read: --allow-remote, if that is what you want"}
	}
	return nil
}

// serveUI serves the page until ctx ends, or the tree cannot be read.
func (a *app) serveUI(ctx context.Context, client *session.Client, d dashboard) error {
	l, err := web.Listen(ctx, d.listen, d.remote)
	if err != nil {
		return err
	}
	servers, _ := a.connectString() // connecting has checked it
	model := ui.NewModel(client, d.root)
	handler := web.Guard(web.Hosts{Remote: d.remote, Names: d.hosts}, ui.Handler(model, servers))
	if err := a.announce(web.URL(l)); err != nil {
		_ = l.Close()
		return err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var watching sync.WaitGroup
	defer watching.Wait()
	// Waited for above; ends with ctx, or when the tree cannot be read.
	watching.Go(func() { cancel(model.Run(ctx)) })
	err = web.Serve(ctx, l, handler)
	cancel(err)
	if cause := context.Cause(ctx); err == nil && !errors.Is(cause, context.Canceled) {
		return cause
	}
	return err
}

// announce says where the page is.
func (a *app) announce(url string) error {
	if a.json() {
		return a.line(struct {
			URL string `json:"url"`
			PID int    `json:"pid"`
		}{url, os.Getpid()})
	}
	return a.printf("%s  shows what is there, and changes nothing (Ctrl-C ends it)\n", url)
}
