package observe

// Kind is what is waited for or held.
type Kind string

// The kinds, each with the package that it belongs to.
const (
	Lock         Kind = "lock"         // lock.Mutex, lock/locktable
	Permit       Kind = "permit"       // lock.Semaphore
	ReadLock     Kind = "read lock"    // rwlock
	WriteLock    Kind = "write lock"   // rwlock
	Leadership   Kind = "leadership"   // election
	Barrier      Kind = "barrier"      // barrier.Gate, workerctl: Job.WaitAll, Worker.Phase; a wait only
	Round        Kind = "round"        // barrier.Barrier, workerctl: Worker.Barrier; a wait only
	Seat         Kind = "seat"         // barrier.Double
	Registration Kind = "registration" // discovery.Registry; the Path is that of the service
	Membership   Kind = "membership"   // discovery.Group
	Node         Kind = "node"         // node.Node, of a mode that goes with the session
	Worker       Kind = "worker"       // workerctl: Job.Join
	Resource     Kind = "resource"     // rebalanser; the last element of Hold.Znode is its name
	Attempt      Kind = "task attempt" // dispatch: from the call of the handler to the outcome
)

// Held reports whether a hold follows a wait of kind k that has succeeded.
func (k Kind) Held() bool { return k != Barrier && k != Round }
