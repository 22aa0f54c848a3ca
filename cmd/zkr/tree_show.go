package main

import (
	"bytes"
	"fmt"
	"time"
)

// What the lines of a drawing begin with.
const (
	branch     = "├── "
	lastBranch = "└── "
	trunk      = "│   "
	nothing    = "    "
)

// previewWidth is how many characters of data a line shows.
const previewWidth = 48

// drawing draws a tree.
type drawing struct {
	treeView
	out               bytes.Buffer
	znodes, ephemeral int
}

// draw draws the tree for people.
func (l *leaf) draw(v treeView) []byte {
	d := &drawing{treeView: v}
	d.line("", readable([]byte(l.path)), l)
	d.below("", l)
	fmt.Fprintf(&d.out, "\n%s, %d ephemeral\n", count(d.znodes, "znode"), d.ephemeral)
	return d.out.Bytes()
}

// count says how many there are of something.
func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// below draws what is below l, behind indent.
func (d *drawing) below(indent string, l *leaf) {
	there := l.there()
	for i, child := range there {
		fork, deeper := branch, trunk
		if i == len(there)-1 {
			fork, deeper = lastBranch, nothing
		}
		d.line(indent+fork, readable([]byte(child.name())), child)
		d.below(indent+deeper, child)
	}
}

// there are the children that had not gone when they were to be read.
func (l *leaf) there() []*leaf {
	out := make([]*leaf, 0, len(l.children))
	for _, child := range l.children {
		if !child.gone {
			out = append(out, child)
		}
	}
	return out
}

// line draws one znode.
func (d *drawing) line(before, name string, l *leaf) {
	d.znodes++
	d.out.WriteString(before)
	d.out.WriteString(name)
	if l.err != nil {
		d.out.WriteString("  not readable with these credentials\n")
		return
	}
	fmt.Fprintf(&d.out, "  v%d, %d B", l.stat.Version, l.stat.DataLength)
	if owner := sessionID(l.stat.EphemeralOwner); owner != "" {
		d.ephemeral++
		d.out.WriteString(", ephemeral of " + owner)
	}
	if l.stat.NumChildren > 0 && l.children == nil {
		d.out.WriteString(", " + children(l.stat.NumChildren))
	}
	switch {
	case len(l.data) == 0:
	case d.data:
		d.out.WriteString("  " + readable(l.data))
	default:
		d.out.WriteString("  " + brief(l.data, previewWidth))
	}
	d.out.WriteByte('\n')
}

func children(n int32) string {
	if n == 1 {
		return "1 child"
	}
	return fmt.Sprintf("%d children", n)
}

// treeNode is a znode as "-o json" shows it.
type treeNode struct {
	Path       string    `json:"path"`
	Error      string    `json:"error,omitempty"` // it cannot be read, and only its path is known
	Ephemeral  bool      `json:"ephemeral"`
	Session    string    `json:"session,omitempty"` // of an ephemeral one
	Version    int32     `json:"version"`
	Size       int32     `json:"size"`
	ChildCount int32     `json:"child_count"` // also where --depth hides them
	Czxid      int64     `json:"czxid"`
	Created    time.Time `json:"created"`
	Modified   time.Time `json:"modified"`
	content
	Children []treeNode `json:"children,omitempty"`
}

// describe is the tree for programs.
func (l *leaf) describe(v treeView) treeNode {
	out := treeNode{
		Path: l.path, Ephemeral: l.stat.EphemeralOwner != 0, Session: sessionID(l.stat.EphemeralOwner),
		Version: l.stat.Version, Size: l.stat.DataLength, ChildCount: l.stat.NumChildren, Czxid: l.stat.Czxid,
		Created: time.UnixMilli(l.stat.Ctime), Modified: time.UnixMilli(l.stat.Mtime),
	}
	if l.err != nil {
		return treeNode{Path: l.path, Error: l.err.Error()}
	}
	if v.data {
		out.content = contentOf(l.data)
	}
	for _, child := range l.there() {
		out.Children = append(out.Children, child.describe(v))
	}
	return out
}
