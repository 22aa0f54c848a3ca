package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/zkrecipes/zkrecipes/election"
	"github.com/zkrecipes/zkrecipes/session"
)

// history records the events of a queue's tasks.
type history struct {
	submitted map[string]int          // how often each task was created
	given     map[string][]assignment // the assignments of each task, in order
	ended     map[string]int          // how often a result was created
	removed   map[string]int          // how often the task was removed
	gap       bool                    // the watch was interrupted, so something may be missing
}

type assignment struct{ worker, attempt string }

func newHistory() *history {
	return &history{submitted: map[string]int{}, given: map[string][]assignment{}, ended: map[string]int{}, removed: map[string]int{}}
}

// bystander watches a queue and reports its events.
type bystander struct {
	queue string // its path

	// mu guards the fields below; lines of out are written one by one.
	mu     sync.Mutex
	begun  time.Time
	out    io.Writer
	seen   *history
	has    map[string]map[string]bool // the assignments of each worker
	alive  map[string]bool            // workers
	leader string
	// changed is closed, and made again, with each change of the fields above.
	changed chan struct{}
}

func newBystander(queue string, out io.Writer) *bystander {
	return &bystander{
		queue: queue, begun: time.Now(), out: out, seen: newHistory(), has: map[string]map[string]bool{}, alive: map[string]bool{},
		changed: make(chan struct{}),
	}
}

// logf writes a line of the timeline.
func (b *bystander) logf(source, format string, args ...any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.logLocked(source, format, args...)
}

func (b *bystander) logLocked(source, format string, args ...any) {
	fmt.Fprintf(b.out, "%7.3f  %-3s %s\n", time.Since(b.begun).Seconds(), source, fmt.Sprintf(format, args...))
}

// until waits until cond holds; what describes cond in messages.
func (b *bystander) until(ctx context.Context, what string, cond func(b *bystander) bool) error {
	for {
		b.mu.Lock()
		ok, changed := cond(b), b.changed
		b.mu.Unlock()
		if ok {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return fmt.Errorf("waiting for %s: %w", what, context.Cause(ctx))
		}
	}
}

func (b *bystander) changedLocked() {
	close(b.changed)
	b.changed = make(chan struct{})
}

// backlog is the number of events that may wait until the bystander has recorded
// them.
const backlog = 10_000

// watch watches the tree until ctx ends; ready is called when it has begun. Events come
// one by one and in order, each with the path that was created or deleted, as long as
// the connection lasts.
func (b *bystander) watch(ctx context.Context, s *session.Session, ready func()) error {
	events, full := make(chan session.Event, backlog), make(chan struct{}, 1)
	sub, err := s.Subscribe(ctx, b.queue, true, func(e session.Event) {
		select {
		case events <- e:
		default: // it must not block
			select {
			case full <- struct{}{}:
			default:
			}
		}
	})
	if errors.Is(err, session.ErrUnsupported) {
		return fmt.Errorf("the example needs ZooKeeper 3.6 or newer, which tells of every change: %w", err)
	}
	if err != nil {
		return err
	}
	defer sub.Stop()
	ready()
	for {
		select {
		case e := <-events:
			b.onEvent(e)
		case <-full:
			b.onEvent(session.Event{Type: session.EventReattached})
		case <-ctx.Done():
			return nil
		}
	}
}

func (b *bystander) onEvent(e session.Event) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch e.Type {
	case session.EventCreated, session.EventDeleted:
		b.sawLocked(e.Type == session.EventCreated, strings.Split(strings.TrimPrefix(e.Path, b.queue+"/"), "/"))
	case session.EventReattached, session.EventDisconnected, session.EventSessionOver:
		b.seen.gap = true
	}
	b.changedLocked()
}

// sawLocked notes the event that the creation or deletion of a path stands for:
// docs/dispatch.md has the whole tree.
func (b *bystander) sawLocked(created bool, elems []string) {
	switch folder := elems[0]; {
	case folder == "tasks" && len(elems) == 3 && created:
		b.seen.submitted[elems[2]]++
	case folder == "tasks" && len(elems) == 3:
		b.seen.removed[elems[2]]++
	case folder == "results" && len(elems) == 3 && created:
		b.seen.ended[elems[2]]++
	case folder == "alive" && len(elems) == 2:
		worker := before(elems[1], "~")
		if b.alive[worker] = created; !created {
			b.logLocked(worker, "is seen no more")
		}
	case folder == "workers" && len(elems) == 3:
		b.givenLocked(created, before(elems[1], "~"), elems[2])
	}
}

// givenLocked notes the beginning or the end of an assignment.
func (b *bystander) givenLocked(created bool, worker, name string) {
	task := before(name, "~")
	if b.has[worker] == nil {
		b.has[worker] = map[string]bool{}
	}
	if !created {
		delete(b.has[worker], name)
		return
	}
	b.has[worker][name] = true
	_, rest, _ := strings.Cut(name, "~")
	former := b.seen.given[task]
	b.seen.given[task] = append(former, assignment{worker, before(rest, "-")})
	again := ""
	switch i := len(former) - 1; {
	case i < 0:
	case b.seen.wasGivenBack(task, i):
		again = fmt.Sprintf(", which %s gave back", former[i].worker)
	default:
		again = ", again"
	}
	b.logLocked(b.leader, "gives %s to %s%s", task, worker, again)
}

// assigned is how many tasks were given out in all.
func (h *history) assigned() (n int) {
	for _, given := range h.given {
		n += len(given)
	}
	return n
}

// wasGivenBack reports whether the worker of a task's assignment i had not begun it, and gave it
// back for an idle worker: the next assignment is of the same attempt.
func (h *history) wasGivenBack(task string, i int) bool {
	given := h.given[task]
	return i+1 < len(given) && given[i].attempt == given[i+1].attempt
}

// waitingLocked are the tasks that have not ended and that no living worker has.
func (b *bystander) waitingLocked() (out []string) {
	for _, id := range slices.Sorted(maps.Keys(b.seen.submitted)) {
		if b.seen.ended[id] > 0 {
			continue
		}
		held := false
		for _, names := range b.has {
			for name := range names {
				held = held || before(name, "~") == id
			}
		}
		if !held {
			out = append(out, id)
		}
	}
	return out
}

// observe reports the leader, until ctx ends.
func (b *bystander) observe(ctx context.Context, client *session.Client) error {
	for state, err := range election.New(client, b.queue+"/masters", nil).Observe(ctx) {
		if err != nil {
			return err
		}
		b.mu.Lock()
		if b.leader = "-"; state.Leader != nil {
			b.leader = state.Leader.ID
			b.logLocked(b.leader, "LEADS, term %d", state.Leader.Term)
		} else {
			b.logLocked(b.leader, "no leader")
		}
		b.changedLocked()
		b.mu.Unlock()
	}
	return nil
}

// before is a text up to a mark.
func before(text, mark string) string {
	text, _, _ = strings.Cut(text, mark)
	return text
}
