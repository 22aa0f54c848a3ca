package statuscmd

import (
	"time"

	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/doctor"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/ui"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/ui/recognize"
)

// summary is the output in JSON. Lists are never null.
type summary struct {
	Root string    `json:"root"`
	At   time.Time `json:"at"`
	// Stale: ZooKeeper does not answer, and everything is as it was at At.
	Stale bool `json:"stale"`
	// ReadOnly is the server without a quorum that answers instead, "" for none.
	ReadOnly string `json:"read_only"`
	// Problems: the worst first.
	Problems []problem `json:"problems"`
	// Findings are what the servers' own words show, as zkr doctor has them; empty over TLS,
	// where the servers are not asked.
	Findings []doctor.Finding `json:"findings"`
	// Waits: locks and semaphores that clients wait for, the longest wait first.
	Waits []wait `json:"waits"`
	// Leaders: elections by their paths.
	Leaders []leader `json:"leaders"`
	// Work: jobs, rebalancers, task queues and queues of other libraries by their paths.
	Work []work `json:"work"`
	// Groups: services and groups of members by their paths.
	Groups []work `json:"groups"`
	// Things counts by kind what was recognized.
	Things map[recognize.Kind]int `json:"things"`
	// Sessions are those with ephemeral znodes.
	Sessions int `json:"sessions"`
	Znodes   int `json:"znodes"`
	Denied   int `json:"not_readable"`
}

type problem struct {
	Level recognize.Level `json:"level"`
	Code  recognize.Code  `json:"code"`
	Text  string          `json:"text"`
	Path  string          `json:"path"`
	Kind  recognize.Kind  `json:"kind"`
	// Thing is the path of the lock, election or the like.
	Thing string `json:"thing"`
}

type wait struct {
	Path    string         `json:"path"`
	Kind    recognize.Kind `json:"kind"`
	Waiting int            `json:"waiting"`
	// First is the client that waits longest, Since is when it queued up.
	First   string    `json:"first"`
	Since   time.Time `json:"since"`
	Holders []string  `json:"holders"`
}

type leader struct {
	Path string `json:"path"`
	// Leader is "" while there is no leader.
	Leader string `json:"leader"`
	// Entered is when the leader became a candidate.
	Entered time.Time `json:"entered,omitzero"`
	Standby int       `json:"standby"`
}

type work struct {
	Path  string         `json:"path"`
	Kind  recognize.Kind `json:"kind"`
	State string         `json:"state"`
}

func summarize(v *ui.View) *summary {
	s := &summary{
		Root: v.Root, At: v.At, Stale: v.Health.Stale, ReadOnly: v.Health.ReadOnly,
		Problems: []problem{}, Waits: []wait{}, Leaders: []leader{}, Work: []work{}, Groups: []work{}, Findings: []doctor.Finding{}, Things: map[recognize.Kind]int{},
		Sessions: len(v.Sessions), Znodes: v.Nodes, Denied: len(v.Denied),
	}
	for _, t := range v.Troubles() {
		s.Problems = append(s.Problems, problem{t.Level, t.Code, t.Text, t.Path, t.Thing.Kind, t.Thing.Path})
	}
	for _, w := range v.Waits() {
		s.Waits = append(s.Waits, wait{w.Thing.Path, w.Thing.Kind, w.Waiting, w.First.Name(), w.Since, names(w.Thing.Holders())})
	}
	for _, t := range v.Kinds(recognize.Election) {
		l := leader{Path: t.Path, Standby: t.Waiting()}
		for _, c := range t.Holders() {
			l.Leader, l.Entered = c.Name(), c.Entered
		}
		s.Leaders = append(s.Leaders, l)
	}
	for _, t := range v.Kinds(recognize.Job, recognize.Rebalancer, recognize.Tasks, recognize.Queue) {
		s.Work = append(s.Work, work{t.Path, t.Kind, t.State})
	}
	for _, t := range v.Kinds(recognize.Service, recognize.Group) {
		s.Groups = append(s.Groups, work{t.Path, t.Kind, t.State})
	}
	s.Findings = append(s.Findings, v.Audit.Findings...)
	for _, t := range v.Things {
		s.Things[t.Kind]++
	}
	return s
}

func names(holders []*recognize.Contender) []string {
	out := []string{}
	for _, c := range holders {
		out = append(out, c.Name())
	}
	return out
}

// serious is how many problems and findings are more than hints.
func (s *summary) serious() (n int) {
	for _, p := range s.Problems {
		if p.Level.IsSerious() {
			n++
		}
	}
	return n + len(s.seriousFindings())
}

// seriousFindings are the findings about servers that are more than hints.
func (s *summary) seriousFindings() (out []doctor.Finding) {
	for _, f := range s.Findings {
		if f.Level.IsSerious() {
			out = append(out, f)
		}
	}
	return out
}
