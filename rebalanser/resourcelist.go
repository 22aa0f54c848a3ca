package rebalanser

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/zkrecipes/zkrecipes/session"
)

// resourceList is the coordinator's list of the resources. A persistent watch names each
// resource that comes or goes, so that a change costs one event, and no list of all names.
//
// The servers do not report the events of a znode that this client may not read (from
// 3.8.4 and 3.9.2 on), nor what happens between two connections. Therefore the number of
// changes that the folder's Stat has is compared with the number of events, every
// checkInterval and on each new connection. If the two differ, all resources are listed.
type resourceList struct {
	p      *memberNode
	notify func() // there is something to read; it must not block

	sub   *session.Subscription
	plain bool // persistent watches are not available: a one-shot watch, and a list per change

	names   []string // in order
	folder  int64    // the zxid that created the folder
	version int32    // of the folder's children: its changes that names includes
	known   bool     // names is the list, as far as the events tell
	checked time.Time
	told    []string // names, as read has returned them last
	begun   bool     // read has returned names

	// mu guards the rest, which the goroutine that reads the connection fills.
	mu    sync.Mutex
	inbox []resourceEvent
	stale bool // the events do not tell the whole: list all
	doubt bool // they may not tell the whole: check
	over  bool // the subscription has ended
}

// checkInterval is how often the list is compared with the folder's Stat.
const checkInterval = 5 * time.Second

// maxPending is how many events are kept until the coordinator takes them: beyond, a list is
// cheaper.
const maxPending = 1 << 17

// resourceEvent is a resource that has come or gone.
type resourceEvent struct {
	name  string
	comes bool
}

func newResourceList(p *memberNode, notify func()) *resourceList {
	return &resourceList{p: p, notify: notify}
}

// stop ends the watch.
func (l *resourceList) stop() {
	if l.sub != nil {
		l.sub.Stop()
	}
}

// checkDue is when the list is to be checked; zero if it need not be.
func (l *resourceList) checkDue() time.Time {
	if l.plain || !l.known {
		return time.Time{}
	}
	return l.checked.Add(checkInterval)
}

// onEvent takes an event of the subscription.
func (l *resourceList) onEvent(ev session.Event) {
	dir := l.p.at.dirPath(resourcesDir)
	name, below := strings.CutPrefix(ev.Path, dir+"/")
	l.mu.Lock()
	defer l.mu.Unlock()
	first := len(l.inbox) == 0 && !l.stale && !l.doubt
	switch {
	case ev.Type == session.EventDataChanged, ev.Type == session.EventChildrenChanged, strings.Contains(name, "/"), ev.Type == session.EventSessionOver:
		return
	case ev.Type == session.EventReattached:
		l.doubt = true
	case below && !l.stale && len(l.inbox) < maxPending && (ev.Type == session.EventCreated || ev.Type == session.EventDeleted):
		l.inbox = append(l.inbox, resourceEvent{name, ev.Type == session.EventCreated})
	default: // the folder itself, the end of the subscription, or too many
		l.inbox, l.stale = nil, true
		l.over = l.over || ev.Type == session.EventDisconnected
	}
	if first {
		l.notify()
	}
}

// hasNews reports whether there is more to read than a periodic check.
func (l *resourceList) hasNews() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return !l.known || l.stale || len(l.inbox) > 0
}

// takePending takes what has come.
func (l *resourceList) takePending() (pending []resourceEvent, stale, doubt bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	pending, stale, doubt = l.inbox, l.stale, l.doubt
	l.inbox, l.stale, l.doubt = nil, false, false
	return pending, stale, doubt
}

// isOver reports whether the subscription has ended, and takes that.
func (l *resourceList) isOver() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	over := l.over
	l.over = false
	return over
}

// read brings the list up to date. It returns the resources that have gone, and whether the
// list has changed since the last call without an error. A watch is that of a list without persistent watches. After an error,
// read must be called again.
func (l *resourceList) read(ctx context.Context) (gone []string, changed bool, w *session.Watch, err error) {
	if w, err = l.update(ctx); err != nil {
		return nil, false, nil, err
	}
	gone = missingFrom(l.told, l.names)
	changed = !l.begun || len(gone) > 0 || len(l.told) != len(l.names)
	l.told, l.begun = l.names, true
	return gone, changed, w, nil
}

