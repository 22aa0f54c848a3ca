package rebalancecmd

import (
	"fmt"

	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/supervise"
	"github.com/zkrecipes/zkrecipes/rebalanser"
	"github.com/zkrecipes/zkrecipes/session"
)

// keep starts the command for a resource.
func (j *groupJoin) keep(r *rebalanser.Resource, s *session.Session) (*supervise.Supervised, error) {
	cmd, err := supervise.NewSupervisor(j.plan.Grace, []string{"--output", j.app.Flags.Output}, j.Argv, []string{
		"ZKR_RESOURCE=" + r.Name(), fmt.Sprintf("ZKR_TOKEN=%d", r.Token()), "ZKR_GROUP=" + j.path,
		"ZKR_CLIENT=" + j.group.State().Client, fmt.Sprintf("ZKR_SESSION=%#x", s.ID()),
	})
	if err != nil {
		return nil, err
	}
	cmd.Stdout, cmd.Stderr = j.app.Stdout, j.app.Stderr
	return j.keepers.Start(cmd, nil)
}
