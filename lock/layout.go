package lock

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/zkrecipes/zkrecipes/internal/znode"
)

// Layout is the form of the names that a lock writes. Every layout honors the
// names of all of them.
type Layout int

const (
	// Curator's InterProcessMutex, which go-zookeeper's Lock honors as
	// well, and Kazoo's with extra_lock_patterns=["-lock-"].
	Curator Layout = iota
	// Kazoo's Lock. Not to be mixed with Curator on one path: Curator would
	// order these names wrongly.
	Kazoo
)

// What stands in a contender's name before its number.
const (
	// curatorMutex: Curator's InterProcessMutex, "_c_<uuid>-lock-<seq>", and
	// go-zookeeper's Lock, "_c_<32 hex>-lock-<seq>".
	curatorMutex = "lock-"
	// kazooMutex: Kazoo's Lock, "<32 hex>__lock__<seq>".
	kazooMutex = "__lock__"
	// permitMarker: our Semaphore, "_c_<uuid>-<n>-permit-<seq>", where n is how
	// many permits are wanted.
	permitMarker = "permit-"
	// curatorLease: Curator's InterProcessSemaphoreV2,
	// "leases/_c_<uuid>-lease-<seq>".
	curatorLease = "lease-"
)

// Children of a semaphore's path in Curator's layout.
const (
	curatorLocks  = "locks"
	curatorLeases = "leases"
)

// What the data of a mutex's path says with [Options.LockDelay]: "held <token>"
// or "free <token>".
const (
	delayHeld = "held "
	delayFree = "free "
)

// name makes contenders' names of the layout.
func (l Layout) name() (func() string, error) {
	switch l {
	case Curator:
		return func() string { return znode.Protected(curatorMutex) }, nil
	case Kazoo:
		return func() string { return znode.Hex(kazooMutex) }, nil
	}
	return nil, fmt.Errorf("%w: Layout is %d; it must be Curator or Kazoo", ErrArgument, l)
}

// mutexMarkers are the markers of all contenders that a mutex honors.
func mutexMarkers() []string { return []string{curatorMutex, kazooMutex} }

// permitName makes names of contenders for n permits.
func permitName(n int) func() string {
	return func() string { return znode.Protected(strconv.Itoa(n) + "-" + permitMarker) }
}

// permitsOf reads how many permits the contender name wants. One that does not
// say counts as one.
func permitsOf(name string) int {
	head, _, _ := strings.Cut(name, "-"+permitMarker)
	n, err := strconv.Atoi(head[strings.LastIndexByte(head, '-')+1:])
	if err != nil || n < 1 {
		return 1
	}
	return n
}
