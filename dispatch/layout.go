package dispatch

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"

	"github.com/zkrecipes/zkrecipes/session"
)

// Children of the queue's path. All are persistent but those of alive and
// clients. Ours alone.
const (
	// mastersDir is an election of package election.
	mastersDir = "masters"
	// tasksDir has "<bucket>/<task>", with a record, from the submission until
	// the task is collected or its retention is over.
	tasksDir = "tasks"
	// dataDir has "<bucket>/<task>~<run>", the payload, as long as the task. The
	// run is a part of a UUID of the submission: a check of this path tells a
	// task from a later one of the same id, whatever their versions.
	dataDir = "data"
	// resultsDir has "<bucket>/<task>", from the end of the task.
	resultsDir = "results"
	// aliveDir has "<worker>", ephemeral, with what the worker says of itself.
	aliveDir = "alive"
	// workersDir has "<worker>/<task>~<attempt>-<serial>", with an assignment.
	workersDir = "workers"
	// clientsDir has "<part of a UUID>", ephemeral, for each session that has
	// submitted: its transactions check it. Whoever goes on in another session
	// deletes it, and nothing that is still under way can come to be.
	clientsDir = "clients"
	// admissionDir says how many tasks the queue takes. It is the last of the
	// folders that are made: where it is, they all are.
	admissionDir = "admission"
	// openNode, below it, exists while tasks are taken.
	openNode = "open"
)

const (
	// buckets is how many folders tasks are spread over.
	buckets = 256
	// runLength is how much of a UUID tells what must not be mixed up.
	runLength = 16
	// partMark is between the parts of a name; no escaped name has it.
	partMark = "~"
)

// layout is where a queue keeps what it has.
type layout string

func (l layout) at(elems ...string) string { return string(l) + "/" + strings.Join(elems, "/") }

func (l layout) task(id string) string { return l.at(tasksDir, bucket(id), session.EscapeName(id)) }

func (l layout) data(id, run string) string {
	return l.at(dataDir, bucket(id), session.EscapeName(id)+partMark+run)
}

func (l layout) result(id string) string { return l.at(resultsDir, bucket(id), session.EscapeName(id)) }

func (l layout) alive(worker string) string { return l.at(aliveDir, worker) }

func (l layout) worker(worker string) string { return l.at(workersDir, worker) }

func (l layout) assignment(worker, name string) string { return l.at(workersDir, worker, name) }

func (l layout) open() string { return l.at(admissionDir, openNode) }

// assignmentName is the name of an assignment. No two have the same: serial never
// comes twice.
func assignmentName(id string, attempt int, serial string) string {
	return session.EscapeName(id) + partMark + strconv.Itoa(attempt) + "-" + serial
}

// serial makes what no assignment of the queue had before: a number that the
// master counts, and the token of its leadership.
func serial(token, n int64) string {
	return strconv.FormatInt(token, 36) + "." + strconv.FormatInt(n, 36)
}

// uniqueName is a name that nobody else ever uses.
func uniqueName(prefix string) string {
	id := strings.ReplaceAll(session.NewID(), "-", "")[:runLength]
	if prefix == "" {
		return id
	}
	return session.EscapeName(prefix) + partMark + id
}

// bucket is the folder that a task is in.
func bucket(id string) string { return bucketName(bucketNumber(id)) }

func bucketNumber(id string) int { return int(sha256.Sum256([]byte(id))[0]) }

func bucketName(n int) string { return fmt.Sprintf("%02x", n) }

// digest is what tells payloads apart.
func digest(payload []byte) string {
	sum := sha256.Sum256(payload)
	return hex.EncodeToString(sum[:16])
}

// lastPart is the name of a path's last element.
func lastPart(path string) string { return path[strings.LastIndexByte(path, '/')+1:] }
