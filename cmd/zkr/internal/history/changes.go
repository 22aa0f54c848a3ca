package history

import (
	"bytes"
	"io"

	"github.com/golang/snappy"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/ui/recognize"
)

// changes are what an earlier state lacks for a later one: the znodes, and the stays that last.
type changes struct {
	nodes layer[string, recognize.Node]
	open  layer[place, Stay]
}

func newChanges() changes {
	return changes{layer[string, recognize.Node]{}, layer[place, Stay]{}}
}

// changesFromNothing are a whole state.
func changesFromNothing(nodes map[string]*recognize.Node, open map[place]*Stay) changes {
	return changes{layerOf(nodes), layerOf(open)}
}

func (c changes) len() int { return len(c.nodes) + len(c.open) }

// over are changes that do what c does after the changes below.
func (c changes) over(below changes) changes {
	return changes{c.nodes.over(below.nodes), c.open.over(below.open)}
}

// applyTo changes a state.
func (c changes) applyTo(nodes map[string]*recognize.Node, open map[place]*Stay) {
	c.nodes.applyTo(nodes)
	c.open.applyTo(open)
}

func (c *changes) pass(p *pass) {
	passLayer(p, &c.nodes, passText[string], passNode, func(n *recognize.Node, path string) { n.Path = path })
	passLayer(p, &c.open, passPlace, passStay, func(s *Stay, at place) { s.Path, s.Znode, s.Resource = at.thing, at.znode, at.resource })
}

// pack makes compressed bytes of changes. They take a tenth of the memory, and the garbage
// collector has nothing to follow in them.
func (c changes) pack() []byte {
	var p pass
	c.pass(&p)
	var out bytes.Buffer
	w := snappy.NewBufferedWriter(&out)
	_, _ = w.Write(p.bytes) // memory takes all
	_ = w.Close()
	return bytes.Clone(out.Bytes())
}

// unpack makes the changes of the bytes of pack.
func unpack(packed []byte) (c changes) {
	b, err := io.ReadAll(snappy.NewReader(bytes.NewReader(packed)))
	if err != nil {
		panic(err) // memory has what pack made
	}
	c.pass(&pass{bytes: b, off: true})
	return c
}