func (l *resourceList) update(ctx context.Context) (*session.Watch, error) {
	if err := l.subscribe(ctx); err != nil {
		return nil, err
	}
	if l.plain {
		names, _, w, err := l.p.s.ChildrenW(ctx, l.p.at.dirPath(resourcesDir))
		if err == nil {
			slices.Sort(names)
			l.names = names
		}
		return w, err
	}
	for {
		pending, stale, doubt := l.takePending()
		l.apply(pending)
		l.version += countEvents(pending)
		l.known = l.known && !stale
		var err error
		switch {
		case !l.known:
			err = l.list(ctx)
		case doubt || time.Since(l.checked) >= checkInterval:
			err = l.check(ctx)
		default:
			return nil, nil
		}
		if err != nil {
			l.mu.Lock()
			defer l.mu.Unlock()
			l.doubt = l.doubt || doubt
			return nil, err
		}
	}
}

// subscribe sets the persistent watch. Without it, as on a server that does not support
// persistent watches, all resources are listed after each change.
func (l *resourceList) subscribe(ctx context.Context) error {
	if l.plain || l.sub != nil && !l.isOver() {
		return nil
	}
	l.stop()
	l.sub, l.known = nil, false
	sub, err := l.p.s.Subscribe(ctx, l.p.at.dirPath(resourcesDir), true, l.onEvent)
	switch {
	case errors.Is(err, session.ErrUnsupported), errors.Is(err, session.ErrInvalidOption):
		l.plain = true
	case err != nil:
		return err
	}
	l.sub = sub
	return nil
}

// list lists all resources. Events from before the list repeat what the list shows, so it
// does no harm to apply them again in their order.
func (l *resourceList) list(ctx context.Context) error {
	seen, before, after, err := l.readFolder(ctx, l.p.s.StartChildren(l.p.at.dirPath(resourcesDir), false))
	if err != nil {
		return err
	}
	slices.Sort(seen.Children)
	l.names, l.folder, l.version, l.known = seen.Children, seen.Stat.Czxid, seen.Stat.Cversion, true
	l.apply(before)
	l.apply(after)
	l.version += countEvents(after)
	return nil
}

// check compares the number of changes with that of the folder's Stat.
func (l *resourceList) check(ctx context.Context) error {
	seen, before, after, err := l.readFolder(ctx, l.p.s.StartExists(l.p.at.dirPath(resourcesDir), false))
	if err != nil {
		return err
	}
	l.apply(before)
	l.version += countEvents(before)
	l.known = seen.Exists && seen.Stat.Czxid == l.folder && seen.Stat.Cversion == l.version
	l.apply(after)
	l.version += countEvents(after)
	return nil
}

// readFolder waits for the reply to a read of the folder, and takes the events before and after
// the reply. If the reply was faster than this call, events that came later than the reply may
// be among the events before: then the number of changes is too small or too great, the next
// check finds a difference, and all resources are listed.
func (l *resourceList) readFolder(ctx context.Context, read *session.Future[session.Seen]) (seen session.Seen, before, after []resourceEvent, err error) {
	var place int
	placed := make(chan struct{})
	read.Then(func(session.Seen, error) {
		defer close(placed)
		l.mu.Lock()
		defer l.mu.Unlock()
		place = len(l.inbox)
	})
	if seen, err = read.Wait(ctx); err != nil {
		return seen, nil, nil, err
	}
	<-placed
	l.checked = time.Now()
	l.mu.Lock()
	defer l.mu.Unlock()
	all := l.inbox
	l.inbox = nil
	place = min(place, len(all)) // there may have been too many
	return seen, all[:place], all[place:], nil
}

// countEvents is the number by which changes raise the version of the folder's children.
func countEvents(all []resourceEvent) int32 {
	return int32(len(all)) //nolint:gosec // at most maxPending
}

// apply applies changes to the names.
func (l *resourceList) apply(all []resourceEvent) {
	last := make(map[string]bool, len(all))
	for _, ch := range all {
		last[ch.name] = ch.comes
	}
	if len(last) == 0 {
		return
	}
	changed := sortedKeys(last)
	out := make([]string, 0, len(l.names)+len(changed))
	rest := l.names
	for _, name := range changed {
		i, found := slices.BinarySearch(rest, name)
		if out = append(out, rest[:i]...); last[name] {
			out = append(out, name)
		}
		if found {
			i++
		}
		rest = rest[i:]
	}
	out = append(out, rest...)
	l.names = out
}

// missingFrom returns the names of before that are not in now; both are in order.
func missingFrom(before, now []string) (out []string) {
	for _, name := range before {
		i := 0
		for i < len(now) && now[i] < name {
			i++
		}
		if now = now[i:]; len(now) == 0 || now[0] != name {
			out = append(out, name)
		}
	}
	return out
}
