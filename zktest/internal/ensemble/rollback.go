package ensemble

import "github.com/zkrecipes/zkrecipes/zktest/internal/tree"

// Backup returns a copy of the server's replica, for [Node.RollBack].
func (n *Node) Backup() *tree.Tree { return n.tree.Clone() }

// RollBack replaces the log of a stopped server by the log of an earlier
// moment: later commits are lost. The epoch is kept, because a real server
// stores the epoch in a separate file.
func (n *Node) RollBack(earlier *tree.Tree) {
	if !n.down {
		return
	}
	n.tree = earlier.Clone()
	n.accepted, n.lagged = nil, nil
}
