package node

import (
	"context"
	"fmt"

	"github.com/zkrecipes/zkrecipes/internal/holding"
	"github.com/zkrecipes/zkrecipes/internal/keeping"
	"github.com/zkrecipes/zkrecipes/internal/receiver"
	"github.com/zkrecipes/zkrecipes/internal/znode"
	"github.com/zkrecipes/zkrecipes/observe"
	"github.com/zkrecipes/zkrecipes/session"
)

// packageName is in front of errors.
const packageName = "node"

// Node is a znode that can be kept in existence.
type Node struct {
	client *session.Client
	path   string
	mode   session.Mode
	opts   Options
	owned  *keeping.Ownership
	err    error // of invalid arguments
}

// New makes a Node of the znode at path, of any mode. In a sequential mode, the kept
// znode has the parent of path, and the name "_c_<uuid>-<last element of path><number>".
// Missing parents are created as containers. New sends nothing; the first call of Keep
// reports an invalid argument. o may be nil, except for a TTL mode.
func New(client *session.Client, path string, mode session.Mode, o *Options) *Node {
	n := &Node{client: client, path: path, mode: mode, owned: keeping.NewOwnership()}
	n.opts, n.err = o.check(mode)
	switch err := session.ValidatePath(path); {
	case n.err != nil:
	case err != nil:
		n.err = fmt.Errorf("%w: %w", ErrInvalidArgument, err)
	case path == "/":
		n.err = fmt.Errorf("%w: path is /, which always exists", ErrInvalidArgument)
	case client == nil:
		n.err = fmt.Errorf("%w: the client is nil", ErrInvalidArgument)
	}
	return n
}

// Keep creates the znode with this data, nil meaning none, and keeps it in existence:
// Keep creates the znode again, with the data of the last [Kept.SetData], in the next
// session after each loss, and after any client has deleted the znode or its parents. A
// goroutine does this until [Kept.Release], or until the client is closed.
//
// Keep returns when the znode exists. A znode that exists already and goes with no
// session is taken over, whatever its kind, and gets the data; several processes can keep
// the same znode. An ephemeral znode cannot be shared: if another session has a znode at
// the path, or an ephemeral znode is to be kept where a znode without a session exists,
// the error wraps ErrConflict, or Keep waits ([Options.Wait]). Two calls of one Node are
// a conflict, too. Keep also waits for the remains of a lost session of this Node, and for
// a Release in progress. A sequential znode has no conflicts.
//
// If ctx ends first, nothing is left behind but a TTL znode, which expires. A znode that
// existed before stays, possibly with the data. If the servers have TTL znodes disabled,
// the error of a TTL mode wraps session.ErrUnsupported, and names the setting.
func (n *Node) Keep(ctx context.Context, data []byte) (*Kept, error) {
	n = receiver.OrZero(n)
	if err := holding.Begin(ctx, n.client, "node.New", n.err, ErrInvalidArgument); err != nil {
		return nil, failure(ctx, "keep", n.path, err)
	}
	k := &Kept{registrant: keeping.New(keeping.Config{
		Client: n.client, Parent: session.Container, ACL: n.opts.ACL, Wait: n.opts.Wait, Owned: n.owned,
		Words: keeping.Words{Package: packageName, Conflict: ErrConflict, Unregistered: session.ErrReleased},
	})}
	if err := k.registrant.Register(ctx, observe.Node, "keep", n.entry(data)); err != nil {
		if hasTTL(n.mode) {
			err = explain(err)
		}
		return nil, err
	}
	if !hasTTL(n.mode) {
		return k, nil
	}
	k.toucher = newToucher(n, k.registrant)
	if err := k.toucher.start(ctx); err != nil {
		_ = k.registrant.AwaitLeft(ctx) // sends nothing: the znode expires
		return nil, failure(ctx, "keep", n.path, explain(err))
	}
	return k, nil
}

// entry is the znode to keep.
func (n *Node) entry(data []byte) *keeping.Entry {
	e := &keeping.Entry{
		Dir: znode.Parent(n.path), Name: znode.Base(n.path), Mode: n.mode, TTL: n.opts.TTL, Reported: n.path,
		Data:   append([]byte{}, data...), // not nil: the znode has data, of length 0
		Folder: !isEphemeral(n.mode),
		Stays:  hasTTL(n.mode),
		Sole:   true,
	}
	switch {
	case isSequential(n.mode):
		// Without a name of its own, a znode whose creation got no reply could not be
		// told from the znode of another client with the same data.
		e.Name, e.Random = session.ProtectedName(e.Name), true
	case !isEphemeral(n.mode):
		e.Adopt = func([]byte) bool { return true }
	}
	return e
}
