package workerctl

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/zkrecipes/zkrecipes/internal/format/jobformat"
	"github.com/zkrecipes/zkrecipes/internal/znode"
	"github.com/zkrecipes/zkrecipes/session"
)

// run is the path of one job's znodes. No other job ever has the same path, so
// late requests cannot hit another job. Package jobformat has the names of its
// children.
type run string

func newRun(root, name, id string) run {
	return run(root + "/" + session.EscapeName(name) + "/" + jobformat.RunName(id))
}

func (r run) at(elems ...string) string { return string(r) + "/" + strings.Join(elems, "/") }

func (r run) jobPath() string { return string(r)[:max(0, strings.LastIndexByte(string(r), '/'))] }

// endedPath is the path of the record of the outcome after the job's removal.
func (r run) endedPath() string {
	job := r.jobPath()
	root := job[:strings.LastIndexByte(job, '/')]
	return root + "/" + jobformat.DirEnded + "/" + jobformat.EndedName(znode.Base(job), znode.Base(string(r)))
}

func (r run) statePath() string { return r.at(jobformat.NodeState) }

func (r run) memberPath(id int) string { return r.at(jobformat.DirMembers, strconv.Itoa(id)) }

func (r run) freePath(id int) string { return r.at(jobformat.DirFree, strconv.Itoa(id)) }

func (r run) identityPath(name string) string {
	return r.at(jobformat.DirIDs, session.EscapeName(name))
}

func (r run) livePath(m member) string { return r.at(jobformat.DirLive, m.Live()) }

func (r run) barrierPath(place string, workers int) string {
	return r.at(jobformat.DirBarriers, jobformat.BarrierName(place, workers))
}

// validateRoot checks the root path of all jobs.
func validateRoot(root string) error {
	if err := session.ValidatePath(root); err != nil || root == "/" {
		return fmt.Errorf("%w: Root is %q; it must be a path below /", ErrInvalidArgument, root)
	}
	return nil
}
