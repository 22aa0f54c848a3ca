package rebalancecmd

import (
	"context"
	"errors"
	"fmt"
	"syscall"
	"time"

	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/cli"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/supervise"
	"github.com/zkrecipes/zkrecipes/rebalanser"
	"github.com/zkrecipes/zkrecipes/session"
)

// work runs the command for a resource while the resource is owned.
func (j *groupJoin) work(ctx context.Context, r *rebalanser.Resource) error {
	s, err := j.client.Session(ctx)
	if err != nil || ctx.Err() != nil {
		// If there is another session by now, this resource went with the session
		// before.
		return context.Cause(ctx)
	}
	status, err := j.once(ctx, r, s)
	switch {
	case err != nil:
		return err
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case supervise.ExitOf(status) == nil || j.rushed():
		return nil
	}
	name := cli.Readable([]byte(r.Name()))
	if retry := j.opts.RetryDelay; retry > 0 {
		j.app.Note("the command for %s has failed (%s): again after %v or more", name, supervise.DescribeEnd(status), retry)
		return fmt.Errorf("the command has failed (%s)", supervise.DescribeEnd(status))
	}
	j.app.Note("the command for %s has failed (%s): leaving the group", name, supervise.DescribeEnd(status))
	return supervise.ExitOf(status)
}

// rushed reports whether a second signal has killed the commands.
func (j *groupJoin) rushed() bool {
	select {
	case <-j.rush:
		return true
	default:
		return false
	}
}

// once runs the command once.
func (j *groupJoin) once(ctx context.Context, r *rebalanser.Resource, s *session.Session) (status syscall.WaitStatus, err error) {
	k, err := j.keep(r, s)
	if err != nil {
		return status, err
	}
	select {
	case <-k.Done:
		return k.Status, nil
	case <-ctx.Done():
	case <-j.rush: // the resource has not waited for --leave-grace
	}
	if r.Context().Err() == nil { // the resource is to be given up, and owned until then
		k.Stop(j.revoke, j.revoke > 0)
		select {
		case <-k.Done:
			return k.Status, nil
		case <-j.rush:
			k.Stop(0, true)
		case <-r.Context().Done():
		}
	}
	if r.Context().Err() != nil {
		j.lost(k, r, s)
	}
	<-k.Done
	return k.Status, nil
}

// lost ends a command that must not go on. When trust ran out, the session, and
// with it the ownership, lives on for the stop margin; otherwise another member
// may be the owner already.
func (j *groupJoin) lost(k *supervise.Supervised, r *rebalanser.Resource, s *session.Session) {
	grace := time.Duration(0)
	if errors.Is(context.Cause(r.Context()), session.ErrTrustRanOut) && s.Err() == nil {
		grace = j.plan.Grace
	}
	finish := j.app.BeginNote("losing %s: stopping its command, KILL after %v", cli.Readable([]byte(r.Name())), grace)
	k.Stop(grace, true)
	defer finish()
	select {
	case <-k.Done:
	case <-s.Context().Done():
		k.Stop(0, true)
	}
}
