package lockcmd

import (
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/cli"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/ui"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/ui/recognize"
	"github.com/zkrecipes/zkrecipes/session"
)

// lockSummary is a lock among all locks, in JSON.
type lockSummary struct {
	Path string         `json:"path"`
	Kind recognize.Kind `json:"kind"`
	// Guess is why it may be something else; empty if the layout is that of locks alone.
	Guess   string   `json:"guess,omitempty"`
	Holders []string `json:"holders"`
	// Entered is when the first holder queued up, First who waits longest, and Since since
	// when; zero without one.
	Entered time.Time `json:"entered,omitzero"`
	Waiting int       `json:"waiting"`
	First   string    `json:"first,omitempty"`
	Since   time.Time `json:"since,omitzero"`
}

// listAll prints all locks.
func (a *app) listAll(ctx context.Context) error {
	var all []lockSummary
	var denied int
	if err := a.LongCall(ctx, func(ctx context.Context, client *session.Client) error {
		return ui.Observe(ctx, client, "/", func(ctx context.Context, m *ui.Model) error {
			v, err := m.Await(ctx)
			if err == nil {
				all, denied = allLocks(v.World), len(v.Denied)
			}
			return err
		})
	}); err != nil {
		return err
	}
	if denied > 0 {
		a.Note("%s may not be read, and may be locks", cli.Count(denied, "znode"))
	}
	if a.JSON() {
		return a.PrintJSON(struct {
			Locks []lockSummary `json:"locks"`
		}{all})
	}
	if len(all) == 0 {
		return a.NoteEmpty("no lock is held or waited for")
	}
	var rows [][]string
	for _, l := range all {
		rows = append(rows, []string{
			l.Path, string(l.Kind), cli.OrElse(strings.Join(l.Holders, ", "), "-"), cli.Age(l.Entered),
			strconv.Itoa(l.Waiting), cli.OrElse(l.First, "-"), cli.Age(l.Since),
		})
	}
	return a.Table("PATH KIND HOLDERS ENTERED WAITING FIRST SINCE", rows)
}

// allLocks are the mutexes, read/write locks and semaphores, by their paths.
func allLocks(w *recognize.World) []lockSummary {
	out := []lockSummary{}
	for _, t := range w.Kinds(recognize.Mutex, recognize.RWLock, recognize.Semaphore) {
		l := lockSummary{Path: t.Path, Kind: t.Kind, Guess: t.Guess, Holders: []string{}, Waiting: t.Waiting()}
		for _, c := range t.Queue {
			switch {
			case c.Holds:
				l.Holders = append(l.Holders, c.Name())
				l.Entered = earlier(l.Entered, c.Entered)
			case l.First == "":
				l.First, l.Since = c.Name(), c.Entered
			}
		}
		out = append(out, l)
	}
	return out
}

func earlier(a, b time.Time) time.Time {
	if a.IsZero() || b.Before(a) {
		return b
	}
	return a
}
