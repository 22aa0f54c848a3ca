package core

// Kind is the kind of an action.
type Kind int

const (
	// Acquire begins to take the barriers of Resources. Each is answered by
	// Acquired, once it is held.
	Acquire Kind = iota
	// Abandon ends that. Each is answered: by Abandoned, or by Acquired if it
	// was held before the end came.
	Abandon
	// Start calls the handler for what is assigned; answered by Started.
	Start
	// Revoke calls the handler for what is to be given up; answered by Revoked.
	Revoke
	// Release gives the barriers of Resources back; answered by Released.
	Release
	// Ack says that all has been stopped that Generation wants to be; answered
	// by Acked.
	Ack
	// Unack takes that back, as all has been started; answered by Unacked.
	Unack
	// Leave: nothing is left that would have to be stopped or given back.
	Leave
)

// Action is something to begin. There is at most one Start or Revoke at a time: the
// calls of handlers are serial.
type Action struct {
	Kind       Kind
	Resources  []string // sorted
	Generation int64    // of Ack and Unack
}
