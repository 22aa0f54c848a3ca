package main

import (
	"context"
	"errors"
	"fmt"
	"syscall"
	"time"

	"github.com/zkrecipes/zkrecipes/rebalanser"
	"github.com/zkrecipes/zkrecipes/session"
)

// work runs the command for a resource, as long as that is owned.
func (j *groupJoin) work(ctx context.Context, r *rebalanser.Resource) error {
	s, err := j.client.Session(ctx)
	if err != nil || ctx.Err() != nil {
		// If there is another session by now, this resource went with the one before.
		return context.Cause(ctx)
	}
	for {
		status, err := j.once(ctx, r, s)
		switch {
		case err != nil:
			return err
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case status == 0:
			return nil
		}
		name := readable([]byte(r.Name()))
		if j.retry == 0 {
			j.app.note("the command for %s has failed (%s): leaving the group", name, ending(status))
			return exitOf(status)
		}
		j.app.note("the command for %s has failed (%s): again in %v", name, ending(status), j.retry)
		if err := pause(ctx, j.retry); err != nil {
			return err
		}
	}
}

// once runs the command once.
func (j *groupJoin) once(ctx context.Context, r *rebalanser.Resource, s *session.Session) (syscall.WaitStatus, error) {
	k, err := j.keep(r, s)
	if err != nil {
		return 0, err
	}
	select {
	case <-k.over:
		return k.status, nil
	case <-ctx.Done():
	}
	if r.Context().Err() == nil { // it is to be given up, and owned until then
		k.stop(j.revoke, j.revoke > 0)
		select {
		case <-k.over:
			return k.status, nil
		case <-j.rush:
			k.stop(0, true)
		case <-r.Context().Done():
		}
	}
	if r.Context().Err() != nil {
		j.lost(k, r, s)
	}
	<-k.over
	return k.status, nil
}

// lost ends a command that must not go on. When trust ran out the session lives on for
// the reserve, and what is owned with it; otherwise somebody else may own it already.
func (j *groupJoin) lost(k *keeping, r *rebalanser.Resource, s *session.Session) {
	grace := time.Duration(0)
	if errors.Is(context.Cause(r.Context()), session.ErrTrustRanOut) && s.Err() == nil {
		grace = j.plan.grace
	}
	finish := j.app.beginNote("losing %s: stopping its command, KILL after %v", readable([]byte(r.Name())), grace)
	k.stop(grace, true)
	defer finish()
	select {
	case <-k.over:
	case <-s.Context().Done():
		k.stop(0, true)
	}
}

// ending is how a command has ended, for people.
func ending(status syscall.WaitStatus) string {
	if status.Signaled() {
		return fmt.Sprintf("signal %d", int(status.Signal()))
	}
	return fmt.Sprintf("exit code %d", status.ExitStatus())
}
