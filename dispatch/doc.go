// Package dispatch runs tasks on workers: clients submit tasks, one master
// assigns them, workers run them, and any of these may die at any time.
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
// and in two or three more processes, or in the same ones,
//
//	return dispatch.NewMaster(client, "/queues/mail", nil).Run(ctx)
//
// Tasks wait while no worker, or no master, is running. A task is retried until
// its handler succeeds, at most Task.MaxAttempts times. After the last failure
// the task is dead, and is kept for 30 days; [Queue.Requeue] has it tried
// again. A finished task is kept with its result until the task is collected or
// its retention is over.
//
// # Guarantees
//
//   - No task is lost: a task that Submit has confirmed ends, with exactly one
//     result, if masters and workers come back at some time.
//   - No task is completed twice. The end of a task, its result and the end of
//     its assignment are one transaction; so are the beginning of an
//     assignment and the task's state "assigned". A handler whose assignment
//     is gone cannot complete its task any more: the task was canceled, or was
//     given to another worker after this worker was cut off.
//   - Handlers may run more than once for a task, one after the other if they
//     heed their contexts: a context ends before the servers can expire the
//     worker's session. For handlers that cannot stop in time, and for a
//     process that was paused, use [Attempt.Token] and [Attempt.Guard].
//   - The tasks of a dead worker are given to other workers once. The attempt
//     counts for tasks that may have begun, at most as many as the worker has
//     slots. These tasks wait for their backoff, or are dead after the last
//     attempt. A task that was begun by two workers that died is given out
//     alone: to a worker without other tasks, which gets no other task until
//     this task has ended.
//   - A master that was paused, or cut off, changes nothing once another
//     master leads: every write has the guard of its leadership. A new master
//     reads all its knowledge.
//   - A task is submitted once, whatever replies are lost, unless the task has
//     ended and was removed before [Queue.Submit] could look. A second task
//     with the same Task.ID is the same task, as long as that task exists.
//   - A key has one task: of [Queue.SubmitUnique] without a period, one that has
//     not ended; with a period, one that was submitted in the period.
//   - The task of each slot of a [Schedule] is submitted once, whatever masters, replies and
//     sessions are lost, even if the task has been collected since. Of slots that pass while no
//     master leads, or while the queue is full, the last one is run.
//   - Of the tasks that a worker could take, a task of the highest priority
//     goes first, and among these the task that was submitted first. The task
//     goes to the worker with the fewest tasks per handler, and among equal
//     workers to the worker that has waited longest for a task.
//   - A new master that needs more than a second to read all tasks begins to assign. Until
//     it has read all tasks, this order holds among the tasks that it has read.
//   - Once [Queue.Pause] has returned, no task is assigned until [Queue.Resume], whatever
//     masters lead meanwhile; the queue accepts tasks, and assigned tasks go on. Each transaction
//     that assigns tasks depends on the record that has the pause.
//   - The progress of an attempt is that attempt's own: a worker that was cut off
//     changes nothing that is shown of the next attempt.
//   - A queue with Options.MaxTasks unfinished tasks refuses more tasks, or
//     lets Submit wait. The master closes the queue, so tasks that are
//     submitted until then are accepted; without a master, each of the 256
//     folders of tasks accepts three times its share and 64, and up to 16 more
//     of each client. As many finished tasks are kept; then the tasks that
//     ended first are removed, dead tasks last.
//
// A task takes a constant number of requests, however many tasks and workers
// exist: docs/dispatch.md counts them.
//
// # How it is lost, and how you find out
//
// The context of a handler ends when its assignment is gone, and context.Cause
// says why: session.ErrLost and a reason, session.ErrNodeDeleted if the task
// was taken from the worker, session.ErrReleased after [Attempt.Release],
// context.DeadlineExceeded at the task's deadline, or the cause of Run's context
// when that context has ended. [Worker.Run] and [Master.Run] continue in the
// next session by themselves.
//
// After a pause of the process, the Err of the handler's context is correct at
// once, but that of a context derived from it, as HTTP and SQL clients derive
// one, may be nil for some hundred milliseconds: call session.ContextErr
// before a step that must not follow a loss.
//
// # Znodes
//
// The path and its folders are persistent: "tasks", "data" and "results", each
// with up to 256 buckets; "workers" with a folder for each worker and its
// assignments; "admission", which also has the pause; "counts"; "masters", an election. "alive" and
// "clients" have ephemeral znodes. "unique" has the keys of unique tasks, and
// "schedules" the periodic tasks. docs/dispatch.md has the whole tree, the
// formats and the transactions. Any client may read all of it. Deleted znodes
// are created again when they are needed; docs/dispatch.md lists the effect on
// tasks.
//
// # Reads
//
// List, Schedules, and negative answers (ErrNoTask, an empty list of workers, no master), are true of
// a moment during the call: a transaction that a quorum commits goes ahead of the reads
// ([session.Session.ReadFresh]). So are the workers, the master, and the capacity in Stats.
// The numbers of tasks in Stats are those that the leading master has published last; they
// may lack the changes of about the last second ([Queue.Stats]). Get of a task that exists
// follows a sync; its state precedes the call only while a leading server has lost its
// followers without knowing. Workers is a plain read if a worker exists: the state precedes
// the call if the server lags behind.
//
// # Failures
//
// Errors wrap ErrInvalidArgument, ErrNoTask, ErrConflict, ErrFull, ErrState,
// ErrRunning, ErrRecord, the context's error and cause, or an error of package
// session (ErrLost, ErrUnknownOutcome, ErrNoAuth, ErrTooLarge, ...). A failed
// task is not an error of a function: see Result.State. Foreign znodes in the
// queue's tree are left alone.
//
// # Compatibility
//
// No other library writes these znodes. Delays, backoff, retention and
// deadlines, and the slots of schedules, use the servers' clock. Task.Deadline is a date: the clock of the
// client that sets it should agree with the servers' clock. Task.DeadlineAfter
// needs no such agreement.
//
// # Concurrency
//
// All methods may be called from any number of goroutines; one Run of a Worker
// at a time. A Queue starts no goroutine. Handlers run on goroutines of their
// own, up to WorkerOptions.Concurrency at once.
package dispatch
