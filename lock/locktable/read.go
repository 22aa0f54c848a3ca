package locktable

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/zkrecipes/zkrecipes/internal/optimistic"
	"github.com/zkrecipes/zkrecipes/internal/versioned"
	"github.com/zkrecipes/zkrecipes/internal/znode"
	"github.com/zkrecipes/zkrecipes/session"
)

// entry is the result of reading a lock.
type entry struct {
	Entry

	exists  bool
	version int32
	watch   *session.Watch // nil if none was asked for, or the znode does not exist
	kept    versioned.Kept // fields written by a newer version
}

// parseEntry reads the record of a lock's znode.
func (t *Table) parseEntry(name string, seen session.Seen) entry {
	e := entry{Entry: Entry{Name: name}, exists: seen.Exists, watch: seen.Watch}
	if e.exists {
		e.version, e.Token, e.Since = seen.Stat.Version, seen.Stat.Mzxid, time.UnixMilli(seen.Stat.Mtime).UTC()
		r, err := t.opts.decodeRecord(t.lockPath(name), seen.Data)
		e.Owner, e.kept, e.Err = r.Client, r.Kept, err
	}
	return e
}

// startReads sends the reads of locks.
func (t *Table) startReads(s *session.Session, names []string, watch bool) []*session.Future[session.Seen] {
	futures := make([]*session.Future[session.Seen], len(names))
	for i, name := range names {
		futures[i] = s.StartGet(t.lockPath(name), watch)
	}
	return futures
}

// readLocks reads locks. After an error no watch is left.
func (t *Table) readLocks(ctx context.Context, s *session.Session, names []string, watch bool) ([]entry, error) {
	return t.collectEntries(&optimistic.Reading{Ctx: ctx}, names, t.startReads(s, names, watch))
}

// collectEntries is readLocks for reads that were sent.
func (t *Table) collectEntries(r *optimistic.Reading, names []string, reads []*session.Future[session.Seen]) ([]entry, error) {
	seen := r.Collect(reads...)
	out := make([]entry, len(seen))
	for i := range seen {
		out[i] = t.parseEntry(names[i], seen[i])
	}
	return out, r.Err
}

// isFree reports whether no client holds the lock, given the set of owners that
// have gone. An unreadable lock is not free.
func (e *entry) isFree(gone map[string]bool) bool {
	return e.Err == nil && (e.Owner == "" || gone[e.Owner])
}

// stopWatch ends the watch, if any.
func (e *entry) stopWatch() { stopWatch(e.watch) }

// abandonWatch ends the watch of a lock about to be changed: the change frees the
// watch on the server.
func (e *entry) abandonWatch() {
	if e.watch != nil {
		e.watch.Abandon()
	}
}

func stopAll(entries []entry) {
	for i := range entries {
		entries[i].stopWatch()
	}
}

// findGone returns the owners of locks that have gone. Existing owners are
// added to present, with a watch if watch is set; owners already in present are
// not read again. The locks were read before, so a missing owner has gone, even
// on a lagging server. Its name is never used again, so the owner has gone for
// good.
//
// The watch is set by a read of the data, not by exists: servers from 3.8.4 on
// also set a watch by exists on an unreadable znode, and then withhold the
// znode's deletion. A read is refused.
func (o *Owner) findGone(ctx context.Context, entries []entry, present map[string]*session.Watch, watch bool) (map[string]bool, error) {
	gone := map[string]bool{}
	for _, e := range entries {
		if _, known := present[e.Owner]; e.Owner != "" && e.Owner != o.name && !known {
			gone[e.Owner] = false
		}
	}
	names := slices.Collect(maps.Keys(gone))
	futures := make([]*session.Future[session.Seen], len(names))
	for i, name := range names {
		futures[i] = o.s.StartGet(znode.Join(o.t.opts.Owners, name), watch)
	}
	r := optimistic.Reading{Ctx: ctx}
	for i, seen := range r.Collect(futures...) {
		if gone[names[i]] = !seen.Exists; seen.Exists {
			present[names[i]] = seen.Watch
		}
	}
	return gone, r.Err
}

// isStale reports whether an operation of a transaction failed because a znode
// differs from the earlier read.
func isStale(err error) bool {
	return errors.Is(err, session.ErrBadVersion) || errors.Is(err, session.ErrNodeExists) || errors.Is(err, session.ErrNoNode)
}

// stopWatch stops a watch; w may be nil.
func stopWatch(w *session.Watch) {
	if w != nil {
		w.Stop()
	}
}
