package recognize

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/zkrecipes/zkrecipes/internal/format/jobformat"
	"github.com/zkrecipes/zkrecipes/internal/znode"
)

// JobState is the state of a job of workerctl (docs/workerctl.md).
type JobState struct {
	ID       string            `json:"id"`
	Name     string            `json:"name"`
	State    string            `json:"state"`
	Created  time.Time         `json:"created"`
	ReuseIDs bool              `json:"reuse_ids,omitempty"`
	Metadata map[string]string `json:"metadata,omitempty"`
	// Size is how many workers the job wants; Missing have never come.
	// Running are at work; Left have finished their part, Failed have left with a
	// failure; Dead have died, and may come back.
	Size    int `json:"size"`
	Running int `json:"running"`
	Left    int `json:"left"`
	Failed  int `json:"failed"`
	Dead    int `json:"dead"`
	Missing int `json:"missing"`
	// Unknown counts unreadable workers.
	Unknown int `json:"unknown,omitempty"`
	// Workers by their ids, without missing workers.
	Workers []Worker `json:"workers"`
	// Phases are over.
	Phases []string `json:"phases,omitempty"`
}

// Worker is a worker of a job.
type Worker struct {
	Path        string    `json:"path"`
	ID          int       `json:"id"`
	Name        string    `json:"name"`
	State       string    `json:"state"` // running, left, failed, dead, unknown
	Failure     string    `json:"failure,omitempty"`
	Incarnation int64     `json:"incarnation,string"`
	Addresses   []string  `json:"addresses,omitempty"`
	Node        string    `json:"node,omitempty"`
	Session     SessionID `json:"session,omitempty"`
	Since       time.Time `json:"since,omitzero"`
	// Live is the path of the worker's ephemeral node, Token the node's czxid.
	Live  string `json:"live,omitempty"`
	Token int64  `json:"token,omitempty,string"`
}

// recognizeJob recognizes a job: by its record, and the run named after its id.
func recognizeJob(l *looker, s *spot) *Thing {
	r, err := s.jobRecord()
	if isNewer(err) {
		return newerJob(s, err)
	}
	if err != nil {
		return nil
	}
	run := s.child(jobformat.RunName(r.ID))
	if run == nil {
		return nil
	}
	t := &Thing{Kind: Job, Path: s.Path, How: "a record with the id of its run: workerctl", Job: &JobState{
		ID: Text([]byte(r.ID), idWidth), Name: Text([]byte(r.Name), idWidth), Created: r.Created, ReuseIDs: r.ReuseIDs, Metadata: map[string]string{},
	}}
	for key, value := range r.Metadata {
		t.Job.Metadata[Text([]byte(key), idWidth)] = Text([]byte(value), idWidth)
	}
	t.Job.readStatus(t, run)
	s.claimTree(t)
	if barriers := run.child(jobformat.DirBarriers); barriers != nil {
		for b := range barriers.children.all() {
			b.partOf(t.Path)
			for p := range b.children.all() {
				p.assignTo(nil)
			}
			b.assignTo(nil)
		}
	}
	t.Job.readWorkers(l, t, run)
	if phases := run.child(jobformat.DirPhases); phases != nil {
		for p := range phases.children.all() {
			if len(t.Job.Phases) == Shown {
				break
			}
			t.Job.Phases = append(t.Job.Phases, Text([]byte(p.name), idWidth))
		}
	}
	t.State = t.Job.summary()
	return t
}

// jobRecord reads a node as the record of a job.
func (s *spot) jobRecord() (jobformat.Job, error) {
	return decodeNode(s.Node, func(data []byte) (jobformat.Job, error) { return jobformat.JobOf(s.name, data) })
}

// mayBeJob reports whether a node has the record of a job, perhaps of a newer version: nodes below
// it tell whether it is one.
func (s *spot) mayBeJob() bool {
	_, err := s.jobRecord()
	return err == nil || isNewer(err)
}

// newerJob tells a job whose record has a format of a newer version: by the folders of
// its run.
func newerJob(s *spot, err error) *Thing {
	if !s.children.contains(func(run *spot) bool {
		return run.child(jobformat.DirMembers) != nil && run.child(jobformat.DirLive) != nil
	}) {
		return nil
	}
	t := &Thing{Kind: Job, Path: s.Path, How: "the folders of a run: workerctl", Job: &JobState{Name: Text([]byte(s.name), idWidth), State: notReadable}}
	t.State = t.Job.summary()
	t.addProblem(Warn, codeUnreadable, s.Path, "the job's record %s", s.unreadReason(err))
	s.claimTree(t)
	return t
}

