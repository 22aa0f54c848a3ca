package stm

import (
	"bytes"
	"context"
	"fmt"
	"slices"

	"github.com/zkrecipes/zkrecipes/session"
)

// Node is a znode as seen by a transaction: the read state with the
// transaction's own writes. Data and Stat are zero if the znode does not exist;
// Stat is also zero if the transaction creates the znode.
type Node struct {
	Path   string
	Exists bool
	Data   []byte
	Stat   session.Stat
}

// Tx is an attempt of a transaction. A Tx belongs to one call of the function
// passed to [Transactor.Apply], is not for concurrent use, and must not be used
// after the call has returned.
//
// After a method has returned an error, the attempt cannot succeed any more, whatever
// the function returns.
type Tx struct {
	ctx context.Context
	s   *session.Session
	t   *Transactor
	// fresh: a sync must precede the first read.
	fresh bool
	// over: the function has returned.
	over bool
	// unanswered: the reply to an earlier attempt of the call is missing.
	// assumes: Assume has an effect.
	unanswered, assumes bool

	nodes  map[string]*entry
	reads  []*entry // in the order of the reads
	guards []session.Op
	writes []write

	// failed is the first error of a read: the network's, or the session's.
	failed error
	// refused is the first error of a method caused by the values read, or by an
	// argument.
	refused error
}

// entry is the knowledge of a transaction about a path.
type entry struct {
	now Node
	// read is set if the znode was read; was is the result.
	read bool
	was  Node
	// absentAt is the topmost absent znode at or above the path, if was is
	// absent.
	absentAt string
	written  bool
}

// isKnown reports whether now is certain when the transaction is applied.
func (e *entry) isKnown() bool { return e.read || e.written }

type writeKind int

const (
	setWrite writeKind = iota
	createWrite
	deleteWrite
	requireWrite // the znode must exist
)

// write is a write requested by a transaction.
type write struct {
	kind    writeKind
	path    string
	data    []byte
	version int32 // of the first set or delete of a read znode; otherwise any
	mode    session.Mode
	opts    *session.CreateOptions
	// absent: the znode was read and was absent.
	absent bool
}

// Get reads the znode at path, within the context of Apply. A missing znode is
// not an error. The transaction is applied only if the znode still has the same
// data version, or is still missing; changes of its children do not count.
func (tx *Tx) Get(path string) (Node, error) {
	nodes, err := tx.GetAll(path)
	if err != nil {
		return Node{}, err
	}
	return nodes[0], nil
}

// GetAll is [Tx.Get] for several paths in one round trip.
func (tx *Tx) GetAll(paths ...string) ([]Node, error) {
	if err := tx.checkPaths(paths); err != nil {
		return nil, err
	}
	if err := tx.readMissing(paths); err != nil {
		return nil, err
	}
	out := make([]Node, len(paths))
	for i, path := range paths {
		out[i] = tx.nodes[path].now
		out[i].Data = bytes.Clone(out[i].Data)
	}
	return out, nil
}

// hasWrites reports whether the transaction writes.
func (tx *Tx) hasWrites() bool {
	return slices.ContainsFunc(tx.writes, func(w write) bool { return w.kind != requireWrite })
}

// Set replaces the data of the znode at path, which must exist.
func (tx *Tx) Set(path string, data []byte) error {
	e, err := tx.writeTarget(path)
	if err != nil {
		return err
	}
	if e.isKnown() && !e.now.Exists {
		return tx.refuseAttempt("set", path, session.ErrNoNode)
	}
	data = bytes.Clone(data)
	if last := tx.lastWrite(path); last != nil && last.kind != deleteWrite {
		last.data = data
	} else {
		tx.addWrite(e, write{kind: setWrite, path: path, data: data})
	}
	e.now = Node{Path: path, Exists: true, Data: data, Stat: e.now.Stat}
	return nil
}

