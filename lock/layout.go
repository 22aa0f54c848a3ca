package lock

import (
	"errors"
	"fmt"
	"math"
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

// delaySuffix makes, of a mutex's path, that of the node which says with
// [Options.LockDelay] how the last holder went: "held <token>" or "free
// <token>". It stands beside the path, since the path itself may be a container,
// which is deleted with what it says; and not below it, since Curator counts
// every child.
const delaySuffix = ".delay"

const (
	// delayHeld: the contender with this token holds the lock, or has lost
	// it without releasing. Ours alone.
	delayHeld = "held "
	// delayFree: the holder with this token has released it. Ours alone.
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
// say counts as one, and one that wants more than a number can say as that
// number: sums of them do not overflow.
func permitsOf(name string) int {
	head := name[:max(0, strings.LastIndex(name, "-"+permitMarker))]
	n, err := strconv.ParseInt(head[strings.LastIndexByte(head, '-')+1:], 10, 32)
	switch {
	case errors.Is(err, strconv.ErrRange) && n > 0:
		return math.MaxInt32
	case err != nil || n < 1:
		return 1
	}
	return int(n)
}
