package session

import (
	"context"
	"sync"

	"github.com/zkrecipes/zkrecipes/internal/await"
	"github.com/zkrecipes/zkrecipes/session/internal/wire"
)

// Watch reports once that something may have changed: a hint to read again. A
// watch comes with the reply to the read that set it. It fires on the first
// change after that read, when its connection is lost, and when the session ends;
// never twice, and sometimes without a change.
//
// Stop a watch that is no longer needed; a watch that has fired need not be
// stopped.
type Watch struct {
	key   watchKey
	set   *watchSet
	done  chan struct{}
	event Event // written once, before done is closed
	fired func(Event)
}

// Done is closed when the watch has fired or was stopped.
func (w *Watch) Done() <-chan struct{} {
	w.mustBeMade()
	return w.done
}

// Fired reports whether Done is closed. A watch listens from before its read is
// sent. If another watch of this session has the same path, the watch can receive
// an event from before the read, and has fired by the time the read is answered.
// Events after the reply are newer than the read.
func (w *Watch) Fired() bool {
	w.mustBeMade()
	select {
	case <-w.done:
		return true
	default:
		return false
	}
}

// Event returns the event, once Done is closed; the zero Event if the watch was
// stopped.
func (w *Watch) Event() Event {
	w.mustBeMade()
	return w.event
}

// Wait waits until the watch fires, and stops the watch when ctx ends first.
func (w *Watch) Wait(ctx context.Context) (Event, error) {
	mustHaveContext(ctx)
	w.mustBeMade()
	if await.Closed(ctx, w.done) != nil {
		w.Stop()
		return Event{}, endError(ctx)
	}
	return w.event, nil
}

// OnFire calls fn when the watch fires, on the goroutine that reads the
// connection, which fn must not block; at once if the watch has fired, and not at
// all if it was stopped. A watch has one function at a time.
func (w *Watch) OnFire(fn func(Event)) {
	w.mustBeMade()
	mustHaveFunction(fn != nil)
	w.set.mu.Lock()
	_, live := w.set.live[w.key][w]
	if live {
		w.fired = fn
	}
	w.set.mu.Unlock()
	if !live && w.event != (Event{}) {
		fn(w.event)
	}
}

// Abandon is Stop without a request to the server. Use it for a watch on a znode
// that will be deleted soon, at which the server frees the watch.
func (w *Watch) Abandon() {
	w.mustBeMade()
	w.set.mu.Lock()
	defer w.set.mu.Unlock()
	if w.set.removeLocked(w) {
		close(w.done)
	}
}

// Stop ends the watch, and frees its resources on the client and, if no other
// watch of this session has the same path, on the server. Stop does not wait; it
// may be called at any time and more than once.
func (w *Watch) Stop() {
	w.mustBeMade()
	w.set.stop(w)
}

// watchKey identifies the one registration that the server keeps per connection: for
// data and existence of a node, or for its list of children. The path is the server's.
type watchKey struct {
	path     string
	children bool
}

// watchSet is the session's one-shot watches.
type watchSet struct {
	s *Session

	// mu guards live, and orders registrations with requests on the wire: a
	// removal is sent only while no watch of its key is live, so it can
	// never overtake, and cancel, a registration made after it. A watch is
	// in live from before its read is sent until it fires or is stopped.
	//
	// owed has those keys of live of which a watch was stopped that the server may have
	// set: the registration was not removed, for the sake of the other watches. If the
	// reads of those are refused it must be removed, since the server then keeps it for
	// no watch.
	mu   sync.Mutex
	live map[watchKey]map[*Watch]struct{}
	owed map[watchKey]struct{}
}

// count is the number of watches.
func (ws *watchSet) count() (n int) {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	for _, watches := range ws.live {
		n += len(watches)
	}
	return n
}

func newWatchSet(s *Session) *watchSet {
	return &watchSet{s: s, live: make(map[watchKey]map[*Watch]struct{}), owed: make(map[watchKey]struct{})}
}

