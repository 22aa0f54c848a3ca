package sim

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/zkrecipes/zkrecipes/zktest"
	"github.com/zkrecipes/zkrecipes/zktest/matrix"
)

// Injector injects the faults of a schedule into a server. Run uses one; a test with a
// harness of its own can use one directly, in a testing/synctest bubble, with clients that
// dial by zktest.Server.Client.
type Injector struct {
	// Server is the server, which is in memory.
	Server *zktest.Server
	// Expire is called right before each Expire, with the session, by the goroutine that
	// called Inject. May be nil.
	Expire func(session int64)

	on *World // nil without a world: Kill and Freeze are network faults only

	// mu guards the fields below: sessions, the newest session of each client, noted by the
	// server's goroutine.
	mu       sync.Mutex
	sessions map[string]int64

	active map[string]int // how many faults of each target are active; see Fault.target
	undo   map[int]func() // ends of the active faults, by their number in the schedule
}

// step is the beginning or the end of a fault.
type step struct {
	at    time.Duration
	fault int
	ends  bool
}

// Inject injects the faults, each at its time since the call, and returns when the last one
// is over, or when ctx ends: all servers and links are well again then. Without a
// simulation, Kill cuts the connections of the client, and Freeze is a Hole in both
// directions. An invalid fault is an error that wraps ErrFault; nothing is injected then.
func (i *Injector) Inject(ctx context.Context, s Schedule) error {
	if i == nil || i.Server == nil {
		panic("sim: the Injector has no server: set Injector.Server")
	}
	if err := s.check(); err != nil {
		return err
	}
	servers := strings.Count(i.Server.Addr(), ",") + 1
	for _, f := range s {
		if i.on != nil && f.Kind.ofProcess() && i.on.member(f.Process) == nil {
			return fmt.Errorf("sim: fault %q: the process does not exist: %w", f, ErrFault)
		}
		if max(f.Server, f.Other) > servers || f.Kind.ofEnsemble() && servers == 1 {
			return fmt.Errorf("sim: fault %q: there are not enough servers: %w", f, ErrFault)
		}
	}
	// Calls at the same time share nothing.
	i = &Injector{Server: i.Server, Expire: i.Expire, on: i.on, active: map[string]int{}, undo: map[int]func(){}}
	defer i.Server.OnRequest(i.noteSessions)()
	begun := time.Now()
	if i.on != nil {
		begun = i.on.began
	}
	for _, next := range s.steps() {
		if !sleep(ctx, next.at-time.Since(begun)) {
			break
		}
		if next.ends {
			i.end(next.fault)
		} else {
			i.beginFault(next.fault, s[next.fault])
		}
	}
	for n := range s {
		i.end(n)
	}
	return nil
}

// steps are the beginnings and ends of the faults in the order of their times.
func (s Schedule) steps() []step {
	var out []step
	for i, f := range s {
		out = append(out, step{f.At, i, false}, step{f.end(), i, true})
	}
	slices.SortStableFunc(out, func(a, b step) int { return cmp.Compare(a.at, b.at) })
	return out
}

// noteSessions notes the sessions of the clients. It is a hook of the server.
func (i *Injector) noteSessions(r zktest.Request) zktest.Action {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.sessions == nil {
		i.sessions = map[string]int64{}
	}
	if r.Session != 0 && r.Op != "closeSession" {
		i.sessions[r.Client] = r.Session
	}
	return zktest.Action{}
}

func (i *Injector) session(client string) int64 {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.sessions[client]
}

// beginFault begins fault number n of the schedule.
func (i *Injector) beginFault(n int, f Fault) {
	i.reportFault(f, "begins")
	e := i.strike(f)
	if e.heal == nil && e.over == nil {
		return
	}
	key := f.target()
	i.active[key]++
	i.undo[n] = func() {
		i.reportFault(f, "ends")
		if e.over != nil {
			e.over()
		}
		if i.active[key]--; i.active[key] == 0 && e.heal != nil {
			e.heal()
		}
	}
}

// effect is how a fault ends: heal makes the target well, at the end of the last of the
// faults of one target; over is called at the end of each fault. Both may be nil.
type effect struct{ heal, over func() }

// target tells the faults that heal together: the methods of the server that heal links
// end all faults of a link.
func (f Fault) target() string {
	switch f.Kind {
	case Hole, Delay, Freeze:
		return "link " + f.Process
	case Isolate, IsolateLeader, CutServers:
		return "links between servers"
	}
	return fmt.Sprint(f.Kind, f.Process, f.Server)
}

// end ends fault number n, once.
func (i *Injector) end(n int) {
	if undo := i.undo[n]; undo != nil {
		delete(i.undo, n)
		undo()
	}
}

func (i *Injector) reportFault(f Fault, what string) {
	if i.on != nil {
		i.on.record(Event{Kind: Struck, Text: what + ": " + f.String()})
	}
}

// strike begins a fault, and returns how it ends.
func (i *Injector) strike(f Fault) (e effect) {
	s, link := i.Server, zktest.Link{Client: f.Process}
	if do, strikes := f.Kind.onRequest(); strikes {
		counts := func(r zktest.Request) bool { return r.Client == f.Process && matrix.DefaultCounts(r) }
		return effect{over: s.FailNth(counts, f.Nth, zktest.Action{Do: do})}
	}
	heal := func() { s.HealLink(link) }
	switch f.Kind {
	case Cut:
		s.CutLink(link)
	case Hole:
		s.BlackHole(link, f.Direction)
		return effect{heal: heal}
	case Delay:
		s.Delay(link, f.Direction, f.By)
		return effect{heal: heal}
	case Freeze:
		hole := func() { s.BlackHole(link, zktest.Both) }
		m := i.on.member(f.Process)
		if m == nil {
			hole()
			return effect{heal: heal}
		}
		return effect{heal: heal, over: m.freeze(f.Nth, hole)}
	case Kill:
		m := i.on.member(f.Process)
		m.kill()
		s.CutLink(link)
		return effect{heal: m.revive}
	case Expire:
		i.expire(f.Process)
	case Empty:
		i.on.lose("")
		_ = s.RestartEmpty() // fails only if the server was closed
	default:
		return effect{heal: i.strikeServer(f)}
	}
	return effect{}
}

// strikeServer begins a fault of servers, and returns its end. The methods fail only for
// servers that do not exist.
func (i *Injector) strikeServer(f Fault) (heal func()) {
	s := i.Server
	switch f.Kind {
	case FreezeServer:
		_ = s.Freeze(f.Server)
		return func() { _ = s.Thaw(f.Server) }
	case StopServer:
		_ = s.Stop(f.Server)
		return func() { _ = s.Restart(f.Server) }
	case Lag:
		_ = s.Lag(f.Server, true)
		return func() { _ = s.Lag(f.Server, false) }
	case Isolate:
		s.IsolateServer(f.Server)
	case IsolateLeader:
		if leader := s.Leader(); leader > 0 {
			s.IsolateServer(leader)
		}
	case CutServers:
		s.CutPeers(f.Server, f.Other, f.Direction)
	}
	return s.HealPeers
}

func (i *Injector) expire(client string) {
	id := i.session(client)
	if id == 0 {
		return
	}
	if i.Expire != nil {
		i.Expire(id)
	}
	if i.Server.ExpireSession(id) == nil {
		i.on.lose(client)
	}
}

// sleep waits for d, and reports false if ctx has ended.
func sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(max(d, 0))
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
	return ctx.Err() == nil
}
