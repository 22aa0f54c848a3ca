package recognize

import (
	"fmt"
	"time"

	"github.com/zkrecipes/zkrecipes/internal/format/shareformat"
	"github.com/zkrecipes/zkrecipes/internal/format/taskformat"
)

// task is the line of a task of the queue /q, submitted this many minutes after
// eleven.
func task(id, state string, minutes int, labels ...string) string {
	at := noon.Add(time.Duration(minutes-60) * time.Minute)
	r := taskformat.Record{
		Format: taskformat.Format, ID: id, Run: "0123456789abcdef", State: taskformat.State(state), Attempt: 2, MaxAttempts: 2,
		Submitted: at, LastFailure: "woe", Labels: labels,
	}
	switch {
	case r.State == taskformat.Assigned:
		r.Worker, r.Assignment = "w1~aa", id+"~1-1"
	case r.State.Finished():
		r.FinishedAt = at
	}
	return fmt.Sprintf("/q/tasks/0a/%s =%s", id, taskformat.Encode(r))
}

// member is the line of the n-th member of the group /g, with the session of
// the same number.
func member(mode string, n int, instance string) string {
	r := shareformat.Member{Format: shareformat.Format, Mode: mode, ID: fmt.Sprintf("c%d", n), Instance: instance}
	return fmt.Sprintf("/g/clients/%s e%d =%s", latch(n), n, shareformat.Encode(&r))
}
