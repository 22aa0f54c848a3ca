package sim

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"regexp"
	"strings"
	"sync"
	"time"
	"unicode"

	"github.com/zkrecipes/zkrecipes/internal/chance"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// Program is what processes run.
type Program struct {
	// Name is that of the processes: "web" makes the processes "web-1", "web-2", ...
	Name string
	// Copies is the number of processes; default 1.
	Copies int
	// Options are those of Process.Client and Process.Options. Dialer is set, and Observer
	// gets the events besides the simulation.
	Options session.Options
	// Run is the program. It runs until ctx ends, which is the death of the process or the
	// end of the run; then it must return. If it returns an error before, the process is
	// started again after a second, as a supervisor does; if it returns nil, the process is
	// done. A panic of the goroutine that called Run is a failure of the run. Everything
	// that Run starts must have ended when it returns.
	Run func(ctx context.Context, p *Process) error
}

// check reports what is invalid about the program.
func (p *Program) check() error {
	switch {
	case p.Name == "":
		return errors.New("sim: Program.Name is empty")
	case strings.ContainsFunc(p.Name, unicode.IsSpace):
		return fmt.Errorf("sim: Program.Name is %q; it must not have white space", p.Name)
	case p.Run == nil:
		return fmt.Errorf("sim: program %s: Run is nil", p.Name)
	case p.Copies < 1:
		return fmt.Errorf("sim: program %s: Copies is %d; it must be at least 1", p.Name, p.Copies)
	}
	return nil
}

// World is a run: servers in memory, the processes, and what happens.
type World struct {
	// Server is the server or the ensemble. A function given to Run may create znodes with
	// its methods, and must leave the faults to the schedule.
	Server *zktest.Server

	seed       uint64
	began      time.Time
	ctx        context.Context // ends when the processes are to stop
	stop       context.CancelCauseFunc
	members    []*member
	running    sync.WaitGroup // the goroutines of processes
	invariants []Invariant
	finals     []final
	cleanups   []func()

	// mu guards the fields below: history, the events so far; entries, which counts them;
	// owners, the process of each session; problems, the failures so far; and the states of
	// all members.
	mu       sync.Mutex
	history  History
	entries  int
	order    int // of the beginnings and returns of calls
	owners   map[int64]string
	problems []problem
}

// final is a check of the state after a run.
type final struct {
	name  string
	check func(ctx context.Context) error
}

// problem is a failure of a run. Runs that fail with the same name fail alike.
type problem struct {
	name string
	err  error
}

// ErrStopped is the cause of the end of a process's context at the end of the run.
var ErrStopped = errors.New("sim: the run is over")

// ErrKilled is the cause of the end of a process's context when it is killed.
var ErrKilled = errors.New("sim: the process was killed")

func newWorld(ctx context.Context, server *zktest.Server, seed uint64) *World {
	w := &World{Server: server, seed: seed, began: time.Now(), owners: map[int64]string{}}
	ctx, stop := context.WithCancelCause(ctx)
	w.ctx, w.stop = chance.With(ctx, w.source("world", 0)), stop
	server.OnRequest(w.noteOwner)
	server.OnApply(w.noteChange)
	return w
}

// source is the randomness of the library in one life of a process.
func (w *World) source(name string, life int) *chance.Source {
	return chance.New(w.number(name, life))
}

// number mixes the seed with a name and a number.
func (w *World) number(name string, n int) uint64 {
	h := w.seed*0x9e3779b97f4a7c15 + uint64(n)
	for _, c := range []byte(name) {
		h = (h ^ uint64(c)) * 0x100000001b3
	}
	return h
}

// Start adds a program. Its processes start when the function given to Run returns.
func (w *World) Start(p Program) {
	w.mustBeOfRun()
	setDefault(&p.Copies, 1)
	if err := p.check(); err != nil {
		w.fail("program", err)
		return
	}
	for i := range p.Copies {
		m := newMember(w, p, fmt.Sprintf("%s-%d", p.Name, i+1))
		w.members = append(w.members, m)
		w.history.Processes = append(w.history.Processes, m.name)
		w.delayLinks(m.name)
	}
}

