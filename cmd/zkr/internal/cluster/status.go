package cluster

import (
	"cmp"
	"path"
	"time"

	"github.com/zkrecipes/zkrecipes/session"
)

// Role is the role of a node at a moment.
type Role string

// The roles. A joining node has no place in the order yet, or not any more.
const (
	Joining Role = "joining"
	Worker  Role = "worker"
	Leader  Role = "leader"
)

// Status is a node's own state: GET /status.
type Status struct {
	Name    string `json:"name"`
	PID     int    `json:"pid,omitempty"`
	Address string `json:"address"`
	Role    Role   `json:"role"`
	// Since is the beginning of the role: for a leader, of its service.
	Since time.Time `json:"since,omitzero"`
	// Znode is the node's candidate, and Watched the name of the watched
	// candidate, by the node's own knowledge: "" for none.
	Znode   string `json:"znode,omitempty"`
	Watched string `json:"watched,omitempty"`
	// Term and Token of a leader.
	Term  int64 `json:"term,omitempty,string"`
	Token int64 `json:"token,omitempty,string"`

	// Session, and its state: connecting, connected, suspended, lost, closed.
	Session      string `json:"session,omitempty"`
	SessionState string `json:"session_state,omitempty"`
	// Timeout of the session, in milliseconds.
	Timeout int64 `json:"timeout_ms,omitempty"`
	// TrustedUntil is the end of the node's trust in its session, without
	// further proofs. A leader stops serving then.
	TrustedUntil time.Time `json:"trusted_until,omitzero"`
	// Life counts the sessions, from 1, and Cause is why the last session ended.
	Life  int    `json:"life"`
	Cause string `json:"cause,omitempty"`
	// Led is the last ended leadership.
	Led *Led `json:"led,omitempty"`
	// At is when the node said this.
	At time.Time `json:"at"`

	// Error is why the node did not answer the leader's request; the other
	// fields are then from the registry.
	Error string `json:"error,omitempty"`
}

// Led is an ended leadership.
type Led struct {
	Token int64     `json:"token,string"`
	From  time.Time `json:"from"`
	// Until is when the node stopped serving: zero if unknown.
	Until time.Time `json:"until"`
	Cause string    `json:"cause"`
}

// Summary is the leader's view of the cluster: GET /cluster/status.
type Summary struct {
	Leader string `json:"leader"`
	Term   int64  `json:"term,string"`
	// Token of the leadership: a client that has seen a larger token ignores the
	// summary.
	Token int64 `json:"token,string"`
	// Nodes by the order of their znodes, the leader first.
	Nodes []Status `json:"nodes"`
	// Left is how many more workers are registered.
	Left int       `json:"left_out,omitempty"`
	At   time.Time `json:"at"`
}

// inOrder compares nodes by the numbers of their znodes; nodes without a number
// come last.
func inOrder(a, b Status) int {
	return cmp.Or(cmp.Compare(number(a), number(b)), cmp.Compare(a.Name, b.Name))
}

func number(s Status) int64 {
	if n, err := session.Sequence(path.Base(s.Znode)); err == nil {
		return int64(n)
	}
	return 1 << 32
}
