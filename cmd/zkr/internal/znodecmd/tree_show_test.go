package znodecmd

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/cli"
	"github.com/zkrecipes/zkrecipes/session"
	"pgregory.net/rapid"
)

// grown draws a tree.
func grown(t *rapid.T, path string, depth int) *leaf {
	l := &leaf{path: path, gone: depth > 0 && rapid.IntRange(0, 9).Draw(t, "gone") == 0}
	l.stat = session.Stat{EphemeralOwner: int64(rapid.IntRange(0, 1).Draw(t, "ephemeral")) << 40}
	if depth == 4 {
		return l
	}
	for i := range rapid.IntRange(0, 3).Draw(t, "children") {
		l.children = append(l.children, grown(t, fmt.Sprintf("%s/n%d", path, i), depth+1))
	}
	l.stat.NumChildren = int32(len(l.children))
	return l
}

// paths are the visible paths of a tree, in the order of a drawing.
func (l *leaf) paths() []string {
	out := []string{l.path}
	for _, child := range l.children {
		if !child.gone {
			out = append(out, child.paths()...)
		}
	}
	return out
}

// pathsOf reads a drawing back: the text before a name tells the depth.
func pathsOf(t *rapid.T, drawing string) []string {
	var out, above []string
	for line := range strings.Lines(drawing) {
		if strings.TrimSpace(line) == "" {
			break // the sum follows
		}
		before := strings.IndexFunc(line, func(r rune) bool { return r == '/' || r == 'n' })
		deep := len([]rune(line[:before])) / 4
		name, _, _ := strings.Cut(line[before:], "  ")
		require.LessOrEqual(t, deep, len(above), drawing)
		above = append(above[:deep:deep], name)
		out = append(out, strings.Join(above, "/"))
	}
	return out
}

// TestDrawingShowsEachZnodeWhereItIs, and counts them.
func TestDrawingShowsEachZnodeWhereItIs(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		root := grown(t, "/root", 0)
		drawing := string(root.draw(treeView{}))
		want := root.paths()
		require.Equal(t, want, pathsOf(t, drawing), drawing)
		ephemeral := strings.Count(drawing, "ephemeral of")
		require.True(t, strings.HasSuffix(drawing, fmt.Sprintf("\n%s, %d ephemeral\n", cli.Count(len(want), "znode"), ephemeral)), drawing)
		// A vertical line leads to a sibling further down, always.
		lines := strings.Split(drawing, "\n")
		for i, line := range lines {
			for j, r := range []rune(line) {
				if r != '│' && r != '├' {
					continue
				}
				below := []rune(lines[i+1])
				require.Greater(t, len(below), j, drawing)
				require.Contains(t, "│├└", string(below[j]), drawing)
			}
		}
	})
}

// TestDescriptionHasTheSameZnodes, nested.
func TestDescriptionHasTheSameZnodes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		root := grown(t, "/root", 0)
		var paths []string
		var visit func(n Node)
		visit = func(n Node) {
			paths = append(paths, n.Path)
			for _, child := range n.Children {
				require.Equal(t, n.Path, child.Path[:strings.LastIndexByte(child.Path, '/')])
				visit(child)
			}
		}
		visit(root.describe(treeView{}))
		require.Equal(t, root.paths(), paths)
	})
}
