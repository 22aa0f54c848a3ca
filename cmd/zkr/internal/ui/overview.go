package ui

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/doctor"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/ui/recognize"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/web"
)

// maxShort is how long the short lists of the overview are.
const maxShort = 8

// drawOverview draws problems, queues, leaders and changes. With a filter, overview
// is a list of all matches.
func (d *drawing) drawOverview() []web.Block {
	if d.Filter != "" {
		shown, p := cutPage(d, d.matchingThings(d.Things), perPage)
		out := []web.Block{d.renderBlock("title", "", heading{Name: "Search", All: len(d.Things), Fitting: p.All, Filtered: true})}
		for _, t := range shown {
			out = append(out, d.drawMatch(t))
		}
		return d.endList(out, d.pageEmpty(), p)
	}
	out := []web.Block{
		d.renderBlock("problems", "", d.listProblems()),
		d.renderBlock("tiles", "", d.countTiles()),
		d.renderBlock("waits", "half", firstOf(maxShort, d.Waits())),
		d.renderBlock("leaders", "half", firstOf(maxShort, d.Kinds(recognize.Election))),
		d.renderBlock("inprogress", "half", firstOf(maxShort, d.Kinds(recognize.Job, recognize.Rebalancer, recognize.Tasks))),
		d.drawFeed(),
	}
	out = append(out, d.drawGraphs()...)
	if len(d.Things) == 0 && d.Exists {
		out = append(out, d.renderBlock("empty", "", emptyNote{Things: "recipes", Where: d.Root, Try: d.page.try(strings.TrimSuffix(d.Root, "/"))}))
	}
	if d.Moment != nil && len(d.Moment.Overview.Remarks) > 0 {
		out = append(out, d.renderBlock("remarks", "", d.Moment.Overview))
	}
	return out
}

// drawFeed draws the last changes; on a page about the past, what happened around the moment.
func (d *drawing) drawFeed() web.Block {
	if d.Moment != nil {
		return d.renderBlock("events", "half", d.listEvents())
	}
	return d.renderBlock("feed", "half", firstOf(maxShort, d.Feed))
}

// Trouble is a problem with its thing.
type Trouble struct {
	recognize.Problem
	Thing *recognize.Thing
}

// Troubles are all problems, the worst first.
func (v *View) Troubles() (all []Trouble) {
	for _, level := range recognize.Levels() {
		for _, t := range v.Things {
			for _, p := range t.Problems {
				if p.Level == level {
					all = append(all, Trouble{p, t})
				}
			}
		}
	}
	return all
}

// troubles are the findings about servers, and problems, the worst first.
type troubles struct {
	Servers []doctor.Finding
	Shown   []Trouble
	Rest    int
	// Asked: servers have answered about themselves.
	Asked bool
}

func (d *drawing) listProblems() troubles {
	const most = 12
	all := d.Troubles()
	return troubles{d.seriousFindings(), firstOf(most, all), max(0, len(all)-most), !d.Audit.At.IsZero()}
}

// tile is a number with a link to a page.
type tile struct {
	At, Name, Says string
	N              int
}

func (d *drawing) countTiles() []tile {
	var out []tile
	for _, p := range d.menu {
		if p.kinds == nil {
			continue
		}
		things := d.Kinds(p.kinds...)
		out = append(out, tile{p.at, p.name, summarizeThings(things), len(things)})
	}
	return append(out,
		tile{"/sessions", "Sessions", fmt.Sprintf("%s ephemeral znodes", groupThousands(d.Ephemeral)), len(d.Sessions)},
		tile{"/tree", "Znodes", describeDenied(len(d.Denied)), d.Nodes})
}

func describeDenied(n int) string {
	if n == 0 {
		return "all can be read"
	}
	return groupThousands(n) + " may not be read"
}

// summarizeThings summarizes the things of a page.
func summarizeThings(things []*recognize.Thing) string {
	if len(things) == 0 {
		return "none"
	}
	held, waiting, written, here, ready, running := 0, 0, 0, 0, 0, 0
	for _, t := range things {
		held += asBit(len(t.Holders()) > 0)
		waiting += t.Waiting() + t.Entries
		here += len(t.Members)
		if t.Meeting != nil {
			waiting += len(t.Meeting.Here)
		}
		for _, m := range t.Members {
			ready += asBit(!m.Disabled && m.Broken == "")
		}
		written += asBit(t.Number != nil && t.Number.Writers > 0)
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
		return fmt.Sprintf("%s held, %s waiting", groupThousands(held), groupThousands(waiting))
	case recognize.Election:
		return fmt.Sprintf("%s standing by", groupThousands(waiting))
	case recognize.Barrier, recognize.Double, recognize.Gate, recognize.Tasks, recognize.Queue:
		return fmt.Sprintf("%s waiting", groupThousands(waiting))
	case recognize.Service:
		return formatCount(ready, "instance") + " ready"
	case recognize.Job:
		return formatCount(running, "worker") + " running"
	case recognize.Group, recognize.Rebalancer:
		return formatCount(here, "member")
	}
	return fmt.Sprintf("%s being written", groupThousands(written))
}

// Wait is a queue with waiters.
type Wait struct {
	Thing   *recognize.Thing
	First   *recognize.Contender // the longest waiter
	Waiting int
	Since   time.Time
}

// Waits are the locks and semaphores that clients wait for, the one with the longest wait
// first.
func (v *View) Waits() (out []Wait) {
	for _, t := range v.Kinds(recognize.Mutex, recognize.RWLock, recognize.Semaphore) {
		w := Wait{Thing: t, Waiting: t.Waiting()}
		for _, c := range t.Queue {
			if !c.Holds && !c.Entered.IsZero() && (w.First == nil || c.Entered.Before(w.Since)) {
				w.First, w.Since = c, c.Entered
			}
		}
		if w.First != nil {
			out = append(out, w)
		}
	}
	slices.SortStableFunc(out, func(a, b Wait) int { return a.Since.Compare(b.Since) })
	return out
}

// drawSessions draws the sessions.
func (d *drawing) drawSessions() []web.Block {
	var fitting []*recognize.Session
	for _, s := range d.Sessions {
		if d.Filter == "" || d.sessionFits(s) {
			fitting = append(fitting, s)
		}
	}
	slices.SortStableFunc(fitting, func(a, b *recognize.Session) int {
		return cmp.Or(asBit(len(a.Names) == 0)-asBit(len(b.Names) == 0), compareNames(a.Name(), b.Name()))
	})
	shown, p := cutPage(d, fitting, perPage)
	out := []web.Block{d.renderBlock("title", "", d.drawHeading(len(d.Sessions), len(fitting)))}
	for _, s := range shown {
		out = append(out, d.renderKeyed("session", s.ID.String(), "half", d.withConnection(s)))
	}
	return d.endList(out, d.pageEmpty(), p)
}

// sessionFits reports whether something of a session has the words of the filter.
func (d *drawing) sessionFits(s *recognize.Session) bool {
	texts := append([]string{s.ID.String()}, s.Names...)
	if at, known := d.Audit.Clients[s.ID]; known {
		texts = append(texts, at.Client, at.Server)
	}
	for _, h := range s.Holdings {
		texts = append(texts, h.Path, string(h.Kind), h.As)
	}
	return hasWords(d.Filter, texts)
}

// compareNames orders names by their numbers' values, as people do.
func compareNames(a, b string) int {
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
