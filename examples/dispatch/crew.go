package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"strconv"
	"sync"
	"time"

	"github.com/zkrecipes/zkrecipes/examples/internal/osproc"
)

// crew is the processes of a scenario.
type crew struct {
	settings
	*bystander
	readers sync.WaitGroup

	// members are those that were started, by name; mu of the bystander guards them.
	members map[string]*process
}

func (c *crew) member(name string) *process {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.members[name]
}

// everybody returns a copy of members.
func (c *crew) everybody() map[string]*process {
	c.mu.Lock()
	defer c.mu.Unlock()
	return maps.Clone(c.members)
}

// process is a role that runs, or has run.
type process struct {
	name   string
	cmd    *exec.Cmd
	orders io.Closer
	over   chan struct{} // closed when it is gone
	err    error         // how it has ended; to be read when it is over
	killed bool          // only the play looks
}

// start starts a role; change may change what is usual.
func (c *crew) start(role, name string, change func(*settings)) error {
	own := c.settings
	if change != nil {
		change(&own)
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	cmd := exec.Command(self, "-role", role, "-name", name, "-servers", own.servers, "-path", own.path, "-second", own.second.String(),
		"-session", own.session.String(), "-tasks", strconv.Itoa(own.tasks), "-retention", own.retention.String())
	cmd.Stderr = os.Stderr
	// Ctrl-C is for the director, which then ends the others.
	osproc.OwnGroup(cmd)
	orders, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	said, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	c.say(name, "STARTED, a %s", role)
	if err := cmd.Start(); err != nil {
		return err
	}
	p := &process{name: name, cmd: cmd, orders: orders, over: make(chan struct{})}
	c.mu.Lock()
	c.members[name] = p
	c.mu.Unlock()
	// Waited for by dismiss; ends with the process.
	c.readers.Go(func() {
		defer close(p.over)
		for lines := bufio.NewScanner(said); lines.Scan(); {
			c.say(name, "%s", lines.Text())
		}
		p.err = cmd.Wait()
	})
	return nil
}

// mortal is the short session of a process that is going to be killed, which others
// have to wait for.
func mortal(own *settings) { own.session = own.mortal }

// kill kills a process, and waits until it is dead.
func (c *crew) kill(name string) {
	p := c.member(name)
	p.killed = true
	c.say(name, "KILLED")
	_ = p.cmd.Process.Kill() // it may have ended
	<-p.over
}

// freeze stops a process; thaw lets it go on.
func (c *crew) freeze(name string) {
	c.say(name, "FROZEN")
	_ = c.member(name).cmd.Process.Signal(osproc.Stop) // it may have ended
}

func (c *crew) thaw(name string) {
	c.say(name, "THAWED")
	_ = c.member(name).cmd.Process.Signal(osproc.Continue) // it may have ended
}

// ended waits for the end of a process, which comes by itself, and must be a good one.
func (c *crew) ended(names ...string) error {
	for _, name := range names {
		p := c.member(name)
		<-p.over
		if p.err != nil {
			return fmt.Errorf("%s has ended: %w", name, p.err)
		}
		c.say(name, "has ended")
	}
	return nil
}

// end ends processes in order.
func (c *crew) end(names ...string) error {
	for _, name := range names {
		_ = c.member(name).orders.Close() // it may have ended
	}
	return c.ended(names...)
}

// dead are those that were killed.
func (c *crew) dead() map[string]bool {
	out := map[string]bool{}
	for name, p := range c.everybody() {
		out[name] = p.killed
	}
	return out
}

// dismiss ends the processes that are left, as after a failure, and waits for all.
func (c *crew) dismiss() error {
	var err error
	late := time.After(30 * time.Second)
	for _, p := range c.everybody() {
		_ = p.orders.Close() // it may have ended
		_ = p.cmd.Process.Signal(osproc.Continue)
	}
	for name, p := range c.everybody() {
		select {
		case <-p.over:
		case <-late:
			_ = p.cmd.Process.Kill() // it may have ended
			<-p.over
			late = time.After(0)
			err = errors.Join(err, fmt.Errorf("%s did not end when it was told to", name))
		}
	}
	c.readers.Wait()
	return err
}
