package stm

import (
	"errors"

	"github.com/zkrecipes/zkrecipes/session"
)

// role is the purpose of an operation of the request. The role decides the
// meaning of the operation's failure.
type role int

const (
	noRole     role = iota // the failure does not belong to an operation
	guardRole              // a guard of the caller
	readRole               // a condition on a read, or a write with such a condition
	createRole             // a creation of an absent znode
	writeRole              // a write without a dependence on reads
	markerRole             // counts the transaction
)

// plan is the request for a transaction.
type plan struct {
	ops   []session.Op
	roles []role // of each of ops
	// writes is where the caller's writes and requirements begin in ops.
	writes int
}

// failedAt returns the role of the failed operation.
func (p *plan) failedAt(err error) role {
	var txn *session.TxnError
	if !errors.As(err, &txn) {
		return noRole
	}
	return p.roles[txn.Index]
}

func (p *plan) add(r role, ops ...session.Op) {
	for _, op := range ops {
		p.ops = append(p.ops, op)
		p.roles = append(p.roles, r)
	}
}

// resultsOfWrites returns the results of the caller's writes.
func (p *plan) resultsOfWrites(results []session.Result) (out []session.Result) {
	for i := p.writes; i < len(p.ops); i++ {
		if p.roles[i] != markerRole && !p.ops[i].IsCheck() {
			out = append(out, results[i])
		}
	}
	return out
}

// addReads adds conditions on all reads, except for the paths in skip: these
// znodes have a write with the same condition. An absent znode is created and
// deleted again, because ZooKeeper has no check for absence.
func (p *plan) addReads(tx *Tx, skip map[string]bool) {
	tried := map[string]bool{}
	for _, e := range tx.reads {
		switch path := e.was.Path; {
		case skip[path]:
		case e.was.Exists:
			p.add(readRole, session.CheckOp(path, e.was.Stat.Version))
		case !tried[e.absentAt]:
			tried[e.absentAt] = true
			p.add(readRole, session.CreateOp(e.absentAt, nil, session.Persistent, nil), session.DeleteOp(e.absentAt, anyVersion))
		}
	}
}

// planReads makes the request for proving the transaction's reads.
func planReads(tx *Tx) plan {
	var p plan
	p.addReads(tx, nil)
	return p
}

// planAll is the request for the whole transaction, without its marker.
func planAll(tx *Tx) plan {
	var p plan
	p.add(guardRole, tx.guards...)
	p.addReads(tx, tx.conditionalPaths())
	p.writes = len(p.ops)
	for _, w := range tx.writes {
		r := writeRole
		switch {
		case w.version != anyVersion:
			r = readRole
		case w.absent:
			r = createRole
		}
		p.add(r, w.requestOp())
	}
	return p
}

// conditionalPaths returns the paths whose first write depends on their read.
func (tx *Tx) conditionalPaths() map[string]bool {
	out := map[string]bool{}
	for _, w := range tx.writes {
		if w.version != anyVersion || w.absent {
			out[w.path] = true
		}
	}
	return out
}

// requestOp returns the operation of w in the request.
func (w write) requestOp() session.Op {
	switch w.kind {
	case setWrite:
		return session.SetOp(w.path, w.data, w.version)
	case createWrite:
		return session.CreateOp(w.path, w.data, w.mode, w.opts)
	case requireWrite:
		return session.CheckOp(w.path, anyVersion)
	}
	return session.DeleteOp(w.path, w.version)
}
