package observe

import "time"

// RoundPassed is the event in which a party has passed a round of a barrier.Barrier. It
// comes just before the WaitEnded of the same wait.
type RoundPassed struct {
	Path    string
	Wait    uint64
	Round   int64
	Parties int
}

// BatchWritten is the event in which a counter or a value has ended a batch: operations of
// several goroutines that one write carries out together. Every operation that changes a
// counter or a value belongs to one batch, unless an argument is invalid; reads, and numbers
// of a block that a Sequence has reserved before, belong to none. ctx has the values of the
// first operation's context.
type BatchWritten struct {
	Path string
	// Operations is the number of operations in the batch, including those whose callers
	// did not wait until its end.
	Operations int
	// Conflicts is how often another client was faster, and the batch was tried again.
	Conflicts int
	// Unknown is how often a reply was lost, and the outcome had to be found out.
	Unknown int
	// Took is the time from the first try until the last operation had its result.
	Took time.Duration
	// Err is the first error that an operation of the batch returned, such as an
	// overflow; nil if there was none. Callers that did not wait until the end count only
	// if all operations were theirs.
	Err error
	// Declined says that nothing has failed: all errors are those of functions that were
	// passed to value.Value.Update, which have chosen to write nothing.
	Declined bool
}

// TransactionEnded is the event in which a transaction of package stm ends: a call of
// Apply whose arguments are valid. The observer is called after the transaction has left
// its queue, if any.
type TransactionEnded struct {
	// Attempts is how often the function ran.
	Attempts int
	// Unknown is how often the reply to a write was lost, and the outcome had to be found
	// out.
	Unknown int
	Took    time.Duration
	// Err is the error that Apply returns, or says that the function has panicked.
	Err error
	// Declined says that nothing has failed, and nothing was written, because of how the znodes
	// were: Err is the error of the function, or says that a znode exists already, does not
	// exist, or has children. Recipes that are made of transactions expect that.
	Declined bool
}

// CacheBegun is the event in which a cache begins to run. The cache is not current until
// CacheSynced.
type CacheBegun struct {
	// Cache is a random number of the cache's own, not 0, in all its events. Several caches
	// may have one path, and one cache may run again.
	Cache uint64
	Path  string
}

// CacheEnded is the event in which the Run of a cache ends, after a CacheStale if the cache
// was current.
type CacheEnded struct {
	Cache uint64
	Path  string
	// Err says why. It wraps the context's error if Run ends with its context.
	Err error
}

// CacheSynced is the event in which a cache has loaded everything: after the start of its
// Run, and after each interruption. It alternates with CacheStale, which ends each period
// in which a cache is current. Changes of znodes, which the cache follows, are no
// interruption.
//
// All events of a cache come from the goroutine of Run: while the observer runs, the cache
// follows no change. The observer can read the cache, and must not wait for it.
type CacheSynced struct {
	Cache   uint64
	Path    string
	Entries int
	// Took is the time since the start of Run, or since the last CacheStale of this Run.
	Took time.Duration
	// Again is false for the first load of the cache. The first load of a second Run is
	// one more load.
	Again bool
}

// CacheStale is the event in which a cache that was current can no longer be sure to be:
// the connection or the session is lost, more events have come than the cache could
// take, or Run ends.
type CacheStale struct {
	Cache uint64
	Path  string
	// Err says why. It wraps the context's error if Run ends with its context.
	Err error
}

// MemberChanged is the event in which a running workerctl.Roster sees a change of a
// worker, after its first view of the job. A death is reported when the view is certain,
// at most a third of the session timeout later. Each roster reports what it sees: a change may
// be missing if another follows at once, such as the restart of a worker that dies, and two
// rosters report each change twice. The changes of a worker need therefore not chain.
type MemberChanged struct {
	// Path is the path of the job.
	Path string
	// Worker is the worker's id.
	Worker int
	// Change is "joined", "restarted", "left", "failed" (left by Worker.Fail), "died", or
	// "removed": the worker's record is gone, usually with the job, and the roster has not
	// seen the worker leave.
	Change string
}

// Rebalanced is the event in which the coordinator of a group of package rebalanser has
// carried a new assignment out, as far as the coordinator follows it:
//
//   - In global mode, all members have started what they were assigned.
//   - In resource mode with Options.MaxMoves, each resource taken from a living member is
//     owned by its new owner, or the move was replaced by a later assignment.
//   - In resource mode without Options.MaxMoves, the assignment is written. The members
//     take the resources as their former owners give them up; see AssignmentTaken.
//
// With an Err, the coordinator has found no valid assignment, or has ended before.
type Rebalanced struct {
	// Path is the path of the group.
	Path string
	// Generation is the number of the assignment; 0 if none was found.
	Generation int64
	// Members is the number of members, and Resources the number of resources assigned.
	Members   int
	Resources int
	// Moves is the number of resources that got another owner, or their first.
	Moves int
	// Took is the time from the change that called for the assignment.
	Took time.Duration
	Err  error
}

