package znodecmd

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"github.com/zkrecipes/zkrecipes/cache"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/cli"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/exit"
	"github.com/zkrecipes/zkrecipes/session"
)

// watcher shows the changes of a view.
type watcher struct {
	app   *app
	whole bool // data, not only its beginning
	known map[string]cache.Entry[[]byte]
	ready bool // the first state is shown
}

const watchHelp = `Shows the znode PATH, and then each change, one per line, with the time at which zkr
observed it: changes of the znode, with --children of its children, with --tree of
PATH and all znodes below it. PATH need not exist.

Lines say present (existed when zkr started), added, updated or removed; the line
"ready" separates the first znodes from the changes. Several changes of one znode
that follow each other immediately may be shown as one change; the last state of
each znode is always shown.` + cli.UntilEnded

// watch is "zkr watch".
func (a *app) watch() *cobra.Command {
	w := &watcher{app: a, known: map[string]cache.Entry[[]byte]{}}
	var children, tree bool
	cmd := &cobra.Command{
		Annotations: cli.Does(cli.Reads),
		Use:         "watch PATH",
		Short:       "Show each change of PATH, of its children, or of all znodes below PATH",
		Long:        watchHelp,
		Example: "  zkr watch /config/app\n" +
			"  zkr watch /services --tree\n" +
			"  zkr watch /jobs --children -o json | jq -r 'select(.event == \"added\") | .path'",
		Args: cli.OnPath("znode"),
		RunE: cli.RunE(func(cmd *cobra.Command, args []string) error {
			if children && tree {
				return exit.Usage("--children and --tree exclude each other")
			}
			return a.Follow(cmd.Context(), func(ctx context.Context, client *session.Client) error {
				switch {
				case tree:
					return w.run(ctx, cache.NewTree(client, args[0], cache.Bytes, nil).View)
				case children:
					return w.run(ctx, cache.NewChildren(client, args[0], cache.Bytes, nil).View)
				}
				return w.run(ctx, cache.NewValue(client, args[0], cache.Bytes, nil).View)
			})
		}),
	}
	f := cmd.Flags()
	f.BoolVar(&children, "children", false, "watch the children of PATH, with their data")
	f.BoolVar(&tree, "tree", false, "watch PATH and all that is below it")
	f.BoolVar(&w.whole, "data", false, "show all of the data, not only its beginning; JSON always has all")
	return cmd
}

// run keeps the view up to date and shows the changes.
func (w *watcher) run(ctx context.Context, view *cache.View[[]byte]) error {
	ctx, cancel := context.WithCancel(ctx)
	var keeper sync.WaitGroup
	defer keeper.Wait()
	defer cancel()
	// Waited for above; ends with ctx, or with an error of the view, which the
	// events then have.
	keeper.Go(func() { _ = view.Run(ctx) })
	for e, err := range view.Events(ctx) {
		if err == nil {
			err = w.event(e)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// event shows an event. A later snapshot stands for changes that were too many:
// event shows the changes that the snapshot makes.
func (w *watcher) event(e cache.Event[[]byte]) error {
	switch e.Kind {
	case cache.EventAdded:
		return w.put("added", e.New)
	case cache.EventUpdated:
		return w.put("updated", e.New)
	case cache.EventRemoved:
		return w.remove(e.Old)
	}
	if !w.ready {
		for entry := range e.Snapshot.All() {
			if err := w.put("present", entry); err != nil {
				return err
			}
		}
		w.ready = true
		return w.show(Change{Event: "ready", Count: len(w.known)})
	}
	return w.reconcile(e.Snapshot)
}

// reconcile shows the differences between the known state and a snapshot.
func (w *watcher) reconcile(now *cache.Snapshot[[]byte]) error {
	for path, old := range w.known {
		if entry, ok := now.Lookup(path); !ok || entry.Stat.Czxid != old.Stat.Czxid {
			if err := w.remove(old); err != nil {
				return err
			}
		}
	}
	for entry := range now.All() {
		old, ok := w.known[entry.Path]
		var err error
		switch {
		case !ok:
			err = w.put("added", entry)
		case entry.Stat.Mzxid != old.Stat.Mzxid || !errors.Is(entry.Err, old.Err):
			err = w.put("updated", entry)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (w *watcher) put(event string, e cache.Entry[[]byte]) error {
	w.known[e.Path] = e
	c := Change{Event: event, Path: e.Path}
	if e.Err != nil {
		c.Error = e.Err.Error()
		return w.show(c)
	}
	stat := e.Stat
	c.Version, c.Size, c.Czxid, c.Mzxid = &stat.Version, &stat.DataLength, stat.Czxid, stat.Mzxid
	c.Session, c.data, c.Content = cli.SessionID(stat.EphemeralOwner), e.Value, cli.ContentOf(e.Value)
	return w.show(c)
}

func (w *watcher) remove(e cache.Entry[[]byte]) error {
	delete(w.known, e.Path)
	return w.show(Change{Event: "removed", Path: e.Path})
}

// Change is a change in JSON.
type Change struct {
	Time    time.Time `json:"time"`
	Event   string    `json:"event"` // present, ready, added, updated, removed
	Path    string    `json:"path,omitempty"`
	Count   int       `json:"count,omitempty"`   // ready: how many znodes are present
	Error   string    `json:"error,omitempty"`   // the znode may not be read
	Session string    `json:"session,omitempty"` // of an ephemeral znode
	Version *int32    `json:"version,omitempty"`
	Size    *int32    `json:"size,omitempty"`
	Czxid   int64     `json:"czxid,omitempty,string"`
	Mzxid   int64     `json:"mzxid,omitempty,string"`
	cli.Content
	data []byte
}

// show prints a change.
func (w *watcher) show(c Change) error {
	c.Time = time.Now()
	if w.app.JSON() {
		return w.app.PrintJSON(c)
	}
	text := fmt.Sprintf("%s  %-7s", cli.Timestamp(c.Time), c.Event)
	switch {
	case c.Event == "ready":
		text += "  " + cli.Count(c.Count, "znode")
	case c.Error != "":
		text += fmt.Sprintf("  %s  not readable with these credentials", cli.Readable([]byte(c.Path)))
	default:
		text += "  " + cli.Readable([]byte(c.Path)) + w.about(c)
	}
	return w.app.Printf("%s\n", text)
}

// about is the rest of a znode's description.
func (w *watcher) about(c Change) string {
	if c.Version == nil {
		return ""
	}
	out := fmt.Sprintf("  v%d, %d B", *c.Version, *c.Size)
	if c.Session != "" {
		out += ", ephemeral of " + c.Session
	}
	switch {
	case len(c.data) == 0:
		return out
	case w.whole:
		return out + "  " + cli.Readable(c.data)
	}
	return out + "  " + cli.Preview(c.data, cli.PreviewWidth)
}