// delayLinks gives the links of a process delays of its own: what processes do without
// any knowledge of each other then does not happen at the same instant, and its order is
// not left to chance.
func (w *World) delayLinks(name string) {
	r := rand.New(rand.NewPCG(w.number(name, 0), 2))
	for i := range strings.Count(w.Server.Addr(), ",") + 1 {
		// Faults of a process have a Link without a server, so that their end leaves this.
		link := zktest.Link{Client: name, Server: i + 1}
		for _, d := range []zktest.Direction{zktest.ToServer, zktest.ToClient} {
			w.Server.Delay(link, d, 100*time.Microsecond+time.Duration(r.Int64N(int64(time.Millisecond))))
		}
	}
}

// Require adds conditions on the history, in the order in which they are checked.
func (w *World) Require(invariants ...Invariant) {
	w.mustBeOfRun()
	w.invariants = append(w.invariants, invariants...)
}

// Finally adds a check of the state at the end, when the processes have stopped and the
// sessions of killed processes have expired. The name is for the report. Check may use
// Server, and a client of World.Client.
func (w *World) Finally(name string, check func(ctx context.Context) error) {
	w.mustBeOfRun()
	w.finals = append(w.finals, final{name, check})
}

// Client connects a client without faults, for preparations and checks. It is closed with
// the world. An error is a failure of the run, and the client is nil then.
func (w *World) Client() *session.Client {
	w.mustBeOfRun()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(w.ctx), time.Minute)
	defer cancel()
	c, err := session.Connect(ctx, w.Server.Addr(), &session.Options{Dialer: w.Server.Client("")})
	if err != nil {
		w.Fail(fmt.Errorf("sim: connect a client without faults: %w", err))
		return nil
	}
	w.cleanups = append(w.cleanups, func() { closeClient(w.ctx, c) })
	return c
}

// closeClient closes a client of any state, and does not wait for long.
func closeClient(ctx context.Context, c *session.Client) {
	over, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
	defer cancel()
	_ = c.Close(over) // the session of a killed process expires
}

// Fail notes a failure of the run. The first one counts; nil is ignored. The run goes on.
func (w *World) Fail(err error) {
	w.mustBeOfRun()
	w.fail("Fail", err)
}

func (w *World) fail(name string, err error) {
	if err == nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.problems = append(w.problems, problem{name, &violation{time.Since(w.began), err.Error()}})
}

// mustBeOfRun panics unless the world is that of a run.
func (w *World) mustBeOfRun() {
	if w == nil || w.Server == nil {
		panic("sim: this World is not that of a run: get one from sim.Run")
	}
}

// record enters an event.
func (w *World) record(e Event) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.recordLocked(e)
}

func (w *World) recordLocked(e Event) {
	e.At = time.Since(w.began)
	w.history.Events = append(w.history.Events, e)
}

// member returns the process of that name, or nil. Also of a nil world.
func (w *World) member(name string) *member {
	if w == nil {
		return nil
	}
	for _, m := range w.members {
		if m.name == name {
			return m
		}
	}
	return nil
}

// lose notes that the session of a process, or "" for all, is gone. Also of a nil world.
func (w *World) lose(name string) {
	if w == nil {
		return
	}
	for _, m := range w.members {
		if name == "" || name == m.name {
			w.record(Event{Process: m.name, Kind: Expired})
		}
	}
}

// noteOwner notes the process of each session. It is a hook of the server.
func (w *World) noteOwner(r zktest.Request) zktest.Action {
	w.mu.Lock()
	defer w.mu.Unlock()
	if r.Session != 0 {
		w.owners[r.Session] = r.Client
	}
	return zktest.Action{}
}

// uniquePart matches the part of a znode's name that is different in each run.
var uniquePart = regexp.MustCompile(`[0-9a-f]{32}|[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}`) // read only

// noteChange records a committed change. It is a hook of the server.
func (w *World) noteChange(t zktest.Txn) {
	if t.Code != 0 || t.OnlyChecks || len(t.Paths) == 0 && t.Op != "closeSession" {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	e := Event{Kind: Applied, Text: t.Op}
	if t.Session != 0 {
		e.Process = w.owners[t.Session]
	}
	if len(t.Paths) > 0 {
		e.Text += " " + uniquePart.ReplaceAllString(strings.Join(t.Paths, " "), "*")
	}
	w.recordLocked(e)
}
