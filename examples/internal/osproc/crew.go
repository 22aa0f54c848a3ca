package osproc

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"time"

	"github.com/zkrecipes/zkrecipes/internal/subprocess"
)

// endTime is how long Dismiss waits for processes that were told to end.
const endTime = 30 * time.Second

// Crew is processes of this program, each with a name and arguments of its own. A process
// ends when its stdin does: see [UntilStdinEnds].
type Crew struct {
	report func(name, line string)

	mu      sync.Mutex // guards the fields below
	members map[string]*Process
	failure error
}

// NewCrew returns a crew without processes. It calls report, concurrently, for each line
// that a process prints, and for each signal to a process: KILLED, FROZEN, THAWED.
func NewCrew(report func(name, line string)) *Crew {
	return &Crew{report: report, members: map[string]*Process{}}
}

// Process is a process of a crew.
type Process struct {
	*subprocess.Process
	crew *Crew
	name string

	// told says that the end of the process is wanted, and killed that Kill was
	// called. The crew's mu guards both.
	told, killed bool
}

// Start starts this program with other arguments. A process of the same name must have ended.
func (c *Crew) Start(name string, args ...string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	cmd := exec.Command(self, args...)
	cmd.Stderr = os.Stderr
	// Ctrl-C is for this process, which then ends the others.
	subprocess.OwnGroup(cmd)
	p := &Process{crew: c, name: name}
	c.mu.Lock()
	defer c.mu.Unlock()
	p.Process, err = subprocess.Start(cmd, func(line string) { c.report(name, line) }, p.noteEnd)
	if err == nil {
		c.members[name] = p
	}
	return err
}

// noteEnd is called when the process has ended.
func (p *Process) noteEnd(state *os.ProcessState) {
	p.crew.mu.Lock()
	defer p.crew.mu.Unlock()
	if !p.told && p.crew.failure == nil {
		p.crew.failure = fmt.Errorf("%s has ended by itself: %v", p.name, state)
	}
}

// Process returns the last process that was started with this name.
func (c *Crew) Process(name string) *Process {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.members[name]
}

// Names returns the names of the processes that were killed, and of all others.
func (c *Crew) Names() (killed, others []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for name, p := range c.members {
		if p.killed {
			killed = append(killed, name)
		} else {
			others = append(others, name)
		}
	}
	return killed, others
}

// Failure returns an error once a process has ended without having been killed or told to
// end. It is for crews whose processes do not end by themselves.
func (c *Crew) Failure() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.failure
}

// Kill kills the process, and returns when the process has ended.
func (p *Process) Kill() {
	p.crew.mu.Lock()
	p.told, p.killed = true, true
	p.crew.mu.Unlock()
	p.crew.report(p.name, "KILLED")
	p.Process.Kill()
	<-p.Gone()
}

// Freeze stops the process until Thaw.
func (p *Process) Freeze() {
	p.crew.report(p.name, "FROZEN")
	_ = p.Process.Freeze() // it may have ended
}

// Thaw lets a frozen process continue.
func (p *Process) Thaw() {
	p.crew.report(p.name, "THAWED")
	_ = p.Process.Thaw() // it may have ended
}

// End tells the process to end, by closing its stdin.
func (p *Process) End() {
	p.crew.mu.Lock()
	p.told = true
	p.crew.mu.Unlock()
	p.Process.End()
}

// all returns the processes.
func (c *Crew) all() (out []*Process) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, p := range c.members {
		out = append(out, p)
	}
	return out
}

// KillAll kills the processes that are left, and does not wait for their ends.
func (c *Crew) KillAll() {
	for _, p := range c.all() {
		p.Process.Kill()
	}
}

// Dismiss ends the processes that are left, frozen ones too, and waits for them. The error
// names those that had to be killed.
func (c *Crew) Dismiss() error {
	var err error
	for _, p := range c.all() {
		p.End()
		_ = p.Process.Thaw() // it may have ended
	}
	late := time.After(endTime)
	for _, p := range c.all() {
		select {
		case <-p.Gone():
		case <-late:
			p.Process.Kill()
			<-p.Gone()
			late = time.After(0)
			err = errors.Join(err, fmt.Errorf("%s did not end when it was told to", p.name))
		}
	}
	return err
}
