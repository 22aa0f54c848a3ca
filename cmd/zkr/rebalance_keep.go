package main

import (
	"fmt"
	"io"
	"os/exec"
	"syscall"
	"time"

	"github.com/zkrecipes/zkrecipes/rebalanser"
	"github.com/zkrecipes/zkrecipes/session"
)

// keeping is a command that runs for a resource. A process of its own, the keeper,
// stands between zkr and the command: the system then knows whose each descendant is,
// also of those that have left the process group, and when zkr dies the keeper ends
// all of them.
type keeping struct {
	cmd    *exec.Cmd
	orders io.WriteCloser
	over   chan struct{}      // closed when the keeper, and all that it kept, is gone
	status syscall.WaitStatus // of the command; to be read when it is over
}

// keep starts the command for a resource.
func (j *groupJoin) keep(r *rebalanser.Resource, s *session.Session) (*keeping, error) {
	cmd, err := keeperOf(j.plan.grace, []string{"--output", j.app.flags.output}, j.argv, []string{
		"ZKR_RESOURCE=" + r.Name(), fmt.Sprintf("ZKR_TOKEN=%d", r.Token()), "ZKR_GROUP=" + j.path,
		"ZKR_CLIENT=" + j.group.State().Client, fmt.Sprintf("ZKR_SESSION=%#x", s.ID()),
	})
	if err != nil {
		return nil, err
	}
	cmd.Stdout, cmd.Stderr = j.app.stdout, j.app.stderr
	return j.keepers.start(cmd, nil)
}

// stop makes the keeper ask the command to end and, if it is killed at all, kill it
// when grace is over. It may be called again to make that shorter.
func (k *keeping) stop(grace time.Duration, kills bool) {
	if !kills {
		grace = -1
	}
	_, _ = fmt.Fprintln(k.orders, orderStop, grace) // an error means that it is over
}
