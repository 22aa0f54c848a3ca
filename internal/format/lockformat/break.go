package lockformat

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/zkrecipes/zkrecipes/internal/znode"
)

// BreaksSuffix makes, of the path of a queue, that of the container with the records of the
// holds that were broken: each is a persistent znode with the former holder's token as its
// name. This library's alone.
const BreaksSuffix = ".breaks"

// BreakName is the name of a record: a contender's znode must not have such a name.
func BreakName(token int64) string { return fmt.Sprintf("%016x", uint64(token)) }

// BreakPath is the path of a record, of the queue at dir.
func BreakPath(dir string, token int64) string { return znode.Join(dir+BreaksSuffix, BreakName(token)) }

// IsBreakName reports whether name is one that BreakName makes.
func IsBreakName(name string) bool {
	return len(name) == 16 && strings.Trim(name, "0123456789abcdef") == ""
}

// MaxBreaks is how many records are kept; a client that breaks a hold deletes older ones.
const MaxBreaks = 16

// breakFormat is the version of the format.
const breakFormat = 1

// Break is the record of a broken hold.
type Break struct {
	Format int `json:"format"`
	// Holder is the description of the former holder, and Session its session as "0x1f",
	// "0x0" for a persistent znode.
	Holder  string `json:"holder"`
	Session string `json:"session"`
	// Token is the czxid of its znode, and Znode is the znode's name; "" in records of a
	// version that did not write it.
	Token int64  `json:"token"`
	Znode string `json:"znode,omitempty"`
	// By is who broke the hold, Reason is why, and Attempt is random.
	By      string `json:"by"`
	Reason  string `json:"reason"`
	Attempt string `json:"attempt"`
	// At is the time by the clock of the client that broke the hold.
	At time.Time `json:"at"`
}

// SessionID is the number of Session; 0 if Session is another text.
func (b Break) SessionID() int64 {
	id, _ := strconv.ParseUint(strings.TrimPrefix(b.Session, "0x"), 16, 64)
	return int64(id)
}

// Encode returns the data of the record's znode.
func (b Break) Encode() []byte {
	b.Format = breakFormat
	data, err := json.Marshal(b)
	if err != nil {
		panic(fmt.Sprintf("lockformat: %v", err)) // a Break has nothing that JSON lacks
	}
	return data
}

// ParseBreak reads a record.
func ParseBreak(data []byte) (Break, error) {
	var b Break
	if err := json.Unmarshal(data, &b); err != nil {
		return Break{}, fmt.Errorf("the record of a broken hold: %w", err)
	}
	if b.Format < 1 || b.Format > breakFormat {
		return Break{}, fmt.Errorf("the record of a broken hold has format %d; this version knows %d", b.Format, breakFormat)
	}
	return b, nil
}
