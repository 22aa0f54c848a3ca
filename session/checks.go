package session

// checksPerHeartbeat bounds how many znodes one heartbeat checks; with more
// holds than that, or than fit into a request, they take turns.
const checksPerHeartbeat = 64

// heartbeatSize and checkSize are what a heartbeat, and each check in it, take
// beside the paths: headers, the length of the path, the version.
const (
	heartbeatSize = 8 + 9
	checkSize     = 9 + 4 + 4
)

// chooseLocked picks the holds that the next heartbeat checks.
func (k *keeper) chooseLocked() []*Hold {
	n := min(len(k.holds), checksPerHeartbeat)
	out := make([]*Hold, 0, n)
	room := k.s.client.opts.MaxRequest - heartbeatSize
	for i := range n {
		h := k.holds[(k.next+i)%len(k.holds)]
		if room -= checkSize + len(k.s.real(h.path)); i > 0 && room < 0 {
			break
		}
		out = append(out, h)
	}
	k.next = (k.next + len(out)) % len(k.holds)
	return out
}
