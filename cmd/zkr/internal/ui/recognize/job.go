package recognize

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// JobState is how a job of workerctl stands (docs/workerctl.md).
type JobState struct {
	ID       string            `json:"id"`
	Name     string            `json:"name"`
	State    string            `json:"state"`
	Created  time.Time         `json:"created"`
	ReuseIDs bool              `json:"reuse_ids,omitempty"`
	Metadata map[string]string `json:"metadata,omitempty"`
	// Size is how many workers the job wants; Missing have never come.
	Size    int `json:"size"`
	Running int `json:"running"`
	Left    int `json:"left"`
	Failed  int `json:"failed"`
	Missing int `json:"missing"`
	// Unknown may run, have left or have failed: it cannot be read.
	Unknown int `json:"unknown,omitempty"`
	// Workers by their ids, without those that are missing.
	Workers []Worker `json:"workers"`
	// Phases are over.
	Phases []string `json:"phases,omitempty"`
}

// Worker is one of a job's.
type Worker struct {
	Path        string    `json:"path"`
	ID          int       `json:"id"`
	Name        string    `json:"name"`
	State       string    `json:"state"` // running, left, failed, unknown
	Incarnation int64     `json:"incarnation"`
	Addresses   []string  `json:"addresses,omitempty"`
	Node        string    `json:"node,omitempty"`
	Session     SessionID `json:"session,omitempty"`
	Since       time.Time `json:"since,omitzero"`
	// Live is the path of its ephemeral node; Token that one's czxid.
	Live  string `json:"live,omitempty"`
	Token int64  `json:"token,omitempty"`
}

type jobRecord struct {
	Format   int               `json:"format"`
	ID       string            `json:"id"`
	Name     string            `json:"name"`
	ReuseIDs bool              `json:"reuseIDs"`
	Metadata map[string]string `json:"metadata"`
	Created  time.Time         `json:"created"`
}

type jobStatus struct {
	State   string `json:"state"`
	Workers int    `json:"workers"`
	Next    int    `json:"next"`
	Left    int    `json:"left"`
}

type workerRecord struct {
	ID          int      `json:"id"`
	Name        string   `json:"name"`
	Incarnation int64    `json:"incarnation"`
	Claim       string   `json:"claim"`
	Left        bool     `json:"left"`
	Addresses   []string `json:"addresses"`
	Node        string   `json:"node"`
}

// job tells a job: by its record, and the run that is named after its id.
func job(l *looker, s *spot) *Thing {
	r, ok := read[jobRecord](s.Node)
	id := strings.ReplaceAll(r.ID, "-", "")
	if !ok || r.Format != 1 || len(id) != 32 || r.Created.IsZero() {
		return nil
	}
	run := s.child(id[:16])
	if run == nil {
		return nil
	}
	t := &Thing{Kind: Job, Path: s.Path, How: "a record with the id of its run: workerctl", Job: &JobState{
		ID: Text([]byte(r.ID), idWidth), Name: Text([]byte(r.Name), idWidth), Created: r.Created, ReuseIDs: r.ReuseIDs, Metadata: map[string]string{},
	}}
	for key, value := range r.Metadata {
		t.Job.Metadata[Text([]byte(key), idWidth)] = Text([]byte(value), idWidth)
	}
	t.Job.status(t, run)
	s.claim(t)
	if barriers := run.child("barriers"); barriers != nil {
		for _, b := range barriers.children {
			b.part = t.Path
			for _, p := range b.children {
				p.claimed = nil
			}
			b.claimed = nil
		}
	}
	t.Job.workers(l, t, run)
	if phases := run.child("phases"); phases != nil {
		for _, p := range phases.children[:min(len(phases.children), Shown)] {
			t.Job.Phases = append(t.Job.Phases, Text([]byte(p.name), idWidth))
		}
	}
	t.State = t.Job.summary()
	return t
}

