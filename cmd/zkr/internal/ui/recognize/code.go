package recognize

// Code names a kind of problem. The codes are part of the tool's interface: the JSON of
// "zkr status" and "zkr ui" has them, and metrics of "zkr exporter" have them as a label.
type Code string

// The codes.
const (
	codeOrphan         Code = "orphan"              // a znode of a holder, waiter or member that no end of a session removes, or that its client does not know
	codeLongHold       Code = "long_hold"           // a hold that lasts for long while others wait
	codeLostHolder     Code = "lost_holder"         // the last holder did not release the lock
	codeRevocation     Code = "revocation"          // another client has asked a contender to release
	codeMixedNames     Code = "mixed_names"         // names of contenders that their libraries sort differently
	codeMixedRecipes   Code = "mixed_recipes"       // two recipes that do not exclude each other on one path
	codeNumbersUsedUp  Code = "numbers_used_up"     // sequence numbers beyond their range
	codeNumbersRunOut  Code = "numbers_run_out"     // sequence numbers near the end of their range
	codeUnknownPermits Code = "unknown_permits"     // a semaphore whose number of permits is not stored
	codeStrangers      Code = "strangers"           // children that do not belong to a semaphore, and count as permits
	codeDuplicate      Code = "duplicate"           // a party with two znodes
	codeForeignRecord  Code = "foreign_record"      // a record that was written for another path
	codeUnreadable     Code = "unreadable"          // a record that cannot be read
	codeNewerFormat    Code = "newer_format"        // records of a newer version
	codeBrokenInstance Code = "broken_instance"     // an instance of a service that cannot be used
	codeNoInstance     Code = "no_instance"         // a service without a usable instance
	codeWorkerFailed   Code = "worker_failed"       // a worker of a job that has failed
	codeWorkerDied     Code = "worker_died"         // a worker of a job that has died
	codePaused         Code = "paused"              // a rebalancer or a queue of tasks that is paused
	codeNoMember       Code = "no_member"           // a rebalancer without a member
	codeUncovered      Code = "uncovered_resources" // resources that no member subscribes to
	codeUnowned        Code = "unowned_resources"   // resources without an owner
	codeFailing        Code = "failing_resources"   // resources that a member retries after failures
	codeQueueFull      Code = "queue_full"          // a queue of tasks that takes no more tasks
	codeNoMaster       Code = "no_master"           // a queue of tasks without a master
	codeNoWorker       Code = "no_worker"           // a queue of tasks without a worker
	codeNoMatch        Code = "no_matching_worker"  // tasks for a worker with labels that no worker has
	codeWorkerGone     Code = "worker_gone"         // a worker that has gone, and still has tasks
	codeDeadTasks      Code = "dead_tasks"          // tasks whose attempts have all failed
)

// Codes are all of them.
func Codes() []Code {
	return []Code{
		codeOrphan, codeLongHold, codeLostHolder, codeRevocation, codeMixedNames,
		codeMixedRecipes, codeNumbersUsedUp, codeNumbersRunOut, codeUnknownPermits, codeStrangers,
		codeDuplicate, codeForeignRecord, codeUnreadable, codeNewerFormat, codeBrokenInstance,
		codeNoInstance, codeWorkerFailed, codeWorkerDied, codePaused, codeNoMember,
		codeUncovered, codeUnowned, codeFailing, codeQueueFull, codeNoMaster,
		codeNoWorker, codeNoMatch, codeWorkerGone, codeDeadTasks,
	}
}
