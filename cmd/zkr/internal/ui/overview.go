package ui

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/ui/recognize"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/web"
)

// maxShort is how long the short lists of the overview are.
const maxShort = 8

// overview draws problems, queues, leaders and changes. With a filter, overview
// is a list of all matches.
func (d *drawing) overview() []web.Block {
	if d.Filter != "" {
		shown, p := span(d, d.matching(d.Things), perPage)
		out := []web.Block{d.block("title", "", heading{Name: "Search", All: len(d.Things), Fitting: p.All, Filtered: true})}
		for _, t := range shown {
			out = append(out, d.thing(t))
		}
		return d.end(out, p.All, p)
	}
	return []web.Block{
		d.block("problems", "", d.problems()),
		d.block("tiles", "", d.tiles()),
		d.block("waits", "half", d.waits()),
		d.block("leaders", "half", few(maxShort, d.Kinds(recognize.Election))),
		d.block("inprogress", "half", few(maxShort, d.Kinds(recognize.Job, recognize.Rebalancer, recognize.Tasks))),
		d.block("feed", "half", few(maxShort, d.Feed)),
	}
}

// trouble is a problem with its thing.
type trouble struct {
	recognize.Problem
	Thing *recognize.Thing
}

// troubles are problems, the worst first.
type troubles struct {
	Shown []trouble
	Rest  int
}

func (d *drawing) problems() troubles {
	const most = 12
	var all []trouble
	for _, level := range []recognize.Level{recognize.Bad, recognize.Warn, recognize.Hint} {
		for _, t := range d.Things {
			for _, p := range t.Problems {
				if p.Level == level {
					all = append(all, trouble{p, t})
				}
			}
		}
	}
	return troubles{few(most, all), max(0, len(all)-most)}
}

// tile is a number with a link to a page.
type tile struct {
	At, Name, Says string
	N              int
}

func (d *drawing) tiles() []tile {
	var out []tile
	for _, p := range pages() {
		if p.kinds == nil {
			continue
		}
		things := d.Kinds(p.kinds...)
		out = append(out, tile{p.at, p.name, says(things), len(things)})
	}
	return append(out,
		tile{"/sessions", "Sessions", fmt.Sprintf("%s ephemeral znodes", thousands(d.Ephemeral)), len(d.Sessions)},
		tile{"/tree", "Znodes", denied(len(d.Denied)), d.Nodes})
}

func denied(n int) string {
	if n == 0 {
		return "all can be read"
	}
	return thousands(n) + " may not be read"
}

// says summarizes the things of a page.
func says(things []*recognize.Thing) string {
	if len(things) == 0 {
		return "none"
	}
	held, waiting, written, here, ready, running := 0, 0, 0, 0, 0, 0
	for _, t := range things {
		held += bit(len(t.Holders()) > 0)
		waiting += t.Waiting() + t.Entries
		here += len(t.Members)
		if t.Meeting != nil {
			waiting += len(t.Meeting.Here)
		}
		for _, m := range t.Members {
			ready += bit(!m.Disabled && m.Broken == "")
		}
		written += bit(t.Number != nil && t.Number.Writers > 0)
		if t.Job != nil {
			running += t.Job.Running
		}
		if t.Tasks != nil {
			waiting += t.Tasks.Counts["waiting"]
		}
		if t.Shares != nil {
			here += len(t.Shares.Members)
		}
	}
	switch things[0].Kind {
	case recognize.Mutex, recognize.RWLock, recognize.Semaphore:
		return fmt.Sprintf("%s held, %s waiting", thousands(held), thousands(waiting))
	case recognize.Election:
		return fmt.Sprintf("%s standing by", thousands(waiting))
	case recognize.Barrier, recognize.Double, recognize.Gate, recognize.Tasks, recognize.Queue:
		return fmt.Sprintf("%s waiting", thousands(waiting))
	case recognize.Service:
		return count(ready, "instance") + " ready"
	case recognize.Job:
		return count(running, "worker") + " running"
	case recognize.Group, recognize.Rebalancer:
		return count(here, "member")
	}
	return fmt.Sprintf("%s being written", thousands(written))
}

// wait is a queue with waiters.
type wait struct {
	Thing   *recognize.Thing
	First   *recognize.Contender // the longest waiter
	Waiting int
	Since   time.Time
}

// waits are the queues with the longest waiters.
func (d *drawing) waits() []wait {
	var out []wait
	for _, t := range d.Kinds(recognize.Mutex, recognize.RWLock, recognize.Semaphore) {
		w := wait{Thing: t, Waiting: t.Waiting()}
		for _, c := range t.Queue {
			if !c.Holds && !c.Entered.IsZero() && (w.First == nil || c.Entered.Before(w.Since)) {
				w.First, w.Since = c, c.Entered
			}
		}
		if w.First != nil {
			out = append(out, w)
		}
	}
	slices.SortStableFunc(out, func(a, b wait) int { return a.Since.Compare(b.Since) })
	return few(maxShort, out)
}

// sessions draws the sessions.
func (d *drawing) sessions() []web.Block {
	var fitting []*recognize.Session
	for _, s := range d.Sessions {
		if d.Filter == "" || d.session(s) {
			fitting = append(fitting, s)
		}
	}
	slices.SortStableFunc(fitting, func(a, b *recognize.Session) int {
		return cmp.Or(bit(len(a.Names) == 0)-bit(len(b.Names) == 0), natural(a.Name(), b.Name()))
	})
	shown, p := span(d, fitting, perPage)
	out := []web.Block{d.block("title", "", d.heading(len(d.Sessions), len(fitting)))}
	for _, s := range shown {
		out = append(out, d.keyed("session", s.ID.String(), "half", s))
	}
	return d.end(out, len(fitting), p)
}

// session reports whether something of a session has the words of the filter.
func (d *drawing) session(s *recognize.Session) bool {
	texts := append([]string{s.ID.String()}, s.Names...)
	for _, h := range s.Holdings {
		texts = append(texts, h.Path, string(h.Kind), h.As)
	}
	return hasWords(d.Filter, texts)
}

// natural orders names by their numbers' values, as people do.
func natural(a, b string) int {
	for a != "" && b != "" {
		m, n := digitsOf(a), digitsOf(b)
		if m == 0 || n == 0 {
			if a[0] != b[0] {
				return cmp.Compare(a[0], b[0])
			}
			a, b = a[1:], b[1:]
			continue
		}
		x, y := strings.TrimLeft(a[:m], "0"), strings.TrimLeft(b[:n], "0")
		if order := cmp.Or(cmp.Compare(len(x), len(y)), strings.Compare(x, y)); order != 0 {
			return order
		}
		a, b = a[m:], b[n:]
	}
	return cmp.Compare(len(a), len(b))
}

// digitsOf is how many digits a text begins with.
func digitsOf(text string) int {
	return len(text) - len(strings.TrimLeft(text, "0123456789"))
}
