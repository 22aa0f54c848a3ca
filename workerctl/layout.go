package workerctl

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/zkrecipes/zkrecipes/session"
)

// DefaultRoot is Twister2's; below it the names are ours alone.
const defaultRoot = "/twister2"

// Children of the root that are no jobs. A job's name never begins with a dot.
// Ours alone.
const (
	// joinDir has a lock per job, that those who join queue up for. It stands
	// outside of the jobs, since a lock makes its path again when it is missing,
	// and would bring a job back that was removed. Its children are containers.
	joinDir = ".join"
	// janitorDir is where janitors elect one of them.
	janitorDir = ".janitor"
)

// Children of a run, <root>/<job>/<run>, all of them persistent. Ours alone.
const (
	// stateNode says how the job stands (record.go); everything that changes
	// who is in the job changes it, on condition of its version.
	stateNode = "state"
	// sizeNode says how many workers the job has, in decimal: for those who
	// wait at barriers, and must not be woken by every worker that joins.
	sizeNode = "size"
	// fullNode exists while all ids are given out: for those who wait for it.
	fullNode = "full"
	// membersDir has "<id>", with a record, for each id that was given out.
	membersDir = "members"
	// idsDir has "<escaped identity>", whose data is the id in decimal.
	idsDir = "ids"
	// liveDir has "<id>-<incarnation>-<claim>", ephemeral, for each worker
	// that runs; data: its record when it joined.
	liveDir = "live"
	// freeDir has "<id>" for each id that waits to be used again.
	freeDir = "free"
	// barriersDir has "<escaped name>-<workers>", a path of package barrier,
	// and with phaseMark before it that at which those wait who end a phase.
	barriersDir = "barriers"
	phaseMark   = "~"
	// phasesDir has "<escaped name>" for each phase that is over.
	phasesDir = "phases"
	// idleNode says since when nobody lives (idle.go).
	idleNode = "idle"
)

// folders are the children of a run that exist from the beginning, and may have
// children of their own.
func folders() []string {
	return []string{liveDir, barriersDir, phasesDir, membersDir, idsDir, freeDir}
}

// runLength is how much of a job's id names its run: enough that no two jobs of one
// name have the same, and short, since it is in every path.
const runLength = 16

// run is where one job keeps what it has: a path that no job before it or after
// it ever has, so that no request that comes late can hit another one.
type run string

func newRun(root, name, id string) run {
	return run(root + "/" + session.EscapeName(name) + "/" + strings.ReplaceAll(id, "-", "")[:runLength])
}

func (r run) at(elems ...string) string { return string(r) + "/" + strings.Join(elems, "/") }

func (r run) job() string { return string(r)[:strings.LastIndexByte(string(r), '/')] }

func (r run) member(id int) string { return r.at(membersDir, strconv.Itoa(id)) }

func (r run) free(id int) string { return r.at(freeDir, strconv.Itoa(id)) }

func (r run) identity(name string) string { return r.at(idsDir, session.EscapeName(name)) }

func (r run) live(m member) string { return r.at(liveDir, m.live()) }

func (r run) barrier(place string, workers int) string {
	return r.at(barriersDir, place+"-"+strconv.Itoa(workers))
}

// live is the name of the ephemeral node of m's incarnation.
func (m member) live() string {
	claim := strings.ReplaceAll(m.Claim, "-", "")[:runLength]
	return strconv.Itoa(m.ID) + "-" + strconv.FormatInt(m.Incarnation, 10) + "-" + claim
}

// parseID reads an id as it is written in names and in data.
func parseID(text string) (int, error) {
	id, err := strconv.ParseInt(text, 10, 32)
	if err != nil || id < 0 || strconv.FormatInt(id, 10) != text {
		return 0, fmt.Errorf("%w: %q is no worker id", ErrRecord, text)
	}
	return int(id), nil
}

// jobs are those children of the root that are jobs.
func isJob(name string) bool { return !strings.HasPrefix(name, ".") }

// validateRoot checks the path that all jobs are below.
func validateRoot(root string) error {
	if err := session.ValidatePath(root); err != nil || root == "/" {
		return fmt.Errorf("%w: Root is %q; it must be a path below /", ErrArgument, root)
	}
	return nil
}