// Create creates a znode. The znode must not exist; its parent must exist.
// Sequential modes are refused, because the name is unknown before the
// transaction is applied. o may be nil.
func (tx *Tx) Create(path string, data []byte, mode session.Mode, o *session.CreateOptions) error {
	e, err := tx.writeTarget(path)
	switch {
	case err != nil:
		return err
	case mode == session.PersistentSequential || mode == session.EphemeralSequential || mode == session.PersistentSequentialTTL:
		return tx.refuseAttempt("create", path, fmt.Errorf("%w: a sequential znode has no name yet", ErrInvalidArgument))
	case e.isKnown() && e.now.Exists:
		return tx.refuseAttempt("create", path, session.ErrNodeExists)
	}
	data = bytes.Clone(data)
	if o != nil {
		copied := *o
		copied.ACL = slices.Clone(o.ACL)
		o = &copied
	}
	tx.addWrite(e, write{kind: createWrite, path: path, data: data, mode: mode, opts: o})
	e.now = Node{Path: path, Exists: true, Data: data}
	return nil
}

// Delete deletes the znode at path, which must exist and have no children.
func (tx *Tx) Delete(path string) error {
	e, err := tx.writeTarget(path)
	if err != nil {
		return err
	}
	if e.isKnown() && !e.now.Exists {
		return tx.refuseAttempt("delete", path, session.ErrNoNode)
	}
	tx.addWrite(e, write{kind: deleteWrite, path: path})
	e.now = Node{Path: path}
	return nil
}

// Put reads the znode at path, unless already read, and then sets its data, or
// creates a persistent znode.
func (tx *Tx) Put(path string, data []byte) error {
	node, err := tx.Get(path)
	switch {
	case err != nil:
		return err
	case node.Exists:
		return tx.Set(path, data)
	}
	return tx.Create(path, data, session.Persistent, &session.CreateOptions{ACL: tx.t.opts.ACL})
}

// checkUsable returns nil while the attempt can succeed.
func (tx *Tx) checkUsable() error {
	switch {
	case tx == nil || tx.s == nil:
		return fmt.Errorf("stm: %w: the Tx has no session: get one from Transactor.Apply", ErrInvalidArgument)
	case tx.over:
		return fmt.Errorf("stm: %w: the Tx was used after its function had returned", ErrInvalidArgument)
	case tx.failed != nil:
		return tx.failed
	}
	return tx.refused
}

// checkPath checks the Tx and a path, as the first step of every method with a path.
func (tx *Tx) checkPath(path string) error {
	if err := tx.checkUsable(); err != nil {
		return err
	}
	if err := session.ValidatePath(path); err != nil {
		return tx.refuseAttempt("use", path, fmt.Errorf("%w: %w", ErrInvalidArgument, err))
	}
	return nil
}

// checkPaths is checkPath for several paths.
func (tx *Tx) checkPaths(paths []string) error {
	if err := tx.checkUsable(); err != nil {
		return err
	}
	for _, path := range paths {
		if err := tx.checkPath(path); err != nil {
			return err
		}
	}
	return nil
}

// writeTarget returns the entry of a path to be written.
func (tx *Tx) writeTarget(path string) (*entry, error) {
	if err := tx.checkPath(path); err != nil {
		return nil, err
	}
	e := tx.nodes[path]
	if e == nil {
		e = &entry{now: Node{Path: path}}
		tx.nodes[path] = e
	}
	return e, nil
}

// addWrite appends w. The first write of a read znode depends on the read.
func (tx *Tx) addWrite(e *entry, w write) {
	w.version = anyVersion
	if e.read && !e.written {
		w.absent = !e.was.Exists
		if e.was.Exists && w.kind != createWrite {
			w.version = e.was.Stat.Version
		}
	}
	// From its first write on, the transaction knows whether the znode exists.
	e.written = true
	tx.writes = append(tx.writes, w)
}

// lastWrite is the last write of path; nil if there is none.
func (tx *Tx) lastWrite(path string) *write {
	for i := len(tx.writes) - 1; i >= 0; i-- {
		if tx.writes[i].path == path && tx.writes[i].kind != requireWrite {
			return &tx.writes[i]
		}
	}
	return nil
}

// refuseAttempt ends the attempt because of the values read, or of an argument.
func (tx *Tx) refuseAttempt(op, path string, err error) error {
	tx.refused = &session.OpError{Op: op, Path: path, Err: err}
	return tx.refused
}
