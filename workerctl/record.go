package workerctl

import (
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"github.com/zkrecipes/zkrecipes/session"
)

// State says how a job or a worker stands. Of a job it is "submitted" (nobody
// has joined yet), "running", "finished" (all its workers have left), "killed"
// or "abandoned"; of a worker "running", "left" (it has finished its part) or
// "failed" (it has died, and may come back).
type State string

// The states; [State] describes them.
const (
	submitted State = "submitted"
	running   State = "running"
	finished  State = "finished"
	killed    State = "killed"
	abandoned State = "abandoned"
	left      State = "left"
	failed    State = "failed"
)

// Over is true for a job that is finished, killed or abandoned: nobody can join
// it any more.
func (s State) Over() bool { return s == finished || s == killed || s == abandoned }

// known is true for the states that a job can have.
func (s State) known() bool { return s == submitted || s == running || s.Over() }

// maxWorkers is how many a job can have.
const maxWorkers = 1 << 24

// job is the data of a job's znode; it never changes.
type job struct {
	Format   int               `json:"format"` // 1
	ID       string            `json:"id"`     // a UUID
	Name     string            `json:"name"`
	ReuseIDs bool              `json:"reuseIDs"`
	Metadata map[string]string `json:"metadata,omitempty"`
	Created  time.Time         `json:"created"` // by the clock of who submitted it
}

// status is the data of a run's state node.
type status struct {
	State   State `json:"state"`
	Workers int   `json:"workers"`
	// Next is the lowest id that was not given out yet.
	Next int `json:"next"`
	// Left is how many of the ids below Next have left, so that nobody has
	// them; with ReuseIDs these are the free ones.
	Left int `json:"left"`
	// Joins counts those who joined or came back, so that each of them changes
	// the record.
	Joins int64 `json:"joins"`
}

// member is the data of a worker's znodes.
type member struct {
	ID   int    `json:"id"`
	Name string `json:"name"` // the identity's
	// Incarnation counts how often the id was joined under, from 1.
	Incarnation int64 `json:"incarnation"`
	// Claim is a UUID of the call that joined.
	Claim string `json:"claim"`
	Left  bool   `json:"left"`
	// Edition counts the changes that the incarnation made.
	Edition    int64             `json:"edition"`
	Addresses  []string          `json:"addresses,omitempty"`
	Node       string            `json:"node,omitempty"`
	Rack       string            `json:"rack,omitempty"`
	DataCenter string            `json:"dataCenter,omitempty"`
	KV         map[string]string `json:"kv,omitempty"`
}

// encode writes a record.
func encode(record any) []byte {
	data, err := json.Marshal(record)
	if err != nil {
		panic(err) // strings, numbers and times
	}
	return data
}

// decode reads a record and checks what the rest relies on.
func decode[T job | status | member](data []byte) (T, error) {
	var out T
	if err := json.Unmarshal(data, &out); err != nil {
		return out, fmt.Errorf("%w: %.40q", ErrRecord, data)
	}
	ok := false
	switch r := any(out).(type) {
	case job:
		ok = r.Format == 1 && validUUID(r.ID) && r.Name != ""
	case status:
		ok = r.State.known() && r.Workers > 0 && r.Workers <= maxWorkers &&
			0 <= r.Left && r.Left <= r.Next && r.Next <= r.Workers
	case member:
		ok = r.ID >= 0 && r.ID < maxWorkers && r.Incarnation > 0 && validUUID(r.Claim) && r.Name != ""
	}
	if !ok {
		return out, fmt.Errorf("%w: %.40q", ErrRecord, data)
	}
	return out, nil
}

// memberOf reads the record of the member whose node has that name.
func memberOf(name string, data []byte) (member, error) {
	m, err := decode[member](data)
	if err == nil && strconv.Itoa(m.ID) != name {
		return m, fmt.Errorf("%w: member %s says that it is %d", ErrRecord, name, m.ID)
	}
	return m, err
}

// jobOf reads the record of the job whose node has that name.
func jobOf(name string, data []byte) (job, error) {
	record, err := decode[job](data)
	if err == nil && session.EscapeName(record.Name) != name {
		return record, fmt.Errorf("%w: %s says that it is %q", ErrRecord, name, record.Name)
	}
	return record, err
}

// validUUID is true for a UUID in lower case with dashes.
func validUUID(id string) bool {
	if len(id) != 36 {
		return false
	}
	for i := range len(id) {
		c, dash := id[i], i == 8 || i == 13 || i == 18 || i == 23
		if dash != (c == '-') || !dash && (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return true
}
