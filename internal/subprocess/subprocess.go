// Package subprocess runs processes that are driven by lines: they read orders from their
// stdin and print reports to their stdout.
package subprocess

import (
	"bufio"
	"io"
	"os"
	"os/exec"
)

// longest bounds a line, in bytes. The output behind a longer line is discarded.
const longest = 1 << 20

// Process is a process that was started.
type Process struct {
	cmd    *exec.Cmd
	orders io.WriteCloser
	output io.Closer
	gone   chan struct{} // closed when the process has ended
	err    error         // the way in which it ended; to be read after gone
}

// Start starts cmd, whose Stdin and Stdout are nil. One goroutine calls report for each
// line of output; when the process has ended, it calls end, unless that is nil, and
// returns. A process that is killed by the end of this
// one, or by [Process.Kill], keeps the goroutine for as long as its own children have the
// output open.
func Start(cmd *exec.Cmd, report func(line string), end func(*os.ProcessState)) (*Process, error) {
	orders, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	output, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	p := &Process{cmd: cmd, orders: orders, output: output, gone: make(chan struct{})}
	// Waited for by Wait and by those who receive from Gone; ends with the process.
	go func() {
		defer close(p.gone)
		lines := bufio.NewScanner(output)
		lines.Buffer(nil, longest)
		for lines.Scan() {
			report(lines.Text())
		}
		_, _ = io.Copy(io.Discard, output)
		p.err = cmd.Wait()
		if end != nil {
			end(cmd.ProcessState)
		}
	}()
	return p, nil
}

// StartLines is Start with a channel of the lines, which is closed when the process has
// ended. A process whose lines are not received stops when the channel is full.
func StartLines(cmd *exec.Cmd) (*Process, <-chan string, error) {
	lines := make(chan string, 1000)
	p, err := Start(cmd, func(line string) { lines <- line }, func(*os.ProcessState) { close(lines) })
	return p, lines, err
}

// PID is the number of the process.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Tell sends a line.
func (p *Process) Tell(line string) error {
	_, err := io.WriteString(p.orders, line+"\n")
	return err
}

// End closes the stdin of the process, which tells it to end.
func (p *Process) End() { _ = p.orders.Close() } // the process may have ended

// Signal sends a signal. The error is os.ErrProcessDone if the process has ended.
func (p *Process) Signal(sig os.Signal) error { return p.cmd.Process.Signal(sig) }

// Freeze stops the process until Thaw.
func (p *Process) Freeze() error { return p.Signal(stop) }

// Thaw lets a frozen process continue.
func (p *Process) Thaw() error { return p.Signal(resume) }

// Kill kills the process, also a frozen one, and does not wait for its end.
func (p *Process) Kill() { _ = p.cmd.Process.Kill() } // the process may have ended

// KillGroup kills a process with an [OwnGroup] and its children, unless they have left
// the group, and does not wait for their end. Output that has not been reported is lost.
func (p *Process) KillGroup() {
	killGroup(p.cmd)
	_ = p.output.Close() // a child that has left the group may hold it open
}

// Gone returns a channel that is closed when the process has ended.
func (p *Process) Gone() <-chan struct{} { return p.gone }

// Wait waits for the end of the process, and returns the result of [exec.Cmd.Wait].
func (p *Process) Wait() error {
	<-p.gone
	return p.err
}

// State tells how the process has ended; nil before its end.
func (p *Process) State() *os.ProcessState {
	select {
	case <-p.gone:
		return p.cmd.ProcessState
	default:
		return nil
	}
}