// endedJob recognizes the record of a job's outcome, which outlives the job.
func endedJob(_ *looker, s *spot) *Thing {
	if folder := znode.Parent(s.Path); znode.Base(folder) != jobformat.DirEnded {
		return nil
	}
	r, err := decodeNode(s.Node, jobformat.Decode[jobformat.Ending])
	if err != nil || !jobformat.IsEndedName(s.name, znode.Escape(r.Name)) {
		return nil
	}
	j := &JobState{
		ID: Text([]byte(r.ID), idWidth), Name: Text([]byte(r.Name), idWidth), State: string(r.State), Created: r.Created,
		Size: r.Workers, Left: r.Left - r.Failed, Failed: r.Failed, Missing: r.Workers - r.Joined,
	}
	return &Thing{Kind: Job, Path: s.Path, How: "the record of how a job ended: workerctl", State: "over: " + j.summary(), Job: j}
}

// notReadable is the state of an unreadable thing.
const notReadable = "not readable"

// readStatus reads the status of the job.
func (j *JobState) readStatus(t *Thing, run *spot) {
	state := run.child(jobformat.NodeState)
	if state == nil {
		j.State = "being removed"
		return
	}
	st, err := decodeNode(state.Node, jobformat.Decode[jobformat.Status])
	switch {
	case err == nil:
		j.State, j.Size, j.Missing = string(st.State), st.Workers, st.Workers-st.Next
	case state.Denied:
		j.State = notReadable
	default:
		j.State = notReadable
		t.addProblem(Bad, codeUnreadable, state.Path, "the job's state %s", state.unreadReason(err))
	}
}

// readWorkers reads the workers that have joined.
func (j *JobState) readWorkers(l *looker, t *Thing, run *spot) {
	members, live := run.child(jobformat.DirMembers), run.child(jobformat.DirLive)
	if members == nil {
		return
	}
	for c := range members.children.all() {
		r, err := decodeNode(c.Node, func(data []byte) (jobformat.Member, error) { return jobformat.MemberOf(c.name, data) })
		if err != nil {
			j.addUnreadable(t, c, err)
			continue
		}
		w := Worker{Path: c.Path, ID: r.ID, Name: Text([]byte(r.Name), idWidth), Incarnation: r.Incarnation, Node: Text([]byte(r.Node), idWidth), Since: c.Modified()}
		for _, a := range r.Addresses[:min(len(r.Addresses), 4)] {
			w.Addresses = append(w.Addresses, Text([]byte(a), idWidth))
		}
		var here *spot
		if live != nil {
			here = live.child(r.Live())
		}
		w.State = string(r.State(here != nil))
		if w.State == jobformat.Dead && live != nil && live.Denied {
			w.State = Unknown
		}
		j.addWorker(l, t, w, r, here)
	}
	slices.SortFunc(j.Workers, func(a, b Worker) int { return cmp.Compare(a.ID, b.ID) })
}

// Unknown is the state of an unreadable worker.
const Unknown = "unknown"

// addWorker adds a worker that lacks only its place; here is its live znode.
func (j *JobState) addWorker(l *looker, t *Thing, w Worker, r jobformat.Member, here *spot) {
	waits := j.State == jobformat.Submitted || j.State == jobformat.Running
	switch w.State {
	case jobformat.Running:
		j.Running++
		w.Live, w.Session, w.Since, w.Token = here.Path, SessionID(here.Stat.EphemeralOwner), here.Created(), here.Stat.Czxid
	case jobformat.Left:
		j.Left++
	case jobformat.Failed:
		j.Failed++
		w.Failure = Text([]byte(r.Failure), 200)
		if waits {
			t.addProblem(Warn, codeWorkerFailed, w.Path, "worker %d (%s) has failed: %s", w.ID, w.Name, w.Failure)
		}
	case jobformat.Dead:
		j.Dead++
		// A worker that has just joined may have been read before its live node.
		if waits && !l.isRecent(w.Since, settling) {
			t.addProblem(Warn, codeWorkerDied, w.Path, "worker %d (%s) has died; the job waits for it to come back", w.ID, w.Name)
		}
	default:
		j.Unknown++
	}
	j.Workers = append(j.Workers, w)
}

// addUnreadable adds a worker whose record is unreadable.
func (j *JobState) addUnreadable(t *Thing, c *spot, err error) {
	name := Text([]byte(c.name), idWidth)
	if !c.Denied {
		t.addProblem(Warn, codeUnreadable, c.Path, "the record of worker %s %s", name, c.Node.unreadReason(err))
	}
	if id, err := jobformat.ParseID(c.name); err == nil {
		j.Workers, j.Unknown = append(j.Workers, Worker{Path: c.Path, ID: id, Name: name, State: Unknown}), j.Unknown+1
	}
}

// summary describes the state of the job.
func (j *JobState) summary() string {
	out := j.State
	if j.Size == 0 {
		return out
	}
	if out += ": "; j.State == jobformat.Running {
		out = ""
	}
	out += fmt.Sprintf("%d of %d running", j.Running, j.Size)
	for _, part := range []struct {
		n    int
		what string
	}{{j.Dead, jobformat.Dead}, {j.Failed, jobformat.Failed}, {j.Left, jobformat.Left}, {j.Unknown, Unknown}, {j.Missing, "missing"}} {
		if part.n > 0 {
			out += fmt.Sprintf(", %d %s", part.n, part.what)
		}
	}
	return out
}
