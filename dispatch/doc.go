// Package dispatch gives tasks to workers: clients submit them, one master assigns
// them, workers run them, and any of these may die at any time.
//
// # What it is
//
//	queue := dispatch.New(client, "/queues/mail", nil)
//	id, err := queue.Submit(ctx, dispatch.Task{Payload: letter})
//	if err != nil {
//		return err
//	}
//	result, err := queue.Collect(ctx, id) // waits for the end, and cleans up
//
// in another process
//
//	worker := dispatch.NewWorker(client, "/queues/mail", send, nil)
//	return worker.Run(ctx) // send(ctx, attempt) for each task
//
// and in two or three more, or in the same ones,
//
//	return dispatch.NewMaster(client, "/queues/mail", nil).Run(ctx)
//
// Tasks wait while there is no worker, or no master. Each is tried until its handler
// succeeds, at most Task.MaxAttempts times; then it is dead, until somebody has it
// tried anew by [Queue.Requeue]. A finished task is kept with its result until it is
// collected or its retention is over.
//
// # Guarantees
//
//   - No task is lost: one that Submit has confirmed ends, with exactly one result,
//     as long as masters and workers come back at some time.
//   - No task is completed twice. Its end, the result and the end of the assignment
//     are one transaction, and so are the beginning of an assignment and the task's
//     being assigned. A handler whose assignment is gone, since the task was
//     canceled, or given to another worker after this one was cut off, cannot
//     complete it any more.
//   - Handlers may run more than once for a task, one after the other as far as they
//     heed their context: it ends before the servers can expire the worker's session.
//     For those that cannot, and for a process that was paused, there are
//     [Attempt.Token] and [Attempt.Guard].
//   - The tasks of a worker that has died are given to others once, with the attempt
//     counted, or are dead if it was the last.
//   - A master that was paused, or cut off, changes nothing once another one leads:
//     every write has its leadership's guard. A new master reads all that it knows.
//   - A task is submitted once, whatever answers are lost, unless it has ended and
//     was removed before [Queue.Submit] could look; and a task of the same Task.ID is
//     the same task as long as that is there.
//   - Of the tasks that a worker could take, one with the highest priority goes
//     first, and among these the one that was submitted first. It goes to the worker
//     that has the fewest tasks for each of its handlers, and of those that are equal
//     to the one that was given none for longest.
//   - A queue that holds Options.MaxTasks refuses more. The master closes it, so
//     those get in that are submitted until that is done; without a master, each of
//     the 256 folders that tasks are spread over takes twice its share and 64, and of
//     each client up to 16 more.
//
// A task takes a constant number of requests, however many tasks and workers there
// are: docs/dispatch.md counts them.
//
// # How it is lost, and how you find out
//
// The context of a handler ends when its assignment is gone; context.Cause says why:
// session.ErrLost and a reason, session.ErrNodeDeleted if the task was taken from
// the worker, context.DeadlineExceeded at the task's deadline, the cause of Run's
// context when that has ended. [Worker.Run] and [Master.Run] go on in the next
// session by themselves.
//
// # Znodes
//
// The path and its folders are persistent: "tasks", "data" and "results", each with
// up to 256 buckets, "workers" with a folder for each worker and in that its
// assignments, "admission", "masters", an election; "alive" and "clients" have
// ephemeral nodes. docs/dispatch.md has the whole tree, the formats and the
// transactions. Everything can be read there.
//
// # Failures
//
// Errors wrap ErrArgument, ErrNoTask, ErrConflict, ErrFull, ErrState, ErrRunning,
// ErrRecord, the context's error and cause, or an error of package session
// (ErrLost, ErrUnknownOutcome, ErrNoAuth, ErrTooLarge, ...). A task that has failed
// is no error of the functions: Result.State says so. What is in the queue's tree
// and is not of this package is left alone.
//
// # Compatibility
//
// The znodes are ours alone. Times in the future (Task.Delay, Task.Deadline) are
// those of the clocks of clients, masters and workers, which should agree to within
// a second.
//
// # Concurrency
//
// All methods may be called from any number of goroutines; one Run of a Worker at a
// time. A Queue starts no goroutine. Handlers run on goroutines of their own, up to
// WorkerOptions.Concurrency at once.
package dispatch
