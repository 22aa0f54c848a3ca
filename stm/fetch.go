package stm

import (
	"errors"
	"strings"

	"github.com/zkrecipes/zkrecipes/session"
)

// readMissing reads the paths not yet known to the transaction.
func (tx *Tx) readMissing(paths []string) error {
	var synced *session.Future[struct{}]
	reads := map[string]*session.Future[session.Seen]{}
	for _, path := range paths {
		if e := tx.nodes[path]; e != nil && e.isKnown() || reads[path] != nil {
			continue
		}
		if synced == nil {
			synced = tx.startSync()
		}
		reads[path] = tx.s.StartGet(path, false)
	}
	if err := tx.awaitSync(synced); err != nil {
		return err
	}
	for _, path := range paths {
		read := reads[path]
		if read == nil {
			continue
		}
		delete(reads, path)
		seen, err := read.Wait(tx.ctx)
		if err != nil && !errors.Is(err, session.ErrNoNode) {
			return tx.failRead(err)
		}
		if err := tx.noteRead(path, seen); err != nil {
			return err
		}
	}
	return nil
}

// startSync sends the sync required before the attempt's first read; nil if no
// sync is required.
func (tx *Tx) startSync() *session.Future[struct{}] {
	if !tx.fresh {
		return nil
	}
	tx.fresh = false
	return tx.s.StartSync("/")
}

// awaitSync waits for the answer to startSync.
func (tx *Tx) awaitSync(synced *session.Future[struct{}]) error {
	if synced == nil {
		return nil
	}
	if _, err := synced.Wait(tx.ctx); err != nil {
		return tx.failRead(err)
	}
	return nil
}

// noteRead notes the result of a read.
func (tx *Tx) noteRead(path string, seen session.Seen) error {
	if seen.Exists && seen.Stat.Version == anyVersion {
		return tx.refuseAttempt("get", path, ErrVersion)
	}
	tx.noteNode(Node{Path: path, Exists: seen.Exists, Data: seen.Data, Stat: seen.Stat})
	return nil
}

// noteNode notes the known state of a znode.
func (tx *Tx) noteNode(node Node) {
	e := &entry{now: node, read: true, was: node}
	tx.nodes[node.Path] = e
	tx.reads = append(tx.reads, e)
}

// onlyAbsent is the path of the only read znode, if absent; otherwise "".
func (tx *Tx) onlyAbsent() string {
	if len(tx.reads) != 1 || tx.reads[0].was.Exists {
		return ""
	}
	return tx.reads[0].was.Path
}

// findAbsentAncestors completes absentAt of the znodes whose absence the
// request must prove: all absent znodes except those in skip.
func (tx *Tx) findAbsentAncestors(skip map[string]bool) error {
	for _, e := range tx.reads {
		if e.was.Exists || skip[e.was.Path] || e.absentAt != "" {
			continue
		}
		var err error
		if e.absentAt, err = tx.topmostAbsent(e.was.Path); err != nil {
			return err
		}
	}
	return nil
}

// topmostAbsent is the topmost of the absent znodes at path and above. While
// the topmost does not exist, no znode below exists, and only the topmost can
// be created as a test, because its parent exists.
func (tx *Tx) topmostAbsent(path string) (string, error) {
	for {
		above := path[:strings.LastIndexByte(path, '/')]
		if above == "" {
			return path, nil // the parent is the root
		}
		if e := tx.nodes[above]; e != nil && e.read {
			if e.was.Exists {
				return path, nil
			}
			path = above
			continue
		}
		parent, err := tx.s.StartExists(above, false).Wait(tx.ctx)
		if err != nil {
			return "", err
		}
		if parent.Exists {
			return path, nil
		}
		path = above
	}
}

// failRead ends the attempt because a read has failed.
func (tx *Tx) failRead(err error) error {
	tx.failed = err
	return err
}
