package taskformat

import (
	"strings"

	"github.com/zkrecipes/zkrecipes/internal/versioned"
)

// Assignment is the data of an assignment's znode: the task as it is while the
// assignment exists, and the version that its znode has then.
type Assignment struct {
	Format  int    `json:"format"`
	Task    Record `json:"task"`
	Version int32  `json:"version"`
	// Progress is what the handler has reported last, at the time of the last write of
	// the znode; nil for none. The worker writes it. Former versions do not know it, and
	// rewrite no assignment.
	Progress *Progress `json:"progress,omitempty"`

	versioned.Kept // fields of a newer version
}

// Progress is how far an attempt is, for people.
type Progress struct {
	// Done of Total units are done; Total 0: unknown.
	Done  int64  `json:"done"`
	Total int64  `json:"total,omitempty"`
	Note  string `json:"note,omitempty"`
}

// MaxNote is how long a note is at most, in bytes.
const MaxNote = 256

// NewProgress is a report as it is written: negative numbers count as 0, and a long note is
// cut.
func NewProgress(done, total int64, note string) Progress {
	note = strings.ToValidUTF8(note[:min(len(note), MaxNote)], "")
	return Progress{Done: max(done, 0), Total: max(total, 0), Note: note}
}

type plainAssignment Assignment

// UnmarshalJSON reads an assignment, and keeps the fields that it does not know.
func (a *Assignment) UnmarshalJSON(data []byte) error {
	return versioned.Unmarshal(data, (*plainAssignment)(a))
}

// MarshalJSON writes an assignment, with the fields that were kept.
func (a Assignment) MarshalJSON() ([]byte, error) {
	return versioned.Marshal((*plainAssignment)(&a), 0)
}
