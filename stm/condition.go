package stm

import (
	"bytes"
	"fmt"

	"github.com/zkrecipes/zkrecipes/internal/receiver"
	"github.com/zkrecipes/zkrecipes/session"
)

// This file has the conditions of a transaction besides its reads.

// Assume uses node as the result of [Tx.Get], without a request: node comes
// from a view, or from the result of an earlier write. The transaction depends
// on the node's version, or on its absence, as on a read. If node is out of
// date, Apply calls the function again, with a Tx for which Assume has no
// effect, so Get reads. Nodes already known to the transaction do not change.
//
// Only Path, Exists, Data, and the version of Stat are needed. With the zxids of Stat, the
// outcome can also be found out if the session is lost.
func (tx *Tx) Assume(node Node) error {
	if err := tx.checkPath(node.Path); err != nil {
		return err
	}
	if e := tx.nodes[node.Path]; !tx.assumes || e != nil && e.isKnown() || node.Exists && node.Stat.Version == anyVersion {
		return nil
	}
	node.Data = bytes.Clone(node.Data)
	tx.noteNode(node)
	return nil
}

// Unanswered reports whether the reply to an earlier attempt of an idempotent
// call is missing; the attempt may then have been applied; see [NewIdempotent].
func (tx *Tx) Unanswered() bool { return receiver.OrZero(tx).unanswered }

// Require applies the transaction only if the znode at path exists, at the
// place of this call among the writes. The znode is not read, and may change.
// If the znode does not exist, Apply ends with session.ErrNoNode and the path.
func (tx *Tx) Require(path string) error {
	if err := tx.checkPath(path); err != nil {
		return err
	}
	if e := tx.nodes[path]; e != nil && e.isKnown() && !e.now.Exists {
		return tx.refuseAttempt("require", path, session.ErrNoNode)
	}
	tx.writes = append(tx.writes, write{kind: requireWrite, path: path, version: anyVersion})
	return nil
}

// Guard applies the transaction only if the check holds: usually the guard of a lock,
// a leadership or whatever else is held. If the check fails, Apply ends with ErrGuard.
func (tx *Tx) Guard(check session.Op) error {
	switch err := tx.checkUsable(); {
	case err != nil:
		return err
	case !check.IsCheck():
		return tx.refuseAttempt("guard", check.Path(), fmt.Errorf("%w: a guard must be a check, which changes nothing", ErrInvalidArgument))
	}
	tx.guards = append(tx.guards, check)
	return nil
}
