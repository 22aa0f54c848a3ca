package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"

	"github.com/zkrecipes/zkrecipes/bench/internal/task"
	"golang.org/x/sync/errgroup"
)

// errGone: a peer has ended before it answered.
var errGone = errors.New("the peer has ended")

// process is a peer that runs.
type process struct {
	cmd     *exec.Cmd
	in      io.WriteCloser
	out     io.Closer
	version string
	// answers has the answers of the process; closed when the process has ended.
	answers chan task.Answer
}

// launch starts a peer, and returns once it has said what it is.
func launch(ctx context.Context, cmd *exec.Cmd) (*process, error) {
	// A group of its own: an interrupt from the terminal reaches this program,
	// which decides.
	ownGroup(cmd)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	p := &process{cmd: cmd, in: in, out: out, answers: make(chan task.Answer, 4)}
	// Waited for by end and kill; ends with the process.
	go p.listen(out)
	hello, err := p.ask(ctx, task.Task{Kind: task.Hello}, nil)
	if err != nil {
		p.kill()
		return nil, err
	}
	p.version = hello.Version
	return p, nil
}

func (p *process) listen(out io.Reader) {
	defer close(p.answers)
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		var a task.Answer
		if err := json.Unmarshal(lines.Bytes(), &a); err != nil {
			a = task.Answer{Error: fmt.Sprintf("it says %q", lines.Text())}
		}
		p.answers <- a
	}
	_ = p.cmd.Wait() // that it has ended is all that matters
}

// ask has the peer do a task. When the peer is ready, write runs beside it, and
// its context ends when the peer has answered. After an error the peer is good
// for nothing but kill.
func (p *process) ask(ctx context.Context, t task.Task, write func(context.Context) error) (task.Answer, error) {
	line, err := json.Marshal(t)
	if err != nil {
		return task.Answer{}, err
	}
	if _, err := p.in.Write(append(line, '\n')); err != nil {
		return task.Answer{}, fmt.Errorf("%w: %w", errGone, err)
	}
	writer, ctx := errgroup.WithContext(ctx)
	writing, stop := context.WithCancel(ctx)
	defer stop()
	a, err := p.await(ctx, func() {
		// Waited for below; ends when it has written all, or with its context.
		writer.Go(func() error { return write(writing) })
	})
	stop()
	if failed := writer.Wait(); failed != nil {
		return a, fmt.Errorf("write: %w", failed)
	}
	return a, err
}

// await waits for the answer, and calls begin, once, if the peer is ready before.
func (p *process) await(ctx context.Context, begin func()) (task.Answer, error) {
	for {
		select {
		case a, ok := <-p.answers:
			switch {
			case !ok:
				return a, errGone
			case a.Error != "":
				return a, errors.New(a.Error)
			case !a.Ready:
				return a, nil
			case begin == nil:
				return a, errors.New("it is ready twice")
			}
			begin()
			begin = nil
		case <-ctx.Done():
			return task.Answer{}, context.Cause(ctx)
		}
	}
}

// end lets the peer end as it likes, and returns when it has; it kills it when
// ctx ends first.
func (p *process) end(ctx context.Context) {
	p.in.Close()
	for {
		select {
		case _, ok := <-p.answers:
			if !ok {
				return
			}
		case <-ctx.Done():
			p.kill()
			return
		}
	}
}

// kill ends the peer at once, and returns when it is gone.
func (p *process) kill() {
	killGroup(p.cmd)      // unless it has ended already
	p.out.Close()         // which children that it left behind may hold open
	for range p.answers { // closed when it is gone
	}
}
