package recognize

import (
	"regexp"

	"github.com/zkrecipes/zkrecipes/internal/format/lockformat"
)

// The marks before the number in names of other libraries only; package
// lockformat has the marks that our recipes write as well.
const (
	markPermit = "-" + lockformat.Permit // our Semaphore, with the end of the number of permits
	markDemo   = "c_"                    // elections by the book; the whole prefix
	markOwn    = "x-"                    // ZooKeeper's own WriteLock, "x-<session>-"
	markOffer  = "n_"                    // ZooKeeper's own LeaderElectionSupport, registries by the book; the whole prefix
	markSimple = "qn-"                   // Curator's SimpleDistributedQueue, ZooKeeper's own recipe
	markQueue  = "entry-"                // Kazoo's Queue and LockingQueue, before the priority
)

// Other names.
const (
	suffixLock = "-__lock__" // Kazoo's Semaphore, beside its path: the waiters
	nodeReady  = "ready"     // double barriers of Curator and Kazoo
	dirEntries = "entries"   // Kazoo's LockingQueue
	dirTaken   = "taken"     // the same
)

// Data that identifies a node.
const (
	ownData = "\x124"            // ZooKeeper's own WriteLock, always
	packed  = "\x00\x01\x00\x01" // Curator's queues except the simple one: the beginning of each item
)

// Words in names of paths, chosen by users: they are hints only.
var (
	gateWords     = []string{"gate", "barrier"}                                                                                      // read only; what our Gate, Curator's DistributedBarrier, Kazoo's Barrier and the recipes of ZooKeeper call themselves
	barrierWords  = []string{"barrier", "barriers", "doublebarrier", "doublebarriers"}                                               // read only; Curator's and Kazoo's double barriers
	counterWords  = []string{"counter", "counters", "sequence", "sequences", "sharedcount"}                                          // read only; our Counter and Sequence, Kazoo's Counter, Curator's SharedCount
	electionWords = []string{"leader", "leaders", "leadership", "election", "elections", "elector", "master", "masters", "selector"} // read only; Curator's LeaderSelector, Kazoo's Election, our Elector
	lockWords     = []string{"lock", "locks", "mutex", "mutexes"}                                                                    // read only; Curator's InterProcessMutex, Kazoo's and go-zookeeper's Lock, our Mutex
)

var (
	memberName = regexp.MustCompile(`^([0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|[0-9a-f]{32})$`) // read only; double barriers of Curator, and of Kazoo
	leaseName  = regexp.MustCompile(`^[0-9a-f]{32}$`)                                                                // read only; Kazoo's Semaphore
	entryName  = regexp.MustCompile(`^entry-[0-9]{3}-[0-9]{10}$`)                                                    // read only
	simpleName = regexp.MustCompile(`^qn-[0-9]{10}$`)                                                                // read only
	itemName   = regexp.MustCompile(`^queue-([01][0-9A-F]{8}|\|.*\|)?[0-9]{10}$`)                                    // read only; Curator's DistributedQueue, and with a priority, a time or an id
	hostName   = regexp.MustCompile(`^[0-9A-Za-z][-._0-9A-Za-z]*$`)                                                  // read only; before our process id, where nothing else is said
	decimal    = regexp.MustCompile(`^-?[0-9]{1,19}$`)                                                               // read only
)
