package dispatch

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"

	"github.com/zkrecipes/zkrecipes/internal/format/taskformat"
	"github.com/zkrecipes/zkrecipes/session"
)

// The names, which package taskformat describes. Ours alone.
const (
	mastersDir   = taskformat.DirMasters
	tasksDir     = taskformat.DirTasks
	dataDir      = taskformat.DirData
	resultsDir   = taskformat.DirResults
	aliveDir     = taskformat.DirAlive
	workersDir   = taskformat.DirWorkers
	clientsDir   = taskformat.DirClients
	admissionDir = taskformat.DirAdmission
	openNode     = taskformat.NodeOpen
	uniqueDir    = taskformat.DirUnique
	schedulesDir = taskformat.DirSchedules
	lastNode     = taskformat.NodeLast
	countsNode   = taskformat.NodeCounts
	buckets      = taskformat.Buckets
	runLength    = taskformat.RunLength
	partMark     = taskformat.PartMark
)

// layout has the paths of a queue.
type layout string

func (l layout) at(elems ...string) string { return string(l) + "/" + strings.Join(elems, "/") }

func (l layout) taskPath(id string) string {
	return l.at(tasksDir, bucketOf(id), session.EscapeName(id))
}

func (l layout) dataPath(id, run string) string {
	return l.at(dataDir, bucketOf(id), session.EscapeName(id)+partMark+run)
}

func (l layout) resultPath(id string) string {
	return l.at(resultsDir, bucketOf(id), session.EscapeName(id))
}

func (l layout) keyPath(key string) string {
	return l.at(uniqueDir, bucketOf(key), session.EscapeName(key))
}

func (l layout) schedulePath(name string) string { return l.scheduleNode(session.EscapeName(name)) }

// scheduleNode is the path of the schedule with that znode.
func (l layout) scheduleNode(node string) string { return l.at(schedulesDir, node) }

// lastPath is the path of the record of the last slot of a schedule.
func lastPath(schedule string) string { return schedule + "/" + lastNode }

// signalPath is the path of the znode that tells the masters of changed schedules.
func (l layout) signalPath() string { return l.at(admissionDir, taskformat.NodeSchedules) }

func (l layout) alivePath(worker string) string { return l.at(aliveDir, worker) }

func (l layout) workerPath(worker string) string { return l.at(workersDir, worker) }

func (l layout) workerPaths(workers []string) []string { return pathsOf(workers, l.workerPath) }

func (l layout) alivePaths(workers []string) []string { return pathsOf(workers, l.alivePath) }

func (l layout) clientPaths(clients []string) []string {
	return pathsOf(clients, func(id string) string { return l.at(clientsDir, id) })
}

func (l layout) taskPaths(ids []string) []string { return pathsOf(ids, l.taskPath) }

// folderPaths are the paths of folders of the queue.
func (l layout) folderPaths(dirs []string) []string {
	return pathsOf(dirs, func(dir string) string { return l.at(dir) })
}

// pathsOf are the paths of names.
func pathsOf(names []string, path func(name string) string) []string {
	out := make([]string, len(names))
	for i, name := range names {
		out[i] = path(name)
	}
	return out
}

func (l layout) assignmentPath(worker, name string) string { return l.at(workersDir, worker, name) }

func (l layout) countsPath() string { return l.at(countsNode) }

func (l layout) openPath() string { return l.at(admissionDir, openNode) }

// assignmentName is the name of an assignment. No two have the same: serial never
// comes twice.
func assignmentName(id string, attempt int, serial string) string {
	return session.EscapeName(id) + partMark + strconv.Itoa(attempt) + "-" + serial
}

// newSerial makes a name that no assignment of the queue had before: a number that
// the master counts, and the token of its leadership.
func newSerial(token, n int64) string {
	return strconv.FormatInt(token, 36) + "." + strconv.FormatInt(n, 36)
}

// compareAssignments compares assignments by the order in which they were given: by the
// zxids of their transactions, and within one transaction by the master's count.
func compareAssignments(zxid int64, name string, otherZxid int64, otherName string) int {
	return cmp.Or(cmp.Compare(zxid, otherZxid), cmp.Compare(countOf(name), countOf(otherName)))
}

// countOf is the number that the master has counted in the name of an assignment.
func countOf(name string) int64 {
	n, _ := strconv.ParseInt(name[strings.LastIndexByte(name, '.')+1:], 36, 64)
	return n
}

// uniqueName returns a name that no other client ever uses.
func uniqueName(prefix string) string {
	id := strings.ReplaceAll(session.NewID(), "-", "")[:runLength]
	if prefix == "" {
		return id
	}
	return session.EscapeName(prefix) + partMark + id
}

// bucketOf is the folder that a task is in.
func bucketOf(id string) string { return bucketName(bucketNumber(id)) }

func bucketNumber(id string) int { return int(sha256.Sum256([]byte(id))[0]) }

func bucketName(n int) string { return fmt.Sprintf("%02x", n) }

// payloadHash tells payloads apart.
func payloadHash(payload []byte) string {
	sum := sha256.Sum256(payload)
	return hex.EncodeToString(sum[:16])
}
