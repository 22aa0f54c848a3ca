package znodecmd

import (
	"bytes"
	"fmt"
	"time"

	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/cli"
)

// The prefixes of the lines of a drawing.
const (
	branch     = "├── "
	lastBranch = "└── "
	trunk      = "│   "
	nothing    = "    "
)

// drawing draws a tree.
type drawing struct {
	treeView
	out               bytes.Buffer
	znodes, ephemeral int
}

// draw draws the tree for people.
func (l *leaf) draw(v treeView) []byte {
	d := &drawing{treeView: v}
	d.line("", cli.Readable([]byte(l.path)), l)
	d.below("", l)
	fmt.Fprintf(&d.out, "\n%s, %d ephemeral\n", cli.Count(d.znodes, "znode"), d.ephemeral)
	return d.out.Bytes()
}

// below draws the tree below l, behind indent.
func (d *drawing) below(indent string, l *leaf) {
	there := l.there()
	for i, child := range there {
		fork, deeper := branch, trunk
		if i == len(there)-1 {
			fork, deeper = lastBranch, nothing
		}
		d.line(indent+fork, cli.Readable([]byte(child.name())), child)
		d.below(indent+deeper, child)
	}
}

// there returns the children that had not gone when zkr read them.
func (l *leaf) there() []*leaf {
	out := make([]*leaf, 0, len(l.children))
	for _, child := range l.children {
		if !child.gone {
			out = append(out, child)
		}
	}
	return out
}

// line draws a znode.
func (d *drawing) line(before, name string, l *leaf) {
	d.znodes++
	d.out.WriteString(before)
	d.out.WriteString(name)
	if l.err != nil {
		d.out.WriteString("  not readable with these credentials\n")
		return
	}
	fmt.Fprintf(&d.out, "  v%d, %d B", l.stat.Version, l.stat.DataLength)
	if owner := cli.SessionID(l.stat.EphemeralOwner); owner != "" {
		d.ephemeral++
		d.out.WriteString(", ephemeral of " + owner)
	}
	if l.stat.NumChildren > 0 && l.children == nil {
		d.out.WriteString(", " + children(l.stat.NumChildren))
	}
	switch {
	case len(l.data) == 0:
	case d.data:
		d.out.WriteString("  " + cli.Readable(l.data))
	default:
		d.out.WriteString("  " + cli.Preview(l.data, cli.PreviewWidth))
	}
	d.out.WriteByte('\n')
}

func children(n int32) string {
	if n == 1 {
		return "1 child"
	}
	return fmt.Sprintf("%d children", n)
}

// Node is a znode in JSON.
type Node struct {
	Path       string    `json:"path"`
	Error      string    `json:"error,omitempty"` // the znode cannot be read, and only its path is known
	Ephemeral  bool      `json:"ephemeral"`
	Session    string    `json:"session,omitempty"` // of an ephemeral znode
	Version    int32     `json:"version"`
	Size       int32     `json:"size"`
	ChildCount int32     `json:"child_count"` // also where --depth hides them
	Czxid      int64     `json:"czxid,string"`
	Created    time.Time `json:"created"`
	Modified   time.Time `json:"modified"`
	cli.Content
	Children []Node `json:"children,omitempty"`
}

// describe is the tree for programs.
func (l *leaf) describe(v treeView) Node {
	out := Node{
		Path: l.path, Ephemeral: l.stat.EphemeralOwner != 0, Session: cli.SessionID(l.stat.EphemeralOwner),
		Version: l.stat.Version, Size: l.stat.DataLength, ChildCount: l.stat.NumChildren, Czxid: l.stat.Czxid,
		Created: time.UnixMilli(l.stat.Ctime), Modified: time.UnixMilli(l.stat.Mtime),
	}
	if l.err != nil {
		return Node{Path: l.path, Error: l.err.Error()}
	}
	if v.data {
		out.Content = cli.ContentOf(l.data)
	}
	for _, child := range l.there() {
		out.Children = append(out.Children, child.describe(v))
	}
	return out
}
