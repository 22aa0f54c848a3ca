package dispatch

import (
	"errors"
	"slices"
	"strings"

	"github.com/zkrecipes/zkrecipes/internal/znode"
	"github.com/zkrecipes/zkrecipes/session"
)

// beginLoad has all tasks listed and read, on a connection that may be new.
func (v *taskView) beginLoad() error {
	v.gen++
	v.queue, v.lists, v.flying, v.listing, v.unread = nil, nil, 0, 0, 0
	v.loading = true
	due := map[string]*taskRead{}
	for path, r := range v.reads {
		if r.due {
			due[path] = &taskRead{path: path, due: true}
		}
	}
	v.urgent = 0
	v.reads = due // the load reads them, or finds that they are gone
	v.known = map[string][]string{}
	v.t.mu.Lock()
	v.t.scheduler.connection++
	if v.t.early == earlyAsked {
		v.t.early = earlyWanted // the master asks again
	}
	for id := range v.t.scheduler.tasks {
		v.known[bucketOf(id)] = append(v.known[bucketOf(id)], id)
	}
	for _, id := range v.t.scheduler.backlog.ids() {
		v.known[bucketOf(id)] = append(v.known[bucketOf(id)], id)
	}
	v.t.mu.Unlock()
	v.listing++
	gen := v.gen
	v.t.s.StartChildren(v.t.at(tasksDir), false).Then(func(seen session.Seen, err error) {
		v.inbox.put(taskItem{gen: gen, list: true, root: true, names: seen.Children, err: err})
	})
	return nil
}

// onList handles a list of buckets, or of the tasks of a bucket.
func (v *taskView) onList(it taskItem) error {
	if it.gen != v.gen {
		return nil // void: asked on another connection
	}
	v.listing--
	missing := errors.Is(it.err, session.ErrNoNode)
	switch {
	case it.err == nil, missing:
	case session.NotSent(it.err), session.Unanswered(it.err):
		return nil // the watch reports the next connection
	case errors.Is(it.err, session.ErrNoAuth) && !it.root:
	default:
		return it.err
	}
	if it.root {
		v.lists = append(v.lists, it.names...)
		for bucket, ids := range v.known {
			if !slices.Contains(it.names, bucket) {
				v.dropMissing(bucket, ids, nil)
			}
		}
		return nil
	}
	v.dropMissing(it.bucket, v.known[it.bucket], it.names)
	delete(v.known, it.bucket)
	prefix := v.t.at(tasksDir, it.bucket) + "/"
	for _, name := range it.names {
		path := prefix + name
		if r := v.reads[path]; r != nil && r.due && !r.sent && !r.load {
			v.queue = append(v.queue, r) // of the last connection
		}
		if r := v.read(path); !r.load {
			r.load = true
			v.unread++
		}
	}
	return nil
}

// dropMissing drops the tasks of a bucket that are not in its list. A task that is being
// read is left to that: the list may be older.
func (v *taskView) dropMissing(bucket string, ids, names []string) {
	there := make(map[string]bool, len(names))
	for _, name := range names {
		there[name] = true
	}
	v.t.updateScheduler(func(sc *scheduler) {
		for _, id := range ids {
			path := v.t.taskPath(id)
			if r := v.reads[path]; there[znode.Base(path)] || r != nil && !r.due {
				continue
			}
			delete(v.reads, path)
			v.dropTask(sc, path)
		}
		prefix := v.t.at(tasksDir, bucket) + "/"
		for path := range sc.tally.unreadable {
			if name, in := strings.CutPrefix(path, prefix); in && !there[name] && v.reads[path] == nil {
				delete(sc.tally.unreadable, path)
			}
		}
	})
}

// endLoad tells the master when all tasks have been shown.
func (v *taskView) endLoad() {
	if !v.loading || v.listing+len(v.lists)+v.unread > 0 {
		return
	}
	v.loading, v.known = false, nil
	if v.shown {
		return
	}
	v.shown = true
	v.t.updateScheduler(func(*scheduler) { v.t.loaded++ })
}