// CoordinationEnded is the event in which a process ceases to coordinate a group of package
// rebalanser, or to try it: it is the last event of the group that the coordinator reports.
type CoordinationEnded struct {
	// Path is the path of the group.
	Path string
}

// AssignmentTaken is the event in which a member of a group of package rebalanser has all
// that it is assigned, and nothing else, after that was not so: each resource has been passed
// to the handler, whose call has returned, and all other resources have been given back. A
// member that ends before reports none.
//
// All resources of a rebalancing are owned when the last member has reported this event. In
// resource mode without Options.MaxMoves that is after Rebalanced.Took, until the assignment is
// written, and then the longest Took of the members. In the other modes, Rebalanced.Took
// includes it, with MaxMoves but for resources that had no living owner.
type AssignmentTaken struct {
	// Path is the path of the group.
	Path string
	// Generation is the number of the member's newest assignment, and Resources the number
	// of its resources.
	Generation int64
	Resources  int
	// Took is the time since the member has read the assignment, or has lost a resource of
	// it; in case of several, the first of them.
	Took time.Duration
}

// TaskChanged is the event in which a client has changed the state of a task: the clients
// of a queue submit, cancel, requeue, remove and collect tasks, the leading master assigns
// and removes them and ends those whose time is over, and the workers end attempts. A
// change whose reply was lost is reported once the client has found out.
//
// The changes of a task that all clients report chain: each begins in the state to which
// another has led, and the first in none. A change is missing if its client has lost its
// session, has given up, or has reported OutcomeUnknown; if the task was removed before its
// client, such as the master, has found out what became of a lost reply; or if a record was
// written or deleted by other means than package dispatch. The events of two clients may come
// in another order than the changes.
type TaskChanged struct {
	// Path is the path of the queue.
	Path string
	// Task is the id of the task.
	Task string
	// From and To are states of package dispatch. From is empty for a new task, and To
	// for a task that was removed. A change from "assigned" to "waiting" is an attempt that
	// has failed or was given back.
	From, To string
	// Attempt is the number of the attempt that begins or ends with the change, from 1;
	// 0 if none does.
	Attempt int
	// Took is the time that the task was in the state From, as far as the record of the
	// task and the clocks of clients and servers tell; 0 if it is not known.
	Took time.Duration
}

// OutcomeUnknown is the event in which a call ends and leaves unknown whether what it has
// written was carried out: its error wraps session.ErrUnknownOutcome. The calls of packages
// barrier, workerctl and dispatch report it, those that wait or hold before their WaitEnded or
// HoldEnded. BatchWritten and TransactionEnded have such errors for counters, values and
// transactions.
type OutcomeUnknown struct {
	// Recipe is "barrier", "job" or "tasks".
	Recipe string
	// Path is the path of the barrier, the job or the queue.
	Path string
	// Op is the call as its error names it, such as "scale" or "collect a task of".
	Op string
	// Err is the error that the call returns.
	Err error
}

// Name is "outcome unknown".
func (OutcomeUnknown) Name() string { return "outcome unknown" }

// Name is "round passed".
func (RoundPassed) Name() string { return "round passed" }

// Name is "batch written".
func (BatchWritten) Name() string { return "batch written" }

// Name is "transaction ended".
func (TransactionEnded) Name() string { return "transaction ended" }

// Name is "cache begun".
func (CacheBegun) Name() string { return "cache begun" }

// Name is "cache ended".
func (CacheEnded) Name() string { return "cache ended" }

// Name is "cache synced".
func (CacheSynced) Name() string { return "cache synced" }

// Name is "cache stale".
func (CacheStale) Name() string { return "cache stale" }

// Name is "member changed".
func (MemberChanged) Name() string { return "member changed" }

// Name is "rebalanced".
func (Rebalanced) Name() string { return "rebalanced" }

// Name is "coordination ended".
func (CoordinationEnded) Name() string { return "coordination ended" }

// Name is "assignment taken".
func (AssignmentTaken) Name() string { return "assignment taken" }

// Name is "task changed".
func (TaskChanged) Name() string { return "task changed" }

func (OutcomeUnknown) event()    {}
func (RoundPassed) event()       {}
func (BatchWritten) event()      {}
func (TransactionEnded) event()  {}
func (CacheBegun) event()        {}
func (CacheEnded) event()        {}
func (CacheSynced) event()       {}
func (CacheStale) event()        {}
func (MemberChanged) event()     {}
func (Rebalanced) event()        {}
func (CoordinationEnded) event() {}
func (AssignmentTaken) event()   {}
func (TaskChanged) event()       {}