// status reads how the job stands.
func (j *JobState) status(t *Thing, run *spot) {
	state := run.child("state")
	var st jobStatus
	ok := false
	if state != nil {
		st, ok = read[jobStatus](state.Node)
	}
	switch {
	case state == nil:
		j.State = "being removed"
	case state.Denied:
		j.State = "not readable"
	case !ok || st.Workers < 1 || st.Workers > 1<<24 || st.Next < 0 || st.Next > st.Workers:
		j.State = "not readable"
		t.problem(Bad, state.Path, "the job's state %s", state.unread())
	default:
		j.State, j.Size, j.Missing = Text([]byte(st.State), idWidth), st.Workers, st.Workers-st.Next
	}
}

// workers reads who has joined.
func (j *JobState) workers(l *looker, t *Thing, run *spot) {
	lives := map[string]*spot{}
	live := run.child("live")
	if live != nil {
		for _, c := range live.children {
			// "<id>-<incarnation>-<claim>"
			if at := strings.LastIndexByte(c.name, '-'); at > 0 {
				lives[c.name[:at]] = c
			}
		}
	}
	members := run.child("members")
	if members == nil {
		return
	}
	waits := j.State == "submitted" || j.State == "running"
	for _, c := range members.children {
		r, ok := read[workerRecord](c.Node)
		if !ok || strconv.Itoa(r.ID) != c.name {
			j.unread(t, c)
			continue
		}
		w := Worker{Path: c.Path, ID: r.ID, Name: Text([]byte(r.Name), idWidth), Incarnation: r.Incarnation, Node: Text([]byte(r.Node), idWidth), Since: c.Modified()}
		for _, a := range r.Addresses[:min(len(r.Addresses), 4)] {
			w.Addresses = append(w.Addresses, Text([]byte(a), idWidth))
		}
		here := lives[fmt.Sprintf("%d-%d", r.ID, r.Incarnation)]
		switch {
		case r.Left:
			w.State, j.Left = "left", j.Left+1
		case here != nil:
			w.State, j.Running = "running", j.Running+1
			w.Live, w.Session, w.Since, w.Token = here.Path, SessionID(here.Stat.EphemeralOwner), here.Created(), here.Stat.Czxid
		case live != nil && live.Denied:
			w.State, j.Unknown = "unknown", j.Unknown+1
		default:
			w.State, j.Failed = "failed", j.Failed+1
			// Who has just joined may have been read before its live node was.
			if waits && !l.fresh(c.Modified(), settling) {
				t.problem(Warn, c.Path, "worker %d (%s) has died; the job waits for it to come back", w.ID, w.Name)
			}
		}
		j.Workers = append(j.Workers, w)
	}
	slices.SortFunc(j.Workers, func(a, b Worker) int { return cmp.Compare(a.ID, b.ID) })
}

// unread is a worker of whom nobody knows more than that it has come.
func (j *JobState) unread(t *Thing, c *spot) {
	name := Text([]byte(c.name), idWidth)
	if !c.Denied {
		t.problem(Warn, c.Path, "the record of worker %s %s", name, c.Node.unread())
	}
	if id, err := strconv.Atoi(c.name); err == nil && strconv.Itoa(id) == c.name {
		j.Workers, j.Unknown = append(j.Workers, Worker{Path: c.Path, ID: id, Name: name, State: "unknown"}), j.Unknown+1
	}
}

// summary says how the job stands.
func (j *JobState) summary() string {
	out := j.State
	if j.Size == 0 {
		return out
	}
	if out += ": "; j.State == "running" {
		out = ""
	}
	out += fmt.Sprintf("%d of %d running", j.Running, j.Size)
	for _, part := range []struct {
		n    int
		what string
	}{{j.Failed, "failed"}, {j.Left, "left"}, {j.Unknown, "unknown"}, {j.Missing, "missing"}} {
		if part.n > 0 {
			out += fmt.Sprintf(", %d %s", part.n, part.what)
		}
	}
	return out
}
