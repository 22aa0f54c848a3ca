package session

import "github.com/zkrecipes/zkrecipes/internal/format/heartbeatformat"

// checksPerHeartbeat bounds how many znodes one heartbeat checks; with more
// holds than that, or than fit into a request, they take turns.
const checksPerHeartbeat = 64

// watchesPerHeartbeat bounds how many znodes a heartbeat sets watches on, in addition
// to the znodes that it checks. Watches are reads, which cost the servers little, but
// their answers arrive ahead of that of the next heartbeat.
const watchesPerHeartbeat = 1000

// heartbeatSize and checkSize are the bytes of a heartbeat, and of each check in it,
// without the paths: headers, the length of the path, the version.
const (
	heartbeatSize = 8 + 9
	checkSize     = 9 + 4 + 4
	// sharedSize is what the operation of a shared heartbeat takes beside the path.
	sharedSize = 9 + 4 + 4 + 4 + 1 + 17 + heartbeatformat.MaxMarks*(1+16+1+10)
)

// watchUnchecked sets watches on the znodes that are not watched yet, behind a heartbeat:
// with many holds it takes long until each has been checked by one.
func (k *leaseRenewer) watchUnchecked() {
	k.mu.Lock()
	unwatched := k.holds.unwatched(watchesPerHeartbeat)
	k.mu.Unlock()
	for _, h := range unwatched {
		k.watchHold(h)
	}
}

// watchHold asks once per hold to be told when its znode goes. A hold that is
// shorter than a heartbeat period does not pay for it, unless it was won on an old
// proof, and its first heartbeat was sent at once.
func (k *leaseRenewer) watchHold(h *Hold) {
	k.mu.Lock()
	bare := k.holds.markWatched(h)
	k.mu.Unlock()
	if !bare {
		return
	}
	k.s.StartExists(h.path, true).Then(func(seen Seen, err error) {
		switch {
		case err != nil:
			k.markUnwatched(h) // the next heartbeat retries
		case seen.Stat.EphemeralOwner != k.s.ID(): // 0 if it is deleted; the name may be another's by now
			seen.Watch.Stop()
			h.End(errDeleted)
		default:
			h.endOnDeletion(seen.Watch)
		}
	})
}

// markUnwatched notes that the watch on the znode of h is not set any more.
func (k *leaseRenewer) markUnwatched(h *Hold) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.holds.markUnwatched(h)
}

// chooseCheckedLocked picks the holds that the next heartbeat checks: those that were checked
// longest ago.
func (k *leaseRenewer) chooseCheckedLocked() []*Hold {
	out := make([]*Hold, 0, min(k.holds.len(), checksPerHeartbeat))
	room := k.s.client.opts.MaxRequest - heartbeatSize
	if k.sharing != nil {
		room -= sharedSize + len(k.s.serverPath(k.sharing.path))
	}
	for h := range k.holds.all() {
		room -= checkSize + len(k.s.serverPath(h.path))
		if len(out) == checksPerHeartbeat || len(out) > 0 && room < 0 {
			break
		}
		out = append(out, h)
	}
	for _, h := range out {
		k.holds.requeue(h)
	}
	return out
}
