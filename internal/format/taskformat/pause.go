package taskformat

import (
	"time"

	"github.com/zkrecipes/zkrecipes/internal/versioned"
)

// Pause says, within [Limits], that the queue is paused. Any client may write it.
type Pause struct {
	// By is who has paused the queue, Reason is why, and Since is when, by the clock of the
	// client that has paused it.
	By     string    `json:"by"`
	Reason string    `json:"reason"`
	Since  time.Time `json:"since"`

	versioned.Kept // fields of a newer version
}

type plainPause Pause

// UnmarshalJSON reads a pause, and keeps the fields that it does not know.
func (p *Pause) UnmarshalJSON(data []byte) error {
	return versioned.Unmarshal(data, (*plainPause)(p))
}

// MarshalJSON writes a pause, with the fields that were kept.
func (p Pause) MarshalJSON() ([]byte, error) {
	return versioned.Marshal((*plainPause)(&p), 0)
}
