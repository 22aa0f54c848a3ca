package dispatch_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/dispatch"
	"github.com/zkrecipes/zkrecipes/internal/world"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// scheduleCall is a call about a schedule.
type scheduleCall func(ctx context.Context, q *dispatch.Queue) error

// sets sets a schedule whose tasks have a priority.
func sets(name string, priority int) scheduleCall {
	return func(ctx context.Context, q *dispatch.Queue) error {
		s := minutely(name)
		s.Task.Priority = priority
		return q.SetSchedule(ctx, s)
	}
}

// deletes deletes a schedule that exists, or has existed during the call.
func deletes(name string) scheduleCall {
	return func(ctx context.Context, q *dispatch.Queue) error {
		existed, err := q.DeleteSchedule(ctx, name)
		if err == nil && !existed {
			err = errMissing
		}
		return err
	}
}

// errMissing: a schedule that exists is reported as missing.
var errMissing = errors.New("the schedule existed")

// The reply to a change of a schedule is lost, and another client changes schedules before the
// first one is connected again, in the same session or in the next one: the change is not made a
// second time over the other's.
func TestChangeOfAScheduleIsNotRepeatedOverAnother(t *testing.T) {
	const applied, lost = zktest.DropReplyHole, zktest.DropRequest
	const none = -1
	for name, x := range map[string]struct {
		fault    zktest.Fault
		before   bool // the schedule exists, with the priority 1
		call     scheduleCall
		others   []scheduleCall
		want     error
		priority int // of the schedule afterwards
	}{
		"replaced, replaced":             {applied, true, sets("x", 2), []scheduleCall{sets("x", 3)}, session.ErrUnknownOutcome, 3},
		"replaced, deleted":              {applied, true, sets("x", 2), []scheduleCall{deletes("x")}, session.ErrUnknownOutcome, none},
		"replaced, replaced to the same": {applied, true, sets("x", 2), []scheduleCall{sets("x", 3), sets("x", 2)}, nil, 2},
		"replaced, another one set":      {applied, true, sets("x", 2), []scheduleCall{sets("y", 3)}, nil, 2},
		"not replaced, another one set":  {lost, true, sets("x", 2), []scheduleCall{sets("y", 3)}, nil, 2},
		"not replaced, replaced":         {lost, true, sets("x", 2), []scheduleCall{sets("x", 3)}, session.ErrUnknownOutcome, 3},
		"created, deleted":               {applied, false, sets("x", 2), []scheduleCall{deletes("x")}, session.ErrUnknownOutcome, none},
		"created, deleted, created":      {applied, false, sets("x", 2), []scheduleCall{deletes("x"), sets("x", 3)}, session.ErrUnknownOutcome, 3},
		"created, another one set":       {applied, false, sets("x", 2), []scheduleCall{sets("y", 3)}, nil, 2},
		"not created":                    {lost, false, sets("x", 2), nil, nil, 2},
		"not created, another one set":   {lost, false, sets("x", 2), []scheduleCall{sets("y", 3)}, session.ErrUnknownOutcome, none},
		"deleted, created":               {applied, true, deletes("x"), []scheduleCall{sets("x", 3)}, nil, 3},
		"deleted":                        {applied, true, deletes("x"), nil, nil, none},
		"not deleted, replaced":          {lost, true, deletes("x"), []scheduleCall{sets("x", 3)}, nil, none},
		"not deleted, deleted, created":  {lost, true, deletes("x"), []scheduleCall{deletes("x"), sets("x", 3)}, nil, 3},
		"not deleted, another one set":   {lost, true, deletes("x"), []scheduleCall{sets("y", 3)}, nil, none},
	} {
		for _, where := range []string{"the same session", "the next session"} {
			t.Run(name+", "+where, func(t *testing.T) {
				inWorld(t, nil, func(w *World) {
					c, events := w.ClientObserved(world.IsUnknown) // c1
					mine, theirs := dispatch.New(c, path, nil), w.queue()
					require.NoError(w, sets("z", 1)(w.Ctx, theirs))
					if x.before {
						require.NoError(w, sets("x", 1)(w.Ctx, theirs))
					}
					w.Server.FailNth(func(r zktest.Request) bool {
						return r.Client == "c1" && r.Op == "multi" && slices.Contains(r.Paths, path+"/schedules/x")
					}, 1, zktest.Action{Do: x.fault})
					done := make(chan error, 1)
					// Waited for below; ends with the call.
					go func() { done <- x.call(w.Within(5*time.Minute), mine) }()
					w.Pass(time.Second)
					for _, call := range x.others {
						require.NoError(w, call(w.Ctx, theirs))
					}
					if where == "the next session" {
						w.Expire(c)
					}
					err := <-done
					require.ErrorIs(w, err, x.want)
					w.ToldUnknown(events, "tasks", path, "set a schedule of", err)
					priority := none
					for _, s := range w.schedules(theirs) {
						if s.Name == "x" {
							priority = s.Task.Priority
						}
					}
					require.Equal(w, x.priority, priority)
				})
			})
		}
	}
}
