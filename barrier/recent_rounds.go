package barrier

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/zkrecipes/zkrecipes/internal/format/barrierformat"
	"github.com/zkrecipes/zkrecipes/internal/znode"
)

// recentRounds are the parties of the newest rounds of a [Barrier], by the
// UUIDs of their names, a line for each round, the newest first:
//
//	7 6f0a2f6e-4c52-4a2f-8f0e-0d1c8f4c2a10 0b9c...
//
// The text is the data of a znode beside the path, written in the same
// transaction as the record. Only parties without a known number read it:
// parties whose creation was not answered, and whose znode was let through and
// deleted before the answer. The record itself stays small, because all parties
// read the record.
type recentRounds []byte

// maxRoll is how many bytes of older rounds are kept.
const maxRoll = 4096

// parseRecentRounds reads the data of the znode beside the path; the error wraps
// ErrRecord.
func parseRecentRounds(data []byte) (recentRounds, error) {
	for line := range strings.Lines(string(data)) {
		fields := strings.Fields(line)
		if len(fields) < 2 || !strings.HasSuffix(line, "\n") {
			return nil, fmt.Errorf("%w: it says %.60q", ErrRecord, data)
		}
		round, err := strconv.ParseInt(fields[0], 10, 64)
		if err != nil || round < 1 || slices.ContainsFunc(fields[1:], func(f string) bool { return len(f) != znode.UUIDLength }) {
			return nil, fmt.Errorf("%w: it says %.60q", ErrRecord, data)
		}
	}
	return recentRounds(data), nil
}

// next is the recent rounds after round, with chosen as its parties.
func (r recentRounds) next(round int64, chosen []member) recentRounds {
	var line bytes.Buffer
	line.WriteString(strconv.FormatInt(round, 10))
	for _, m := range chosen {
		line.WriteByte(' ')
		line.WriteString(barrierformat.UUIDOf(m.name))
	}
	line.WriteByte('\n')
	old := r
	if len(old) > maxRoll {
		old = old[:bytes.LastIndexByte(old[:maxRoll], '\n')+1]
	}
	return append(line.Bytes(), old...)
}

// round is the round of the party with this UUID; false if missing in r.
func (r recentRounds) round(uuid string) (int64, bool) {
	for line := range strings.Lines(string(r)) {
		fields := strings.Fields(line)
		for i, f := range fields {
			if n, err := strconv.ParseInt(fields[0], 10, 64); i > 0 && f == uuid && err == nil {
				return n, true
			}
		}
	}
	return 0, false
}

// covers reports whether r has all rounds after from, up to the newest
// round to.
func (r recentRounds) covers(from, to int64) bool {
	for line := range strings.Lines(string(r)) {
		if to <= from {
			break
		}
		first, _, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		if first != strconv.FormatInt(to, 10) {
			return false
		}
		to--
	}
	return to <= from
}

// newest is the newest round of r, 0 if there is none.
func (r recentRounds) newest() int64 {
	first, _, _ := strings.Cut(string(r), " ")
	n, _ := strconv.ParseInt(first, 10, 64)
	return n
}
