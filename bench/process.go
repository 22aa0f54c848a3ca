package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"

	"github.com/zkrecipes/zkrecipes/bench/internal/task"
	"github.com/zkrecipes/zkrecipes/internal/subprocess"
	"golang.org/x/sync/errgroup"
)

// errGone: a peer has ended before its answer.
var errGone = errors.New("the peer has ended")

// process is a running peer.
type process struct {
	*subprocess.Process
	version string
	// answers has the answers of the process; closed when the process has ended.
	answers chan task.Answer
}

// launch starts a peer, and returns after its hello.
func launch(ctx context.Context, cmd *exec.Cmd) (*process, error) {
	// A group of its own: an interrupt from the terminal reaches only this
	// program, which decides about the peers.
	subprocess.OwnGroup(cmd)
	cmd.Stderr = os.Stderr
	p := &process{answers: make(chan task.Answer, 4)}
	var err error
	p.Process, err = subprocess.Start(cmd, p.readAnswer, func(*os.ProcessState) { close(p.answers) })
	if err != nil {
		return nil, err
	}
	hello, err := p.runTask(ctx, task.Task{Kind: task.Hello}, nil)
	if err != nil {
		p.kill()
		return nil, err
	}
	p.version = hello.Version
	return p, nil
}

func (p *process) readAnswer(line string) {
	var a task.Answer
	if err := json.Unmarshal([]byte(line), &a); err != nil {
		a = task.Answer{Error: fmt.Sprintf("it says %q", line)}
	}
	p.answers <- a
}

// runTask lets the peer do a task. When the peer is ready, write runs concurrently,
// and its context ends with the peer's answer. After an error the peer can only
// be killed.
func (p *process) runTask(ctx context.Context, t task.Task, write func(context.Context) error) (task.Answer, error) {
	line, err := json.Marshal(t)
	if err != nil {
		return task.Answer{}, err
	}
	if err := p.Tell(string(line)); err != nil {
		return task.Answer{}, fmt.Errorf("%w: %w", errGone, err)
	}
	writer, ctx := errgroup.WithContext(ctx)
	writing, stop := context.WithCancel(ctx)
	defer stop()
	a, err := p.await(ctx, func() {
		// Waited for below; ends after the last write, or with its context.
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

// end lets the peer end by itself, and returns afterwards. When ctx ends first,
// end kills the peer.
func (p *process) end(ctx context.Context) {
	p.End()
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

// kill kills the peer, and returns when the peer has ended.
func (p *process) kill() {
	p.KillGroup()         // has no effect on an ended peer
	for range p.answers { // closed when the peer has ended
	}
	<-p.Gone()
}
