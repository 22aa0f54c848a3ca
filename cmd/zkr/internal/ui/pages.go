package ui

import (
	"cmp"
	"slices"
	"strings"

	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/ui/recognize"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/web"
)

// page is a page of the dashboard.
type page struct {
	at, name string
	hint     string // in the filter
	about    string // of the page, in its heading
	kinds    []recognize.Kind
	draw     func(*drawing) []web.Block
	// list draws what belongs to the thing that the parameter path names; nil for none.
	list     func(*drawing, *recognize.Thing) []web.Block
	listHint string // in the filter of the list
	// try is a command that makes what an empty page lacks; nil for none.
	try func(root string) string
	// most is the number of things on a page; 0: perPage.
	most  int
	node  bool // about a single znode
	aside bool // does not depend on the tree
}

// menuPages are in the order of the menu.
func menuPages() []*page {
	return []*page{
		{at: "/", name: "Overview", hint: "Filter what is here", try: tryAt("zkr lock PATH -- sleep 60", "/locks/demo"), draw: (*drawing).drawOverview},
		{at: "/locks", name: "Locks", hint: "Filter by path, holder, session", draw: (*drawing).drawLocks, try: tryAt("zkr lock PATH -- sleep 60", "/locks/demo"), kinds: []recognize.Kind{recognize.Mutex, recognize.RWLock, recognize.Semaphore},
			about: "Mutexes, read/write locks and semaphores, with holders and waiters, and the contender that each waiter waits for. A lock is shown while a client holds it or waits for it."},
		{at: "/elections", name: "Elections", hint: "Filter by path, candidate, session", draw: (*drawing).drawLocks, try: tryAt("zkr elect PATH -- sleep 60", "/election/demo"), kinds: []recognize.Kind{recognize.Election},
			about: "The leader of each election, the time since its start, and the next candidates."},
		{at: "/barriers", name: "Barriers", hint: "Filter by path, party", draw: (*drawing).drawList, try: tryAt("zkr barrier gate set PATH", "/gates/demo-gate"), kinds: []recognize.Kind{recognize.Barrier, recognize.Double, recognize.Gate},
			about: "Gates that are closed, and barriers with the parties that have arrived and the number of missing parties."},
		{at: "/counters", name: "Counters", hint: "Filter by path", draw: (*drawing).drawList, try: tryAt("zkr counter add PATH", "/counters/demo"), kinds: []recognize.Kind{recognize.Counter, recognize.Value},
			about: "Counters, sequences and shared counts, and how they have changed since this page's server was started; and values of bytes while a client that has written them is connected."},
		{at: "/services", name: "Services", hint: "Filter by name, address", draw: (*drawing).drawServices, try: func(root string) string { return registerCommand(root + defaultServices + "/demo") },
			list: (*drawing).drawInstances, listHint: "Filter by instance, address, data", kinds: []recognize.Kind{recognize.Service},
			about: "Services, with the number of their instances; a service has a list of them."},
		{at: "/members", name: "Members", hint: "Filter by path, member", draw: (*drawing).drawList, try: tryAt("zkr members join PATH demo-1 -- sleep 60", "/groups/demo"), kinds: []recognize.Kind{recognize.Group},
			about: "Groups and their members."},
		{at: "/jobs", name: "Jobs", hint: "Filter by job, worker", draw: (*drawing).drawList, try: submitCommand, most: 10,
			list: (*drawing).drawWorkers, listHint: "Filter by worker, node, failure", kinds: []recognize.Kind{recognize.Job},
			about: "Jobs, with the states of their workers, which are numbered without a gap."},
		{at: "/rebalancers", name: "Rebalancers", hint: "Filter by path, member, resource", draw: (*drawing).drawList, try: tryAt("zkr rebalance add PATH resource-1 resource-2", "/rebalanser/demo"), most: 10,
			list: (*drawing).drawResources, listHint: "Filter by resource, owner, state", kinds: []recognize.Kind{recognize.Rebalancer},
			about: "Groups that share resources; a group has a list of them, with the owner of each."},
		{at: "/tasks", name: "Tasks", hint: "Filter by queue, worker", draw: (*drawing).drawList, try: tryAt("zkr task submit PATH --data hello", "/queues/demo"), most: 10,
			list: (*drawing).drawTasks, listHint: "Filter by id, worker, error, payload", kinds: []recognize.Kind{recognize.Tasks, recognize.Queue},
			about: "Task queues, with their workers and the states of the tasks."},
		{at: "/sessions", name: "Sessions", hint: "Filter by session, name, path", draw: (*drawing).drawSessions, try: tryAt("zkr lock PATH -- sleep 60", "/locks/demo"),
			about: "Sessions, with the ephemeral znodes of each session. Sessions without ephemeral znodes are not visible."},
		{at: "/servers", name: "Servers", hint: "Filter by address, finding", draw: (*drawing).drawServers, aside: true,
			about: "The servers of the ensemble, and what needs attention there."},
		{at: "/tree", name: "Tree", hint: "Filter the children", draw: (*drawing).drawTree, node: true},
	}
}

// link is an entry of the menu.
type link struct {
	At, Name string
	Here     bool
	Count    int
	Counted  bool
	Alarm    recognize.Level
	Gap      bool
}

