package ensemble

import "github.com/zkrecipes/zkrecipes/zktest/internal/tree"

// Backup returns a copy of the server's replica, for [Node.RollBack].
func (n *Node) Backup() *tree.Tree { return n.tree.Clone() }

// RollBack replaces the log of a stopped server by that of an earlier moment: what
// was committed since is lost. The epoch is kept, as it is in a file of its own.
func (n *Node) RollBack(earlier *tree.Tree) {
	if !n.down {
		return
	}
	n.tree = earlier.Clone()
	n.accepted, n.lagged = nil, nil
}
