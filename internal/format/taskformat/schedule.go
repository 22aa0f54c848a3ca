package taskformat

import (
	"bytes"
	"math"
	"time"
)

// Schedule is the first line of the data of a znode in DirSchedules: when a task is submitted,
// and with which properties. The payload of the task follows. A client that replaces a schedule
// keeps no field of the record, which would describe the other schedule.
type Schedule struct {
	Format int    `json:"format"`
	Name   string `json:"name"`
	// Every is the time between two slots, and Start the first slot; zero: as
	// time.Time.Truncate counts, from the beginning of the year 1.
	Every Millis    `json:"everyMs"`
	Start time.Time `json:"start,omitzero"`
	// Overlap: a slot is run even if the task of the former slot has not ended.
	Overlap bool `json:"overlap,omitempty"`
	// Since is a time by the servers' clock, after which the slots begin that are run; zero:
	// the mtime of the znode. A change of the task keeps it, and a change of the slots does
	// not.
	Since time.Time `json:"since,omitzero"`
	// The task, as in a Record.
	Priority      int      `json:"priority,omitempty"`
	Labels        []string `json:"labels,omitempty"`
	MaxAttempts   int      `json:"maxAttempts"`
	DeadlineAfter Millis   `json:"deadlineAfterMs,omitempty"`
	Delay         Millis   `json:"delayMs,omitempty"`
	Backoff       Millis   `json:"backoffMs"`
	Retention     Millis   `json:"retentionMs"`
	DeadRetention Millis   `json:"deadRetentionMs,omitempty"`
}

const (
	// MinEvery is the shortest time between two slots, and maxEvery the longest that a
	// time.Duration can say.
	MinEvery = Millis(1000)
	maxEvery = math.MaxInt64 / Millis(time.Millisecond)
	// lastMilli is the end of the last year that a record can say.
	lastMilli = 253402300799999
)

// Valid reports whether a client writes such a record.
func (s Schedule) Valid() bool {
	return s.Format == Format && s.Name != "" && s.Every >= MinEvery && s.Every <= maxEvery && isDate(s.Start) && isDate(s.Since) &&
		s.MaxAttempts > 0 && s.DeadlineAfter >= 0 && s.Delay >= 0 && s.Backoff >= 0 && s.Retention >= 0 && s.DeadRetention >= 0
}

// isDate reports whether t is in the years 1 to 9999 of UTC.
func isDate(t time.Time) bool { return IsYear(t.UTC().Year()) }

// IsYear reports whether slots can be in that year.
func IsYear(year int) bool { return year >= 1 && year <= 9999 }

// SameSlots reports whether two schedules have the same slots.
func (s Schedule) SameSlots(other Schedule) bool {
	return s.Every == other.Every && s.Start.Equal(other.Start)
}

// Equal reports whether two schedules are the same, whenever they were set.
func (s Schedule) Equal(other Schedule) bool {
	s.Since, other.Since = time.Time{}, time.Time{}
	s.Start, other.Start = s.Start.UTC(), other.Start.UTC()
	return bytes.Equal(Encode(s), Encode(other))
}

// Begin is the time after which the slots begin that are run, of a schedule in a znode that was
// written last at mtime.
func (s Schedule) Begin(mtime time.Time) time.Time {
	if !s.Since.IsZero() {
		return s.Since
	}
	return mtime
}

// SlotAt is the last slot at or before a time; false: none.
func (s Schedule) SlotAt(at time.Time) (time.Time, bool) {
	first, now := s.Start.UnixMilli(), min(at.UnixMilli(), lastMilli)
	if now < first {
		return time.Time{}, false
	}
	return time.UnixMilli(now - (now-first)%int64(s.Every)).UTC(), true
}

// SlotAfter is the first slot after a time; false: none up to the year 9999.
func (s Schedule) SlotAfter(at time.Time) (time.Time, bool) {
	slot, ok := s.SlotAt(at)
	if !ok {
		return s.Start.UTC().Truncate(time.Millisecond), true
	}
	next := slot.UnixMilli() + int64(s.Every)
	return time.UnixMilli(next).UTC(), next <= lastMilli
}

// SlotTask is the id of the task of a slot.
func SlotTask(name string, slot time.Time) string {
	return name + "@" + slot.UTC().Format(time.RFC3339Nano)
}

// EncodeSchedule writes a schedule.
func EncodeSchedule(s Schedule, payload []byte) []byte { return encodeHead(s, payload) }

// DecodeSchedule reads a schedule.
func DecodeSchedule(data []byte) (Schedule, []byte, error) { return decodeHead[Schedule](data) }

// LastSlot is the data of NodeLast, below a schedule: which slots are over. A master that
// replaces the record keeps no field of it, which would describe another slot.
type LastSlot struct {
	Format int `json:"format"`
	// Slot is the last slot whose task was submitted, Task the id and Run the run of that task.
	// Without a run, the record of the task could not be read.
	Slot time.Time `json:"slot"`
	Task string    `json:"task"`
	Run  string    `json:"run,omitempty"`
	// Skipped is the last slot that was skipped since, because that task had not ended.
	Skipped time.Time `json:"skipped,omitzero"`
}

// Valid reports whether a master writes such a record.
func (l LastSlot) Valid() bool {
	return l.Format == Format && l.Task != "" && isDate(l.Slot) && isDate(l.Skipped) && !l.Slot.IsZero() &&
		(l.Run == "" || len(l.Run) == RunLength && isName(l.Run))
}

// Over is the last slot that was run or skipped.
func (l LastSlot) Over() time.Time {
	if l.Skipped.After(l.Slot) {
		return l.Skipped
	}
	return l.Slot
}