// menuLinks is the menu.
func (d *drawing) menuLinks() []link {
	out := make([]link, 0, len(d.menu))
	for _, p := range d.menu {
		n := link{At: p.at, Name: p.name, Here: d.page.at == p.at, Counted: p.kinds != nil, Gap: p.at == "/locks" || p.at == "/sessions"}
		for _, t := range d.Things {
			if slices.Contains(p.kinds, t.Kind) {
				n.Count++
				n.Alarm = worseLevel(n.Alarm, t.Worst())
			}
		}
		if p.at == "/sessions" {
			n.Count, n.Counted = len(d.Sessions), true
		}
		if p.aside {
			n.Count, n.Counted, n.Alarm = len(d.Audit.Servers), true, worstFinding(d.Audit.Findings)
		}
		if p.node {
			n.Count, n.Counted = d.Nodes, true
		}
		out = append(out, n)
	}
	return out
}

// worseLevel is the worse of two levels; hints raise no alarm.
func worseLevel(a, b recognize.Level) recognize.Level {
	switch {
	case a == recognize.Bad || b == recognize.Bad:
		return recognize.Bad
	case a == recognize.Warn || b == recognize.Warn:
		return recognize.Warn
	}
	return ""
}

// matchingThings are the things that match the filter.
func (d *drawing) matchingThings(things []*recognize.Thing) []*recognize.Thing {
	if d.Filter == "" {
		return things
	}
	out := []*recognize.Thing{}
	for _, t := range things {
		if d.thingFits(t) {
			out = append(out, t)
		}
	}
	return out
}

// perPage is the number of things on a page. With their contents they are some
// thousand elements, which a browser lays out quickly.
const perPage = 50

// cutPage cuts a list into pages, and returns the requested page.
func cutPage[T any](d *drawing, all []T, most int) (shown []T, p paging) {
	p = paging{All: len(all), Page: d.Page, Pages: max(1, (len(all)+most-1)/most)}
	p.Page = min(p.Page, p.Pages)
	from := (p.Page - 1) * most
	shown = all[from:min(len(all), from+most)]
	p.From, p.To = from+1, from+len(shown)
	return shown, p
}

// paging is the shown part of a list.
type paging struct{ All, From, To, Page, Pages int }

// drawList draws the things of a page.
func (d *drawing) drawList() []web.Block {
	all := d.Kinds(d.page.kinds...)
	fitting := slices.Clone(d.matchingThings(all))
	// Things with a problem come first, things without waiters last; otherwise
	// by path.
	slices.SortStableFunc(fitting, func(a, b *recognize.Thing) int {
		return cmp.Or(cmp.Compare(rankOf(a), rankOf(b)), strings.Compare(a.Path, b.Path))
	})
	shown, p := cutPage(d, fitting, cmp.Or(d.page.most, perPage))
	out := []web.Block{d.renderBlock("title", "", d.drawHeading(len(all), len(fitting)))}
	for _, t := range shown {
		out = append(out, d.drawThing(t))
	}
	return d.endList(out, d.pageEmpty(), p)
}

// rankOf orders things: the lower comes first.
func rankOf(t *recognize.Thing) int {
	switch t.Worst() {
	case recognize.Bad:
		return 0
	case recognize.Warn:
		return 1
	}
	for i, k := range []recognize.Kind{recognize.Rebalancer, recognize.Tasks} {
		if t.Kind == k {
			return 2 + i
		}
	}
	if t.Waiting() > 0 || t.Meeting != nil && len(t.Meeting.Here) > 0 {
		return 8
	}
	return 9
}

// drawContent draws the content of a page, or a list of what belongs to one of its things.
func (d *drawing) drawContent() []web.Block {
	if d.page.list == nil || d.Path == "" {
		return d.page.draw(d)
	}
	all := d.Kinds(d.page.kinds...)
	i := slices.IndexFunc(all, func(t *recognize.Thing) bool { return t.Path == d.Path })
	if i < 0 || d.page.at == "/tasks" && all[i].Tasks == nil {
		return []web.Block{d.renderBlock("ownergone", "", d.Path)}
	}
	return d.page.list(d, all[i])
}

// drawOwner draws the heading of a list of what belongs to a thing.
func (d *drawing) drawOwner(owner *recognize.Thing, name string, all int) func(shown int) []web.Block {
	return func(shown int) []web.Block {
		return []web.Block{
			d.renderBlock("title", "", heading{Name: name, All: all, Fitting: shown, Filtered: d.IsNarrowed()}),
			d.renderBlock("owner", "", owner),
		}
	}
}

// endList ends a list: with a note for an empty list, or with its pages.
func (d *drawing) endList(out []web.Block, note emptyNote, p paging) []web.Block {
	if p.All == 0 {
		return append(out, d.renderBlock("empty", "", note))
	}
	if p.Pages > 1 {
		out = append(out, d.renderBlock("paging", "", p))
	}
	return out
}

// heading is the head of a page.
type heading struct {
	Name, About  string
	All, Fitting int
	Filtered     bool
}

func (d *drawing) drawHeading(all, fitting int) heading {
	return heading{d.page.name, d.page.about, all, fitting, d.IsNarrowed()}
}
