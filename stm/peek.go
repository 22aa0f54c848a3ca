package stm

import (
	"bytes"
	"errors"
	"slices"

	"github.com/zkrecipes/zkrecipes/session"
)

// Peek reads znodes in one round trip without making them conditions of the
// transaction: the result is a hint, may be out of date, and does not show the
// transaction's own writes. If every change of a znode also changes another
// znode, and the transaction reads the other znode with [Tx.Get] before, the
// hint is current when the transaction is applied.
func (tx *Tx) Peek(paths ...string) ([]Node, error) {
	if err := tx.checkPaths(paths); err != nil {
		return nil, err
	}
	reads := make([]*session.Future[session.Seen], len(paths))
	synced := tx.startSync()
	for i, path := range paths {
		reads[i] = tx.s.StartGet(path, false)
	}
	return tx.awaitPeeks(synced, paths, reads)
}

// PeekChildren is [Tx.Peek] of the names of a znode's children. A missing znode
// has no names.
func (tx *Tx) PeekChildren(path string) (Node, []string, error) {
	if err := tx.checkPath(path); err != nil {
		return Node{}, nil, err
	}
	synced, read := tx.startSync(), tx.s.StartChildren(path, false)
	nodes, err := tx.awaitPeeks(synced, []string{path}, []*session.Future[session.Seen]{read})
	if err != nil {
		return Node{}, nil, err
	}
	seen, _ := read.Wait(tx.ctx) // answered before
	return nodes[0], slices.Clone(seen.Children), nil
}

// Depend makes the transaction depend on nodes that [Tx.Peek] has returned, as
// if [Tx.Get] had read them: on their versions, or on their absence. A node
// already known to the transaction does not change. With Depend, conditions and
// hints share a round trip.
func (tx *Tx) Depend(nodes ...Node) error {
	if err := tx.checkUsable(); err != nil {
		return err
	}
	for _, node := range nodes {
		if err := tx.checkPath(node.Path); err != nil {
			return err
		}
		if e := tx.nodes[node.Path]; e != nil && e.isKnown() {
			continue
		}
		if node.Exists && node.Stat.Version == anyVersion {
			return tx.refuseAttempt("depend on", node.Path, ErrVersion)
		}
		node.Data = bytes.Clone(node.Data)
		tx.noteNode(node)
	}
	return nil
}

// Session returns the session of this attempt: the session of the ephemeral
// znodes created by the transaction.
func (tx *Tx) Session() *session.Session {
	if tx == nil {
		return nil
	}
	return tx.s
}

// awaitPeeks waits for reads without conditions.
func (tx *Tx) awaitPeeks(synced *session.Future[struct{}], paths []string, reads []*session.Future[session.Seen]) ([]Node, error) {
	if err := tx.awaitSync(synced); err != nil {
		return nil, err
	}
	out := make([]Node, len(paths))
	for i, read := range reads {
		seen, err := read.Wait(tx.ctx)
		if err != nil && !errors.Is(err, session.ErrNoNode) {
			return nil, tx.failRead(err)
		}
		out[i] = Node{Path: paths[i], Exists: err == nil && seen.Exists, Data: bytes.Clone(seen.Data), Stat: seen.Stat}
	}
	return out, nil
}