// startWatchedRead registers a watch and starts the read that sets it on the server.
// Registered first: the server may send the event ahead of the answer.
func startWatchedRead[T any](ws *watchSet, key watchKey, read func(*Watch) *Future[T]) *Future[T] {
	w := &Watch{key: key, set: ws, done: make(chan struct{})}
	ws.mu.Lock()
	defer ws.mu.Unlock()
	if ws.live[key] == nil {
		ws.live[key] = make(map[*Watch]struct{})
	}
	ws.live[key][w] = struct{}{}
	f := read(w)
	select {
	case <-f.done:
		// Never sent: there will be no answer to undo the registration.
		if f.err != nil {
			ws.removeLocked(w)
		}
	default:
	}
	return f
}

// refused forgets a watch whose read failed: the server has not set it.
func (ws *watchSet) refused(w *Watch) {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	_, owed := ws.owed[w.key]
	if ws.removeLocked(w) && owed {
		ws.releaseLocked(w.key)
	}
}

func (ws *watchSet) removeLocked(w *Watch) bool {
	watches := ws.live[w.key]
	if _, ok := watches[w]; !ok {
		return false
	}
	delete(watches, w)
	if len(watches) == 0 {
		delete(ws.live, w.key)
		delete(ws.owed, w.key)
	}
	return true
}

func (ws *watchSet) stop(w *Watch) {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	if !ws.removeLocked(w) {
		return
	}
	close(w.done)
	ws.releaseLocked(w.key)
}

// answered notes that the server has set w. If an event of an earlier watch of its key
// has fired w already, while its read was still on the way, no watch here may need the
// server's registration now.
func (ws *watchSet) answered(w *Watch) {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	if _, live := ws.live[w.key][w]; !live {
		ws.releaseLocked(w.key)
	}
}

// releaseLocked frees the server's registration of key if no watch needs it.
func (ws *watchSet) releaseLocked(key watchKey) {
	if ws.live[key] != nil {
		ws.owed[key] = struct{}{}
		return
	}
	if ws.s.subs.covers(key.path) {
		return
	}
	kind := wire.RemoveData
	if key.children {
		kind = wire.RemoveChildren
	}
	ws.s.removeWatches(key.path, kind)
}

// fire tells the watches that ev concerns.
func (ws *watchSet) fire(ev wire.Event) {
	kind := EventType(ev.Type)
	visible, _ := ws.s.visible(ev.Path)
	out := Event{Type: kind, Path: visible}
	// A recursive subscription of the parent does not tell that the list of
	// children changed, but which child came or went.
	above := parent(ev.Path)
	implied := (kind == EventCreated || kind == EventDeleted) && ws.s.subs.covers(above)
	var calls []func()
	ws.mu.Lock()
	if kind != EventChildrenChanged {
		calls = ws.fireLocked(calls, watchKey{ev.Path, false}, out)
	}
	if kind == EventChildrenChanged || kind == EventDeleted {
		calls = ws.fireLocked(calls, watchKey{ev.Path, true}, out)
	}
	if implied {
		at, _ := ws.s.visible(above)
		calls = ws.fireLocked(calls, watchKey{above, true}, Event{Type: EventChildrenChanged, Path: at})
	}
	ws.mu.Unlock()
	runAll(calls)
}

// fireKeys makes all watchers of path read again.
func (ws *watchSet) fireKeys(path string) {
	ws.mu.Lock()
	calls := ws.fireLocked(nil, watchKey{path, false}, Event{Type: EventDisconnected})
	calls = ws.fireLocked(calls, watchKey{path, true}, Event{Type: EventDisconnected})
	ws.mu.Unlock()
	runAll(calls)
}

func runAll(calls []func()) {
	for _, call := range calls {
		call()
	}
}

// fireLocked ends the watches of key and adds to calls what to run unlocked.
func (ws *watchSet) fireLocked(calls []func(), key watchKey, ev Event) []func() {
	for w := range ws.live[key] {
		w.event = ev
		close(w.done)
		if fn := w.fired; fn != nil {
			calls = append(calls, func() { fn(ev) })
		}
	}
	delete(ws.live, key)
	delete(ws.owed, key)
	return calls
}

// fireAll ends all watches.
func (ws *watchSet) fireAll(kind EventType) {
	var calls []func()
	ws.mu.Lock()
	for key := range ws.live {
		calls = ws.fireLocked(calls, key, Event{Type: kind})
	}
	ws.mu.Unlock()
	runAll(calls)
}
