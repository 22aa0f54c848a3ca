package supervise

import (
	"io"
	"os"
	"sync"
	"time"
)

// Pipes are the stdin and stdout of a command.
type Pipes struct {
	in        []byte
	out, errs io.Writer
	ours      [3]*os.File // zkr's ends
	theirs    [3]*os.File // the command's ends
	movers    sync.WaitGroup
}

// NewPipes makes the pipes of a command that reads in.
func NewPipes(in []byte, out, errs io.Writer) (*Pipes, error) {
	p := &Pipes{in: in, out: out, errs: errs}
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

// startCopying begins to copy, after the command has got its ends.
func (p *Pipes) startCopying() {
	for _, f := range p.theirs {
		_ = f.Close()
	}
	// Waited for by end; ends when all is written, or at the last reader's end.
	p.movers.Go(func() {
		_, _ = p.ours[0].Write(p.in) // a command need not read all
		_ = p.ours[0].Close()
	})
	// Waited for by end; ends at the last writer's end.
	p.movers.Go(func() { _, _ = io.Copy(p.out, p.ours[1]) })
	// Waited for by end; ends at the last writer's end.
	p.movers.Go(func() { _, _ = io.Copy(p.errs, p.ours[2]) })
}

// end waits until everything is copied, for at most limit if limit is positive:
// a process that was killed but hangs in the kernel may still have the other
// ends open.
func (p *Pipes) end(limit time.Duration) {
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
		_ = f.Close() // the first end is closed already
	}
}
