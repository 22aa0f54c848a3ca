package main

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"
)

// keepers run commands beside each other, each with a keeper of its own.
type keepers struct {
	// mu guards all, by process id. A keeper is among them before anybody can see
	// its process.
	mu  sync.Mutex
	all map[int]*keeping
}

// keeperOf is a keeper to be started: zkr itself, with these flags, the command behind
// them, and this added to the environment.
func keeperOf(grace time.Duration, flags, argv, env []string) (*exec.Cmd, error) {
	self, err := ownFile()
	if err != nil {
		return nil, err
	}
	args := append([]string{keeperName, "--grace", grace.String()}, flags...)
	cmd := exec.Command(self, append(append(args, "--"), argv...)...)
	cmd.Args[0] = os.Args[0]
	cmd.Env = append(os.Environ(), env...)
	// Ctrl-C is for zkr, which then ends the commands in order.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	return cmd, nil
}

// start starts a keeper. With p, which may be nil, its command has something to read,
// and its output is wanted: all of that has been moved when the keeping is over.
func (ks *keepers) start(cmd *exec.Cmd, p *pipes) (*keeping, error) {
	k := &keeping{cmd: cmd, over: make(chan struct{})}
	if p != nil {
		cmd.ExtraFiles, cmd.Stdout, cmd.Stderr = []*os.File{p.theirs[0]}, p.theirs[1], p.theirs[2]
	}
	var err error
	if k.orders, err = cmd.StdinPipe(); err == nil {
		ks.mu.Lock()
		if err = cmd.Start(); err == nil {
			ks.all[cmd.Process.Pid] = k
		}
		ks.mu.Unlock()
	}
	if p != nil {
		p.begin()
	}
	if err != nil {
		if p != nil {
			p.end(0)
		}
		return nil, fmt.Errorf("start a keeper: %w", err)
	}
	// Whoever runs the command waits for over; it ends with the keeper.
	go ks.attend(k, p)
	return k, nil
}

// attend waits for the end of a keeper, which outlives all that it keeps, unless
// somebody kills it.
func (ks *keepers) attend(k *keeping, p *pipes) {
	defer close(k.over)
	_ = k.cmd.Wait() // the status says it all
	k.status, _ = k.cmd.ProcessState.Sys().(syscall.WaitStatus)
	ks.mu.Lock()
	delete(ks.all, k.cmd.Process.Pid)
	limit := time.Duration(0) // nobody is left who could write
	if k.status.Signaled() {
		ks.endOrphansLocked()
		limit = killLimit
	}
	ks.mu.Unlock()
	if p != nil {
		p.end(limit)
	}
}

// endOrphansLocked ends what a keeper that was killed has left behind: zkr has become
// the parent. All of zkr's other children are keepers.
func (ks *keepers) endOrphansLocked() {
	end, stop := timer(killLimit)
	defer stop()
	for {
		left := 0
		for _, pid := range descendants(func(child int) bool { return ks.all[child] == nil }) {
			_ = syscall.Kill(pid, syscall.SIGKILL)
			if reaped, err := syscall.Wait4(pid, nil, syscall.WNOHANG, nil); err != nil || reaped != pid {
				left++
			}
		}
		if left == 0 {
			return
		}
		select {
		case <-time.After(5 * time.Millisecond):
		case <-end:
			return
		}
	}
}

// pass passes a signal on to the commands.
func (ks *keepers) pass(sig syscall.Signal) {
	if sig == syscall.SIGWINCH {
		return // they have no terminal
	}
	ks.mu.Lock()
	defer ks.mu.Unlock()
	for _, k := range ks.all {
		_, _ = fmt.Fprintln(k.orders, orderSignal, int(sig)) // an error means that it is over
	}
}

// pipes are what a command reads and writes.
type pipes struct {
	in        []byte
	out, errs io.Writer
	ours      [3]*os.File // what we write, and read
	theirs    [3]*os.File // what the command reads, and writes
	movers    sync.WaitGroup
}

func newPipes(in []byte, out, errs io.Writer) (*pipes, error) {
	p := &pipes{in: in, out: out, errs: errs}
	for i := range p.ours {
		r, w, err := os.Pipe()
		if err != nil {
			for j := range i {
				_ = p.ours[j].Close()
				_ = p.theirs[j].Close()
			}
			return nil, err
		}
		if p.ours[i], p.theirs[i] = r, w; i == 0 {
			p.ours[i], p.theirs[i] = w, r
		}
	}
	return p, nil
}

// begin begins to move what is read and written, when the command has its ends.
func (p *pipes) begin() {
	for _, f := range p.theirs {
		_ = f.Close()
	}
	// Waited for by end; ends when all is written, or when nobody reads any more.
	p.movers.Go(func() {
		_, _ = p.ours[0].Write(p.in) // a command need not read all
		_ = p.ours[0].Close()
	})
	// Waited for by end; ends when nobody writes any more.
	p.movers.Go(func() { _, _ = io.Copy(p.out, p.ours[1]) })
	// Waited for by end; ends when nobody writes any more.
	p.movers.Go(func() { _, _ = io.Copy(p.errs, p.ours[2]) })
}

// end waits until all is moved. Who hangs in the kernel, after it was killed, may have
// the other ends still: with a limit they are not waited for longer than that.
func (p *pipes) end(limit time.Duration) {
	if limit > 0 {
		late := time.AfterFunc(limit, func() {
			for _, f := range p.ours {
				_ = f.Close()
			}
		})
		defer late.Stop()
	}
	p.movers.Wait()
	for _, f := range p.ours {
		_ = f.Close() // the first one is closed already
	}
}
