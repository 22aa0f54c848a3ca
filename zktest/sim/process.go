package sim

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"sync"
	"syscall"
	"time"

	"github.com/zkrecipes/zkrecipes/observe"
	"github.com/zkrecipes/zkrecipes/session"
)

// Process is one life of a process: from its start to its death. Every method may be called
// from any goroutine of the program. While the process is frozen, every method stands
// still, and so do the goroutines that call one.
type Process struct {
	m      *member
	cancel context.CancelCauseFunc
	dead   chan struct{} // closed when the process is killed
	rand   *rand.Rand

	// mu guards clients, and the client of Client.
	mu      sync.Mutex
	client  *session.Client
	clients []*session.Client
}

// mustBeOfRun panics unless the process is that of a run.
func (p *Process) mustBeOfRun() *Process {
	if p == nil || p.m == nil {
		panic("sim: this Process is not that of a run: get one from sim.Run")
	}
	return p
}

func (p *Process) isDead() bool {
	select {
	case <-p.dead:
		return true
	default:
		return false
	}
}

// stand waits until the process is not frozen, and reports false if it is dead.
func (p *Process) stand() bool {
	w := p.mustBeOfRun().m.w
	for {
		w.mu.Lock()
		gate, frozen := p.m.gate, p.m.frozen > 0
		w.mu.Unlock()
		if p.isDead() {
			return false
		}
		if !frozen {
			return true
		}
		select {
		case <-gate:
		case <-p.dead:
		}
	}
}

// Name is the name of the process, for example "web-1". A process that was killed has the
// same name when it is started again.
func (p *Process) Name() string { return p.mustBeOfRun().m.name }

// Rand is a generator that the seed decides, for random choices of the program. It is for
// one goroutine.
func (p *Process) Rand() *rand.Rand { return p.mustBeOfRun().rand }

// Addrs is the connect string of the servers, for a program that connects by itself.
func (p *Process) Addrs() string { return p.mustBeOfRun().m.w.Server.Addr() }

// Options are those of the program, with the Dialer of this process, and an Observer: for
// session.Connect, with a context made from that of the program.
func (p *Process) Options() *session.Options {
	o := p.mustBeOfRun().m.program.Options
	o.Dialer = p.dial
	o.Observer = observe.Join(o.Observer, observe.Func(p.observe))
	return &o
}

// Client returns the client of the process, which is connected by the first call, and
// closed when the program returns. The error is that of session.Connect.
func (p *Process) Client(ctx context.Context) (*session.Client, error) {
	p.stand()
	p.mu.Lock()
	c := p.client
	p.mu.Unlock()
	if c != nil {
		return c, nil
	}
	c, err := session.Connect(ctx, p.Addrs(), p.Options())
	if err != nil {
		return nil, fmt.Errorf("sim: %s: %w", p.m.name, err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.client == nil {
		p.client = c
	}
	p.clients = append(p.clients, c)
	return p.client, nil
}

// close closes what Client has connected.
func (p *Process) close(ctx context.Context) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range p.clients {
		closeClient(ctx, c)
	}
}

// dial connects to a server. A dead process reaches none.
func (p *Process) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	if p.isDead() {
		return nil, &net.OpError{Op: "dial", Net: network, Err: syscall.ECONNREFUSED}
	}
	c, err := p.m.w.Server.Client(p.m.name)(ctx, network, addr)
	if err == nil && p.isDead() {
		return nil, errors.Join(ErrKilled, c.Close())
	}
	return c, err
}

// observe notes when a client of the process knows that its session is lost.
func (p *Process) observe(_ context.Context, e observe.Event) {
	if s, ok := e.(observe.SessionChanged); ok && s.Status == session.Lost.String() {
		p.recordAlive(Event{Kind: Told})
	}
}

// recordAlive enters an event of the process, unless it is dead.
func (p *Process) recordAlive(e Event) {
	w := p.m.w
	w.mu.Lock()
	defer w.mu.Unlock()
	if p.isDead() {
		return
	}
	e.Process = p.m.name
	w.recordLocked(e)
}

// Enter notes that the process is inside what from now on: it holds the lock, leads, owns
// the shard. token is its fencing token, or 0. Call leave when the process is inside no
// more, because it gave up what it had, or learned of its loss. The end of the process ends
// everything that it is inside.
func (p *Process) Enter(what string, token int64) (leave func()) {
	if !p.stand() {
		return func() {}
	}
	w := p.m.w
	w.mu.Lock()
	w.entries++
	entry := w.entries
	w.mu.Unlock()
	p.recordAlive(Event{Kind: Entered, What: what, Token: token, entry: entry})
	var once sync.Once
	return func() {
		p.stand()
		once.Do(func() { p.recordAlive(Event{Kind: Left, What: what, entry: entry}) })
	}
}

// Do does an effect on something outside of ZooKeeper, for example on a database that the
// test has for it: what and id name the effect, and token is the fencing token that goes
// with it, or 0. f, which may be nil, carries it out. If f fails, the effect did not
// happen, and Do returns the error. A process that is frozen before its effect carries it
// out when it goes on, as in reality; a process that is dead does not, and gets ErrKilled.
func (p *Process) Do(what, id string, token int64, f func() error) error {
	if !p.stand() {
		return ErrKilled
	}
	p.m.beginEffect()
	if !p.stand() {
		return ErrKilled
	}
	if f != nil {
		if err := f(); err != nil {
			return err
		}
	}
	p.recordAlive(Event{Kind: Done, What: what, ID: id, Token: token})
	return nil
}

// Pause waits for d, or until ctx ends, and while the process is frozen. It returns the
// cause of the end of ctx, or ErrKilled.
func (p *Process) Pause(ctx context.Context, d time.Duration) error {
	awake := sleep(ctx, d)
	switch {
	case !p.stand():
		return ErrKilled
	case !awake || ctx.Err() != nil:
		return context.Cause(ctx)
	}
	return nil
}

// Note puts a line into the time line.
func (p *Process) Note(format string, args ...any) {
	if p.stand() {
		p.recordAlive(Event{Kind: Noted, Text: fmt.Sprintf(format, args...)})
	}
}

// Fail notes a failure of the run; nil is ignored.
func (p *Process) Fail(err error) {
	if err != nil && p.stand() {
		p.m.w.fail("Fail", fmt.Errorf("%s: %w", p.m.name, err))
	}
}

// Call carries out an operation on an object, and notes it for Linearizable. f returns the
// result of the operation, as described at Read, Write, Add and CompareAndSet. Call
// returns what f returns.
func (p *Process) Call(object string, op Op, f func() (int64, error)) (int64, error) {
	if !p.stand() {
		return 0, ErrKilled
	}
	w := p.m.w
	w.mu.Lock()
	w.order++
	c := len(w.history.calls)
	w.history.calls = append(w.history.calls, call{process: p.m.name, object: object, op: op, begin: w.order})
	w.mu.Unlock()
	result, err := f()
	p.stand()
	w.mu.Lock()
	defer w.mu.Unlock()
	if !p.isDead() {
		w.order++
		w.history.calls[c].finish(result, err, w.order)
	}
	return result, err
}
