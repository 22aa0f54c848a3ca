package dispatch

import (
	"cmp"
	"fmt"
	"time"

	"github.com/zkrecipes/zkrecipes/internal/format/taskformat"
	"github.com/zkrecipes/zkrecipes/session"
)

// The definition of a schedule as it is stored, and the task of a slot.

// pathsOfSchedules are the paths of schedules with these znodes, each followed by the path of
// its last slot.
func (l layout) pathsOfSchedules(nodes []string) (paths []string) {
	for _, node := range nodes {
		paths = append(paths, l.scheduleNode(node), lastPath(l.scheduleNode(node)))
	}
	return paths
}

// decodeSchedule decodes the schedule at path.
func (l layout) decodeSchedule(path string, data []byte) (definition, []byte, error) {
	def, payload, err := taskformat.DecodeSchedule(data)
	if err = wrapRecordError(err); err == nil && l.schedulePath(def.Name) != path {
		err = fmt.Errorf("%w: it is the record of the schedule %q", ErrRecord, def.Name)
	}
	if err != nil {
		return definition{}, nil, fmt.Errorf("%s: %w", path, err)
	}
	return def, payload, nil
}

// decodeLast decodes the last slot of the schedule at path; the zero value if there was none.
func decodeLast(path string, node session.Seen) (lastSlot, error) {
	if !node.Exists {
		return lastSlot{}, nil
	}
	last, err := decode[lastSlot](node.Data)
	if err != nil {
		return lastSlot{}, fmt.Errorf("%s: %w", lastPath(path), err)
	}
	return last, nil
}

// latest is the later of two times.
func latest(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// toDefinition checks a schedule, and returns it as it is stored.
func (s Schedule) toDefinition() (definition, error) {
	start, t := truncateTime(s.Start), s.Task
	switch {
	case toMillis(s.Every) < taskformat.MinEvery:
		return definition{}, fmt.Errorf("%w: Every is %v; it must be at least %v", ErrInvalidArgument, s.Every, taskformat.MinEvery.Duration())
	case !taskformat.IsYear(start.Year()):
		return definition{}, fmt.Errorf("%w: Start is in the year %d; it must be 1 to 9999", ErrInvalidArgument, start.Year())
	case t.ID != "":
		return definition{}, fmt.Errorf("%w: Task.ID is %q; it must be empty, as each slot has an id of its own", ErrInvalidArgument, t.ID)
	case t.Attached:
		return definition{}, fmt.Errorf("%w: Task.Attached is true; a task of a schedule has no client that it goes with", ErrInvalidArgument)
	case !t.Deadline.IsZero():
		return definition{}, fmt.Errorf("%w: Task.Deadline is set; only DeadlineAfter can be", ErrInvalidArgument)
	}
	if err := checkScheduleName(s.Name); err != nil {
		return definition{}, err
	}
	r, err := t.newRecord(time.Now())
	if err != nil {
		return definition{}, err
	}
	return definition{
		Format: format, Name: s.Name, Every: toMillis(s.Every), Start: start, Overlap: s.Overlap, Priority: r.Priority, Labels: r.Labels,
		MaxAttempts: r.MaxAttempts, DeadlineAfter: r.DeadlineAfter, Delay: r.Delay, Backoff: r.Backoff, Retention: r.Retention,
		DeadRetention: cmp.Or(r.DeadRetention, toMillis(defaultDeadRetention)),
	}, nil
}

func checkScheduleName(name string) error {
	if name == "" || len(name) > maxScheduleName {
		return fmt.Errorf("%w: Name has %d bytes; it must have 1 to %d", ErrInvalidArgument, len(name), maxScheduleName)
	}
	return checkText("Name", name)
}

// slotRecord is the record of the task of a slot.
func slotRecord(def definition, slot time.Time, payload []byte, now time.Time) record {
	return record{
		Format: format, ID: taskformat.SlotTask(def.Name, slot), Run: uniqueName(""), State: waiting, Attempt: 1, MaxAttempts: def.MaxAttempts,
		Priority: def.Priority, Labels: def.Labels, Hash: payloadHash(payload), DeadlineAfter: def.DeadlineAfter, Delay: def.Delay,
		Backoff: def.Backoff, Retention: def.Retention, DeadRetention: def.DeadRetention,
	}.submittedAt(now)
}
