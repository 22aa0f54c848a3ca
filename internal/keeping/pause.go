package keeping

import "time"

// pauseFor waits for d, for another request or the session's end. Its caller looks at
// the requests next.
func (t *registrar) pauseFor(d time.Duration) { t.wait(d, t.k.wake) }

// backOff waits before a request is repeated that has cost lost+1 connections: not at
// all after the first, and then longer each time, since the servers may cut connections
// because of the request. A caller's request that comes meanwhile does not wake it: the
// wake would be used up in the middle of a step, and awaitChange would miss the
// request.
func (t *registrar) backOff(lost int) {
	if lost > 0 {
		t.wait(min(50*time.Millisecond<<min(lost, 7), pauseAfterRefusal), nil)
	}
}

func (t *registrar) wait(d time.Duration, wake <-chan struct{}) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-wake:
	case <-t.s.Context().Done():
	}
}
