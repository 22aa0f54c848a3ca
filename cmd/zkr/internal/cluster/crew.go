package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/zkrecipes/zkrecipes/internal/subprocess"
)

// Crew is the set of processes kept by Run.
type Crew struct {
	servers   string
	firstPort int
	spawn     Spawn
	changed   func()

	starts chan func() // carried out by Run, on its locked thread
	over   chan struct{}

	// mu guards members, in the order of their addition, and their contents.
	mu      sync.Mutex
	members []*member
}

type member struct {
	Process
	child *subprocess.Process // the latest; nil before the first
	proxy *Proxy
	port  int
}

// NewCrew makes a crew for the ZooKeeper servers. Its first node listens on
// firstPort, further nodes on the following ports, if free; 0: any port. The
// crew calls changed, which must not block, after each change of a process.
func NewCrew(servers string, firstPort int, spawn Spawn, changed func()) *Crew {
	return &Crew{
		servers: servers, firstPort: firstPort, spawn: spawn, changed: changed,
		starts: make(chan func()), over: make(chan struct{}),
	}
}

// Run starts processes for Add and Do until ctx ends; then Run kills all
// processes. Linux also kills the processes when the thread that started them
// ends, so this thread ends with Run.
func (c *Crew) Run(ctx context.Context) {
	runtime.LockOSThread()
	for {
		select {
		case start := <-c.starts:
			start()
			continue
		case <-ctx.Done():
		}
		break
	}
	close(c.over)
	c.mu.Lock()
	members := c.members
	for _, m := range members {
		if m.child != nil {
			m.child.Kill()
		}
	}
	c.mu.Unlock()
	for _, m := range members {
		if m.child != nil {
			<-m.child.Gone()
		}
		m.proxy.Close()
	}
}

// Processes are the nodes in the order of their addition.
func (c *Crew) Processes() []Process {
	if c == nil {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	out := make([]Process, len(c.members))
	for i, m := range c.members {
		out[i] = m.Process
		out[i].Cut = m.proxy.IsCut()
	}
	return out
}

// Add starts another node, and returns its name. Add does not wait until the
// node listens.
func (c *Crew) Add(ctx context.Context) (string, error) {
	proxy, err := NewProxy(ctx, c.servers)
	if err != nil {
		return "", err
	}
	c.mu.Lock()
	n := len(c.members)
	if n >= MaxNodes {
		c.mu.Unlock()
		proxy.Close()
		return "", errTooMany
	}
	m := &member{Process: Process{Name: "n" + strconv.Itoa(n+1), State: exited, Since: time.Now()}, proxy: proxy}
	if c.firstPort > 0 {
		m.port = c.firstPort + n
	}
	c.members = append(c.members, m)
	c.mu.Unlock()
	err = c.start(ctx, m)
	if errors.Is(err, errCrewOver) {
		proxy.Close() // Run, which closes the other proxies, may have ended before
	}
	return m.Name, err
}

// gatherLimit bounds the wait for a node before the next node is started. A
// busy machine takes seconds to start a process.
const gatherLimit = 30 * time.Second

// Gather adds nodes one after the other, as far as they start in time, so their
// names show the order in which they lead.
func (c *Crew) Gather(ctx context.Context, m *Monitor, nodes int) error {
	for range nodes {
		name, err := c.Add(ctx)
		if err != nil {
			return err
		}
		dead := func(p Process) bool { return p.Name == name && p.State == exited }
		limited, cancel := context.WithTimeout(ctx, gatherLimit)
		_, _ = m.Await(limited, func(v View) bool { return v.stands(name) || slices.ContainsFunc(c.Processes(), dead) })
		cancel()
	}
	return context.Cause(ctx)
}

// Do carries out an order for the process.
func (c *Crew) Do(ctx context.Context, name string, what Order) error {
	m := c.find(name)
	if m == nil {
		return errUnknownNode
	}
	defer c.changed()
	if what == Start {
		return c.start(ctx, m)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	alive := m.State == running || m.State == frozen
	switch {
	case what == Kill && (alive || m.State == starting):
		return m.sendSignal(func() error { return m.child.Signal(os.Kill) })
	case what == Freeze && !subprocess.CanFreeze:
		return errNoFreeze
	case what == Freeze && m.State == running:
		return m.changeState(m.child.Freeze, frozen)
	case what == Resume && m.State == frozen:
		return m.changeState(m.child.Thaw, running)
	case what == Cut && alive:
		m.proxy.Cut()
		return nil
	case what == Heal && m.proxy.IsCut():
		m.proxy.Heal()
		return nil
	}
	return errNotNow
}

// sendSignal sends a signal.
func (m *member) sendSignal(send func() error) error {
	err := send()
	if errors.Is(err, os.ErrProcessDone) { // its end is about to be reported
		return errNotNow
	}
	return err
}

// changeState changes the state of the process by a signal.
func (m *member) changeState(send func() error, state string) error {
	if err := m.sendSignal(send); err != nil {
		return err
	}
	m.State, m.Since = state, time.Now()
	return nil
}

// find is the member with this name; nil if missing, or without a crew.
func (c *Crew) find(name string) *member {
	if c == nil {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, m := range c.members {
		if m.Name == name {
			return m
		}
	}
	return nil
}

// start lets Run start a process.
func (c *Crew) start(ctx context.Context, m *member) error {
	done := make(chan error, 1)
	select {
	case c.starts <- func() { done <- c.startProcess(m) }:
		return <-done
	case <-c.over:
		return errCrewOver
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// startProcess starts the process of a member without a process.
func (c *Crew) startProcess(m *member) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if m.State != exited {
		return errNotNow
	}
	// Its stdin ends with this process, however this process ends.
	node, err := subprocess.Start(c.spawn(m.Name, listenAddress(m.port), m.proxy.Servers()),
		func(line string) { c.noteAddress(m, line) }, func(end *os.ProcessState) { c.noteEnd(m, end) })
	if err != nil {
		return fmt.Errorf("start %s: %w", m.Name, err)
	}
	// Not earlier: an ordered cut lasts until the next process exists.
	// Connections dialed by the new process until now wait for Heal.
	m.proxy.Heal()
	m.child = node
	m.Process = Process{Name: m.Name, PID: node.PID(), State: starting, Since: time.Now()}
	return nil
}

// noteAddress reads where the process listens, from a line of its output.
func (c *Crew) noteAddress(m *member, line string) {
	var r Ready
	if json.Unmarshal([]byte(line), &r) != nil || r.Address == "" {
		return
	}
	c.mu.Lock()
	if m.State == starting {
		m.State = running
	}
	m.Address = r.Address
	c.mu.Unlock()
	c.changed()
}

// noteEnd is called when the process has ended.
func (c *Crew) noteEnd(m *member, end *os.ProcessState) {
	c.mu.Lock()
	m.State, m.Since, m.Exit = exited, time.Now(), end.String()
	c.mu.Unlock()
	c.changed()
}
