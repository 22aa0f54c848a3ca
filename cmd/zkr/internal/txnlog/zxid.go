package txnlog

import (
	"fmt"
	"math"
	"time"
)

// Zxid is the id of a transaction: the leader's epoch in the upper 32 bits, and
// a counter of the epoch in the lower 32 bits. The first transaction of an epoch
// has the counter 1. A standalone server stays in epoch 0.
type Zxid int64

// Epoch returns the number of the leader's term.
func (z Zxid) Epoch() uint32 { return uint32(uint64(z) >> 32) }

// Counter returns the number of the transaction within the epoch.
func (z Zxid) Counter() uint32 { return uint32(uint64(z)) }

// String returns the form used by servers, as in 0x200000017.
func (z Zxid) String() string { return fmt.Sprintf("0x%x", uint64(z)) }

// follows reports whether z is the zxid right after last: the next of the epoch,
// or the first of a later epoch.
func (z Zxid) follows(last Zxid) bool {
	if z.Epoch() == last.Epoch() {
		return z == last+1
	}
	return z > last && z.Counter() == 1
}

// gapAfter returns the zxids missing between last and z. At a change of the
// epoch only the start of the new epoch can be known to miss.
func (z Zxid) gapAfter(last Zxid) (from, to Zxid) {
	if z.Epoch() == last.Epoch() {
		return last + 1, z - 1
	}
	return Zxid(uint64(z.Epoch())<<32 | 1), z - 1
}

// Owner is the ephemeral owner of a znode, which also tells containers and
// znodes with a time to live.
type Owner int64

// containerOwner and the masks are those of Apache's EphemeralType.
const (
	containerOwner Owner  = math.MinInt64
	extendedMask   uint64 = 0xff << 56
	featureMask    uint64 = 0xffff << 40
)

// ttlOwner returns the owner of a znode with this time to live in milliseconds.
func ttlOwner(ms int64) Owner { return Owner(extendedMask | uint64(ms)&^(extendedMask|featureMask)) }

// Session returns the session of an ephemeral znode, and 0 for other znodes.
func (o Owner) Session() int64 {
	if o == containerOwner || o.TTL() != 0 {
		return 0
	}
	return int64(o)
}

// Container reports whether the znode is a container.
func (o Owner) Container() bool { return o == containerOwner }

// TTL returns the time to live, and 0 for other znodes. On servers without
// extendedTypesEnabled and with a server id of 255, sessions of that server look
// like a time to live; such servers have no znodes with one.
func (o Owner) TTL() time.Duration {
	if uint64(o)&(extendedMask|featureMask) != extendedMask {
		return 0
	}
	return time.Duration(uint64(o)&^(extendedMask|featureMask)) * time.Millisecond
}
