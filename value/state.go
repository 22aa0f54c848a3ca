package value

import "github.com/zkrecipes/zkrecipes/internal/batchwrite"

// State is the state of a value at a moment; see [Value.TrySet].
type State struct {
	// Data is the caller's own; empty while no znode exists.
	Data []byte
	// Exists is false while there is no znode.
	Exists bool
	// Version is the znode's version: the number of changes. The version starts
	// at 0 again when the znode is created again, and becomes negative after
	// 2147483647. To distinguish states, compare the Zxid.
	Version int32
	// Zxid is the id of the transaction of this state; 0 if no znode exists. A
	// Zxid is never used twice, and grows with each change, unless the ensemble is recreated
	// empty.
	Zxid int64
	// node is the znode of this state.
	node batchwrite.Identity
}

func stateOf(now batchwrite.State, exists bool) State {
	return State{Data: now.Data, Exists: exists, Version: now.Version, Zxid: now.Mzxid, node: now.Node}
}

// same reports whether s and other are the same state, which the Zxid does not tell in two
// ensembles.
func (s State) same(other State) bool { return s.Zxid == other.Zxid && s.node == other.node }
