package apache

import (
	"bytes"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
)

//go:embed guard.sh
var guardScript string

// guard is a process that outlives this process until all remains of a cluster
// are removed. t.Cleanup is not enough: clean-ups do not run when a goroutine
// panics, when a test times out, or on SIGKILL. Close uses the guard too, so
// every run tests the guard.
type guard struct {
	cmd    *exec.Cmd
	pipe   io.Closer
	output *bytes.Buffer
}

func startGuard(id, dir string) (*guard, error) {
	cmd := exec.Command("/bin/sh", "-c", guardScript)
	cmd.Env = append(os.Environ(), "GUARD_ID="+id, "GUARD_DIR="+dir)
	// A group of its own shields the guard from an interrupt of the terminal.
	ownGroup(cmd)
	g := &guard{cmd: cmd, output: &bytes.Buffer{}}
	cmd.Stdout, cmd.Stderr = g.output, g.output
	// The write end is close-on-exec, so servers do not keep the pipe open.
	pipe, err := cmd.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("apache: start guard: %w", err)
	}
	g.pipe = pipe
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("apache: start guard: %w", err)
	}
	return g, nil
}

// finishCleanUp tells the guard to remove everything and waits for its end.
func (g *guard) finishCleanUp() error {
	err := errors.Join(g.pipe.Close(), g.cmd.Wait())
	if said := strings.TrimSpace(g.output.String()); err == nil && said != "" {
		err = errors.New(said)
	} else if err != nil {
		err = fmt.Errorf("%w: %s", err, said)
	}
	if err != nil {
		return fmt.Errorf("apache: clean up: %w", err)
	}
	return nil
}
