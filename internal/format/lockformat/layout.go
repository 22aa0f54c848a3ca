// Package lockformat is the format of everything in which contenders queue: locks,
// semaphores, read/write locks and elections (docs/layout.md), in this library's form,
// Curator's, Kazoo's and go-zookeeper's. Packages lock, rwlock and election write these
// znodes. The package is pure; the dashboard recognizes queues by it.
package lockformat

import (
	"math"
	"strconv"
	"strings"

	"github.com/zkrecipes/zkrecipes/internal/znode"
)

// The markers in contenders' names, before the number.
const (
	// CuratorMutex: Curator's InterProcessMutex and LeaderSelector,
	// "_c_<uuid>-lock-<number>", and go-zookeeper's Lock, "_c_<32 digits>-lock-<number>".
	// Data of an election: the id in UTF-8.
	CuratorMutex = "lock-"
	// KazooLock: Kazoo's Lock, WriteLock and Election, "<32 digits>__lock__<number>".
	KazooLock = "__lock__"
	// CuratorRead and CuratorWrite: Curator's InterProcessReadWriteLock,
	// "_c_<uuid>-__READ__<number>" and "_c_<uuid>-__WRIT__<number>". A reader that was a
	// writer has the writer's number, in a name that the server did not append to
	// (Curator since 5.5.0).
	CuratorRead  = "__READ__"
	CuratorWrite = "__WRIT__"
	// KazooRead: Kazoo's ReadLock, "<32 digits>__rlock__<number>".
	KazooRead = "__rlock__"
	// CuratorLatch: Curator's LeaderLatch, "_c_<uuid>-latch-<number>"; data: the
	// participant's id in UTF-8, which may be empty.
	CuratorLatch = "latch-"
	// Permit: the Semaphore of package lock, "_c_<uuid>-<n>-permit-<number>", where n is
	// how many permits are wanted. This library's alone.
	Permit = "permit-"
	// CuratorLease: Curator's InterProcessSemaphoreV2, "leases/_c_<uuid>-lease-<number>".
	CuratorLease = "lease-"
)

// Children of a semaphore's path in Curator's layout: the contenders that wait, and the
// leases that are held.
const (
	DirLocks  = "locks"
	DirLeases = "leases"
)

// RevokeData in the znode of a mutex's or read/write lock's contender asks the contender to
// give the lock back (Curator's LockInternals.REVOKE_MESSAGE).
const RevokeData = "__REVOKE__"

// MutexMarkers are the markers of all contenders that a mutex honors.
func MutexMarkers() []string { return []string{CuratorMutex, KazooLock} }

// RWMarkers are the markers of all contenders that a read/write lock honors.
func RWMarkers() []string { return []string{CuratorRead, CuratorWrite, KazooRead, KazooLock} }

// ElectionMarkers are the markers of all candidates that an election honors.
func ElectionMarkers() []string { return []string{CuratorLatch, CuratorMutex, KazooLock} }

// Writes tells whether contenders with this marker want a read/write lock for themselves
// alone.
func Writes(marker string) bool { return marker == CuratorWrite || marker == KazooLock }

// PermitName is a new name of a contender for n permits.
func PermitName(n int) string { return znode.Protected(strconv.Itoa(n) + "-" + Permit) }

// PermitsOf reads how many permits the contender name wants. A name without a number
// counts as one permit. A number that is too large counts as the largest: sums of permits
// do not overflow.
func PermitsOf(name string) int {
	head := name[:max(0, strings.LastIndex(name, "-"+Permit))]
	number := head[strings.LastIndexByte(head, '-')+1:]
	if number == "" || number[0] == '0' || strings.Trim(number, "0123456789") != "" {
		return 1 // ParseInt accepts +5 and 05, and calls 9999999999x too large
	}
	n, err := strconv.ParseInt(number, 10, 32)
	if err != nil {
		return math.MaxInt32 // digits only: the number is too large
	}
	return int(n)
}

// ParsePermits reads how many permits a semaphore has, from the data of its path: the
// decimal number that the Semaphore of package lock and Kazoo's Semaphore write; 0 for other
// data. Another spelling of a number ("+5", "05") gives 0, too: the Semaphore of package
// lock compares the text.
func ParsePermits(data []byte) int {
	n, err := strconv.ParseInt(string(data), 10, 32)
	if err != nil || n < 1 || strconv.FormatInt(n, 10) != string(data) {
		return 0
	}
	return int(n)
}

// DelaySuffix makes, of a mutex's path, that of the znode which says with
// lock.Options.LockDelay how the last holder went. It stands beside the path, since the
// path itself may be a container, which is deleted with its data; and not below it,
// since Curator counts every child. This library's alone.
const DelaySuffix = ".delay"

// RoomSuffix makes, of the path of a queue, that of its waiting room: a container, whose
// children are the places (znode.PlaceName). It stands beside the path, since other
// libraries count every child. This library's alone.
const RoomSuffix = ".waiting"

// The data of such a znode, before the token.
const (
	// delayHeld: the contender with this token holds the lock, or has lost it without
	// releasing.
	delayHeld = "held "
	// delayFree: the holder with this token has released it.
	delayFree = "free "
)

// DelayNote is the data of the znode beside a mutex: the contender with this token holds
// the lock, or has released it.
func DelayNote(held bool, token int64) string {
	if held {
		return delayHeld + strconv.FormatInt(token, 10)
	}
	return delayFree + strconv.FormatInt(token, 10)
}

// SaysHeld reports whether the note says that a contender holds the lock, with any
// token.
func SaysHeld(note []byte) bool { return strings.HasPrefix(string(note), delayHeld) }

// ParseDelay reads the notes that DelayNote writes. ok is false for other data.
func ParseDelay(note []byte) (held bool, token int64, ok bool) {
	text := string(note)
	held = strings.HasPrefix(text, delayHeld)
	if !held && !strings.HasPrefix(text, delayFree) {
		return false, 0, false
	}
	token, err := strconv.ParseInt(text[len(delayHeld):], 10, 64)
	return held, token, err == nil && DelayNote(held, token) == text
}

// ProclaimedSuffix makes, of the path of an election, that of the container with what the
// leaders have proclaimed: an ephemeral znode of the leader's session, with the name of the
// leader's candidate and the proclaimed value as data. This library's alone.
//
// Not the data of the candidate itself: Curator's LeaderLatch watches the data of its
// predecessor, and ignores a change without watching again, so that it would not learn that
// the predecessor has left.
const ProclaimedSuffix = ".proclaimed"
