package ui

import (
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/ui/recognize"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/web"
)

const (
	// maxData is how many characters of a znode's data its page shows.
	maxData = 4000
	// perTree is how many children a page shows.
	perTree = 200
	// previewed is how many characters of a child's data.
	previewed = 60
)

// crumb is a step on the way to a znode.
type crumb struct{ Name, Path string }

// leafPage is the page of a znode.
type leafPage struct {
	*recognize.Node
	Crumbs []crumb
	Up     string
	Thing  *recognize.Thing
	Text   string // the data
	Binary bool
	Cut    bool
	Owner  *recognize.Session
	Access []right
	// Asked is the time of the servers' answer in Access; zero without an
	// answer.
	Asked time.Time
	// Past: the servers are not asked.
	Past bool
}

// child is a line of the list of children.
type child struct {
	*recognize.Node
	Thing    *recognize.Thing // exactly at this path
	Preview  string
	Children int
}

// drawTree draws a znode and its children.
func (d *drawing) drawTree() []web.Block {
	n, ok := d.Lookup(d.Path)
	page := leafPage{Crumbs: d.pathCrumbs(), Up: parentPath(d.Root, d.Path), Past: d.Moment != nil}
	if !ok {
		page.Up = page.Crumbs[len(page.Crumbs)-1].Path
		return append([]web.Block{d.renderBlock("crumbs", "", page), d.renderBlock("gone", "", d.Path)}, d.drawHour(d.Path, nil)...)
	}
	page.Node, page.Thing, page.Owner = n, d.Of(d.Path), d.Session(recognize.SessionID(n.Stat.EphemeralOwner))
	page.Binary = !utf8.Valid(n.Data) && n.Whole()
	page.Text, page.Cut = recognize.Lines(n.Data, maxData)
	page.Cut = page.Cut || !n.Whole()
	if d.access.err == nil {
		page.Access, page.Asked = describeRights(d.access.list), d.access.at
	}
	out := []web.Block{d.renderBlock("crumbs", "", page)}
	if page.Thing != nil && page.Thing.Path == n.Path {
		b := d.drawThing(page.Thing)
		b.Class = ""
		out = append(out, b)
	}
	out = append(out, d.drawHour(d.Path, page.Thing)...)
	out = append(out, d.renderBlock("facts", "half", page), d.renderBlock("data", "half", page))
	return append(out, d.drawChildren()...)
}

// drawChildren draws the list of children, by pages.
func (d *drawing) drawChildren() []web.Block {
	all := d.Children(d.Path)
	if t := d.Of(d.Path); t != nil && t.Path == d.Path && len(t.Queue) > 0 {
		all = inLine(t, all)
	}
	var fitting []child
	for _, n := range all {
		if !hasWords(d.Filter, []string{n.Name(), string(n.Data[:min(len(n.Data), 200)]), recognize.SessionID(n.Stat.EphemeralOwner).String()}) {
			continue
		}
		c := child{Node: n, Preview: recognize.Text(n.Data, previewed), Children: len(d.Children(n.Path))}
		if t := d.Of(n.Path); t != nil && t.Path == n.Path {
			c.Thing = t
		}
		fitting = append(fitting, c)
	}
	shown, p := cutPage(d, fitting, perTree)
	out := []web.Block{d.renderBlock("children", "", struct {
		All, Fitting int
		Shown        []child
	}{len(all), len(fitting), shown})}
	if p.Pages > 1 {
		out = append(out, d.renderBlock("paging", "", p))
	}
	return out
}

// inLine is the children of a queue in its order, strangers last.
func inLine(t *recognize.Thing, nodes []*recognize.Node) []*recognize.Node {
	place := make(map[string]int, len(t.Queue))
	for i, c := range t.Queue {
		place[c.Path] = i - len(t.Queue)
	}
	slices.SortStableFunc(nodes, func(a, b *recognize.Node) int { return place[a.Path] - place[b.Path] })
	return nodes
}

// hasWords reports whether each word of a filter is in texts.
func hasWords(filter string, texts []string) bool {
	all := strings.ToLower(strings.Join(texts, "\x00"))
	for _, word := range strings.Fields(strings.ToLower(filter)) {
		if !strings.Contains(all, word) {
			return false
		}
	}
	return true
}

// pathCrumbs is the way from the root to the znode, as far as it exists.
func (d *drawing) pathCrumbs() []crumb {
	out := []crumb{{recognize.Text([]byte(d.Root), 200), d.Root}}
	at := strings.TrimSuffix(d.Root, "/")
	rest, below := strings.CutPrefix(d.Path, at+"/")
	if !below {
		return out
	}
	for name := range strings.SplitSeq(rest, "/") {
		at += "/" + name
		if _, ok := d.Lookup(at); !ok {
			break
		}
		out = append(out, crumb{recognize.Text([]byte(name), 200), at})
	}
	return out
}

// parentPath is the path above, or "" at the root.
func parentPath(root, path string) string {
	if path == root {
		return ""
	}
	if i := strings.LastIndexByte(path, '/'); i > 0 {
		return path[:i]
	}
	return "/"
}
