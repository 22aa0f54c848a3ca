// Package taskformat is the format of queues of tasks: the znodes that package dispatch
// writes (docs/dispatch.md). All names are this library's alone, but those of the
// candidates in DirMasters. The package is pure; the dashboard recognizes queues by it.
package taskformat

import "strings"

// Children of the queue's path. All are persistent but those of DirAlive and DirClients.
const (
	// DirMasters is an election of package election.
	DirMasters = "masters"
	// DirTasks has "<bucket>/<task>" with a [Record] from the submission until the task is
	// collected or its retention is over.
	DirTasks = "tasks"
	// DirData has "<bucket>/<task>~<run>", the payload, as long as the task. The run is a
	// part of a UUID of the submission: a check of this path tells a task from a later one
	// of the same id, whatever their versions. The empty "<bucket>" is set with each removal of
	// a record that is garbage, which has no run.
	DirData = "data"
	// DirResults has "<bucket>/<task>" with an [Ending] and the output, from the end of
	// the task.
	DirResults = "results"
	// DirAlive has "<worker>", ephemeral, with a [Profile].
	DirAlive = "alive"
	// DirWorkers has "<worker>/<task>~<attempt>-<serial>" with an [Assignment]; the data of
	// "<worker>" is a [Profile].
	DirWorkers = "workers"
	// DirClients has "<part of a UUID>", ephemeral, for each session that has
	// submitted: the transactions of the session check it. A client that goes on in
	// another session deletes the znode, and then no transaction still in flight can be
	// applied.
	DirClients = "clients"
	// DirUnique has "<bucket>/<key>" with a [Key], persistent, for each unique task that
	// was submitted under that key last. It does not exist before such a submission. The
	// master deletes keys that are free, and sets the empty "<bucket>" with each deletion. A
	// transaction that replaces a key depends on the version of the bucket, since a key that
	// is created again can have the version of the former one.
	DirUnique = "unique"
	// DirSchedules has "<schedule>" with a [Schedule] and a payload, which clients write, and
	// below it NodeLast. It does not exist before the first schedule is set.
	DirSchedules = "schedules"
	// NodeLast, below a schedule, has the [LastSlot], which the leading master writes.
	NodeLast = "last"
	// DirAdmission says with [Limits] how many tasks the queue takes, and whether its masters
	// assign tasks. It is the last of the folders that are created: where it exists, all exist.
	// A transaction that assigns tasks depends on its version.
	DirAdmission = "admission"
	// NodeOpen, below it, exists while tasks are taken.
	NodeOpen = "open"
	// NodeSchedules, below DirAdmission, is empty. Each change of a schedule creates or sets it:
	// the masters, which watch DirAdmission, learn of the change by it.
	NodeSchedules = "schedules"
	// NodeCounts has the [Counts] that the leading master publishes. It does not exist
	// before a master of a version that publishes counts has led.
	NodeCounts = "counts"
)

const (
	// Buckets is the number of folders that tasks are spread over.
	Buckets = 256
	// RunLength is the length of the part of a UUID that is enough to tell submissions
	// and clients apart.
	RunLength = 16
	// PartMark is between the parts of a name; no escaped name has it.
	PartMark = "~"
)

// WorkerName is the escaped name that a worker has given itself, which the name of its
// znode begins with.
func WorkerName(node string) string {
	name, _, _ := strings.Cut(node, PartMark)
	return name
}
