package session

import "time"

// Hooks are functions for metrics and logs. Each may be nil. They are called on
// goroutines that move the session's bytes: they must not block, and must not
// call the client.
type Hooks struct {
	// State receives every change of the client's state.
	State func(State)
	// Request receives every request: its name ("create", "get", ...), the time
	// until the reply, and the result.
	Request func(op string, took time.Duration, err error)
	// Heartbeat receives every heartbeat that was sent while something was held.
	Heartbeat func(took time.Duration, err error)
}

func (h *Hooks) state(s State) {
	if h != nil && h.State != nil {
		h.State(s)
	}
}

// timed starts the time of a request and returns what to call with its end.
func (h *Hooks) timed(op string, now func() time.Time) func(error) {
	if h == nil || h.Request == nil {
		return func(error) {}
	}
	began := now()
	return func(err error) { h.Request(op, now().Sub(began), err) }
}

func (h *Hooks) heartbeat(took time.Duration, err error) {
	if h != nil && h.Heartbeat != nil {
		h.Heartbeat(took, err)
	}
}
