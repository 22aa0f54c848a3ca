package rebalanser

import (
	"encoding/json"
	"fmt"
	"time"
)

// format is that of all records.
const format = 1

// groupRecord is the data of a group's znode. It never changes.
type groupRecord struct {
	Format int    `json:"format"`
	Mode   string `json:"mode"` // "resource" or "global"
}

// memberRecord is the data of a client's node. It never changes.
type memberRecord struct {
	Format       int      `json:"format"`
	Mode         string   `json:"mode"`
	ID           string   `json:"id"`                 // Options.ID
	Instance     string   `json:"instance,omitempty"` // of a static member
	Assignor     string   `json:"assignor"`           // what it would go by as the coordinator
	Weight       int      `json:"weight,omitempty"`
	Zone         string   `json:"zone,omitempty"`
	Subscription []string `json:"subscription,omitempty"`
}

// epochRecord says who coordinates.
type epochRecord struct {
	Epoch  int64     `json:"epoch"`
	Client string    `json:"client"`
	Since  time.Time `json:"since"` // by the coordinator's clock
}

// barrierRecord says who owns a resource; nobody, if Client is empty.
type barrierRecord struct {
	Client string `json:"client,omitempty"`
}

// statusRecord says how far the generation is, in global mode.
type statusRecord struct {
	Generation int64  `json:"generation"`
	State      string `json:"state"` // "stop", "assigned" or "confirmed"
	Epoch      int64  `json:"epoch"`
}

// configRecord is what people set for a whole group.
type configRecord struct {
	Paused bool      `json:"paused"`
	By     string    `json:"by,omitempty"`
	Since  time.Time `json:"since,omitzero"` // by the clock of who did that
}

// encode writes a record.
func encode(record any) []byte {
	data, err := json.Marshal(record)
	if err != nil {
		panic(err) // strings, numbers and times
	}
	return data
}

// decode reads a record. Data that is empty is a record without anything: what a
// node has before it is first written.
func decode[T groupRecord | epochRecord | barrierRecord | statusRecord | configRecord | shardRecord](data []byte) (T, error) {
	var out T
	if len(data) == 0 {
		return out, nil
	}
	if err := json.Unmarshal(data, &out); err != nil {
		return out, fmt.Errorf("%w: %.60q", ErrRecord, data)
	}
	return out, nil
}

// The states of a generation, as statusRecord has them.
func states() []string { return []string{"stop", "assigned", "confirmed"} }

// decodeMember reads a member's record, whoever wrote it: one that is not what a
// member of a group of this mode writes is an error, and its owner gets nothing.
func decodeMember(mode Mode, data []byte) (memberRecord, error) {
	var m memberRecord
	bad := func(why string, args ...any) (memberRecord, error) {
		return m, fmt.Errorf("%w: "+why, append([]any{ErrRecord}, args...)...)
	}
	if err := json.Unmarshal(data, &m); err != nil {
		return bad("%.60q", data)
	}
	switch {
	case m.Format != format:
		return bad("it has format %d", m.Format)
	case m.Mode != mode.String():
		return bad("it has mode %.60q", m.Mode)
	case m.Weight < 0 || m.Weight > maxWeight:
		return bad("it has weight %d", m.Weight)
	case m.Instance != "":
		if err := validInstance(m.Instance); err != nil {
			return bad("%w", err)
		}
	}
	if err := validSubscription(m.Subscription); err != nil {
		return bad("%w", err)
	}
	return m, nil
}
