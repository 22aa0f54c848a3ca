// Package jobformat is the format of jobs with numbered workers: the znodes that package
// workerctl writes (docs/workerctl.md). The names are this library's alone, except for
// the root. The package is pure; the dashboard recognizes jobs by it.
package jobformat

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// DefaultRoot is Twister2's; below it the names are this library's alone.
const DefaultRoot = "/twister2"

// Children of the root that are not jobs. A job's name never begins with a dot.
const (
	// DirJoin has a lock per job, in which joining workers queue up. DirJoin is outside
	// of the jobs, since a lock recreates its missing path and would bring back a removed
	// job. Its children are containers.
	DirJoin = ".join"
	// DirJanitor is where janitors elect one of them.
	DirJanitor = ".janitor"
	// DirEnded has "<escaped job>-<run>", a record of how that job ended ([Ending]). A
	// container.
	DirEnded = ".ended"
)

// Children of a run, <root>/<job>/<run>, all of them persistent.
const (
	// NodeState has a [Status]. Every change of the members of the job changes the
	// status as well, on condition of its version.
	NodeState = "state"
	// NodeSize is the number of workers of the job, in decimal: for workers that
	// wait at barriers, and must not be woken by every join.
	NodeSize = "size"
	// NodeFull exists while all ids are assigned: clients that wait for a full
	// job watch it.
	NodeFull = "full"
	// DirMembers has "<id>" with a [Member] for each id that was given out.
	DirMembers = "members"
	// DirIDs has "<escaped identity>", whose data is the id in decimal.
	DirIDs = "ids"
	// DirLive has "<id>-<incarnation>-<claim>", ephemeral, for each worker that runs;
	// data: its [Member] when it joined.
	DirLive = "live"
	// DirFree has "<id>" for each id that waits to be used again.
	DirFree = "free"
	// DirBarriers has "<escaped name>-<workers>", a path of package barrier. The same
	// name with PhaseMark before it is the path at which workers wait that end a
	// phase.
	DirBarriers = "barriers"
	PhaseMark   = "~"
	// DirPhases has "<escaped name>" for each phase that is over.
	DirPhases = "phases"
	// NodeIdle says since when no worker lives: its data is the version of the state at
	// the first look.
	NodeIdle = "idle"
)

// Folders are the children of a run that exist from the beginning, and may have children
// of their own.
func Folders() []string {
	return []string{DirLive, DirBarriers, DirPhases, DirMembers, DirIDs, DirFree}
}

// runLength is how much of a UUID names a run or an incarnation: enough that no two of
// one job are the same, and short, since it is in every path.
const runLength = 16

// RunName is the name of the run of the job with that id, a UUID.
func RunName(id string) string { return strings.ReplaceAll(id, "-", "")[:runLength] }

// EndedName is the name of the record of how a job ended, made of the names of the
// job's znode and of the run's.
func EndedName(job, run string) string { return job + "-" + run }

// IsEndedName reports whether name is that of a record of how a job ended whose znode
// had the name job.
func IsEndedName(name, job string) bool {
	return len(name) == len(job)+1+runLength && strings.HasPrefix(name, job+"-")
}

// IsJob reports whether the child of the root with that name is a job.
func IsJob(name string) bool { return !strings.HasPrefix(name, ".") }

// BarrierName is the name of the barrier at a place, an escaped name, for this number of
// workers.
func BarrierName(place string, workers int) string { return place + "-" + strconv.Itoa(workers) }

// Live is the name of the ephemeral znode of m's incarnation.
func (m Member) Live() string {
	return strconv.Itoa(m.ID) + "-" + strconv.FormatInt(m.Incarnation, 10) + "-" + RunName(m.Claim)
}

var errID = errors.New("not a worker id")

// ParseID reads an id as it is written in names and in data.
func ParseID(text string) (int, error) {
	id, err := strconv.ParseInt(text, 10, 32)
	if err != nil || id < 0 || strconv.FormatInt(id, 10) != text {
		return 0, fmt.Errorf("%q: %w", text, errID)
	}
	return int(id), nil
}
