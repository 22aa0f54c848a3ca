package democmd

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/zkrecipes/zkrecipes/zktest"
)

// measure is a duration that the demonstration measures.
type measure int

const (
	killToGrant measure = iota // from a holder's death to the next grant
	wakeToTold                 // from a frozen holder's waking to its knowing
	handOver                   // from a release to the next grant
)

// judge checks the lock's promises from two sides: the transactions that the
// server applied, in order, and the beliefs of the workers, by their clocks.
type judge struct {
	// mu guards what follows. queue holds the present contenders in their order:
	// by the server, the first contender holds the lock.
	mu       sync.Mutex
	queue    []entry
	granted  map[int64]bool // tokens that were first in the queue
	writes   int
	strays   []string // applied writes of workers without the lock
	events   []Event
	measured map[measure]time.Duration
	ended    int // ended sessions of contenders that were not told to end
}

// entry is a contender as the server sees it.
type entry struct {
	path    string
	seq     string
	session int64
	token   int64
}

func newJudge() *judge {
	return &judge{granted: map[int64]bool{}, measured: map[measure]time.Duration{}}
}

// queued is how many contenders there are.
func (j *judge) queued() int {
	j.mu.Lock()
	defer j.mu.Unlock()
	return len(j.queue)
}

// applied is told of every change at the server, in order.
func (j *judge) applied(t zktest.Txn) {
	if t.Code != 0 {
		return
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if t.Op == "closeSession" { // also by expiry; the transaction names no paths
		before := len(j.queue)
		j.queue = slices.DeleteFunc(j.queue, func(e entry) bool { return e.session == t.Session })
		if len(j.queue) < before {
			j.ended++
		}
	}
	for _, path := range t.Paths {
		switch contends := strings.HasPrefix(path, demoLock+"/"); {
		case path == demoValue && t.Session != 0:
			j.writes++
			if len(j.queue) == 0 || j.queue[0].session != t.Session {
				j.strays = append(j.strays, fmt.Sprintf("session %#x wrote at zxid %d", t.Session, t.Zxid))
			}
		case contends && strings.HasPrefix(t.Op, "create"):
			j.queue = append(j.queue, entry{path, path[max(0, len(path)-10):], t.Session, t.Zxid})
			slices.SortFunc(j.queue, func(a, b entry) int { return cmp.Compare(a.seq, b.seq) })
		case contends && t.Op != "multi": // the multi only checks the znode, as guard or heartbeat
			j.queue = slices.DeleteFunc(j.queue, func(e entry) bool { return e.path == path })
		}
	}
	if len(j.queue) > 0 {
		j.granted[j.queue[0].token] = true
	}
}

// reported receives every event of the workers.
func (j *judge) reported(e Event) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.events = append(j.events, e)
}

// disturbed reports whether more sessions have ended than were taken from
// killed and frozen workers.
func (j *judge) disturbed() bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	taken := 0
	for _, e := range j.events {
		if e.Event == "killed" || e.Event == "frozen" {
			taken++
		}
	}
	return j.ended > taken
}

func (j *judge) took(what measure, d time.Duration) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.measured[what] = max(d, j.measured[what])
}

// Verdict is the result of the demonstration: the last line of "-o json".
type Verdict struct {
	Event       string   `json:"event"`  // summary
	Rounds      int      `json:"rounds"` // shown to their end
	Holders     []holder `json:"holders"`
	TokensGrow  bool     `json:"tokens_grow"`
	Overlaps    int      `json:"overlaps"`
	Writes      int      `json:"writes"`
	Strays      int      `json:"strays"` // writes by a worker without the lock
	Refused     int      `json:"refused"`
	Losses      int      `json:"losses"`
	KillToGrant float64  `json:"kill_to_grant_s"`
	WakeToTold  float64  `json:"wake_to_told_s"`
	HandOver    float64  `json:"hand_over_s"`
	Wrong       []string `json:"wrong"`
	OK          bool     `json:"ok"`
}

type holder struct {
	Worker string `json:"worker"`
	Token  int64  `json:"token,string"`
}

// judgeEvents judges the events so far.
func (j *judge) judgeEvents() Verdict {
	j.mu.Lock()
	defer j.mu.Unlock()
	v := Verdict{
		Event: "summary", TokensGrow: true, Writes: j.writes, Strays: len(j.strays), Wrong: []string{},
		KillToGrant: j.measured[killToGrant].Seconds(), WakeToTold: j.measured[wakeToTold].Seconds(),
		HandOver: j.measured[handOver].Seconds(),
	}
	v.Wrong = append(v.Wrong, j.strays...)
	v.Overlaps = len(j.strays)
	events := slices.Clone(j.events)
	slices.SortStableFunc(events, func(a, b Event) int { return a.At.Compare(b.At) })
	believes := map[string]bool{} // workers that believe that they hold the lock
	frozen := map[string]bool{}
	for _, e := range events {
		switch e.Event {
		case "holds":
			for other := range believes {
				if other != e.Worker && !frozen[other] {
					v.Overlaps++
					v.Wrong = append(v.Wrong, fmt.Sprintf("%s got the lock while %s ran and believed that it held the lock", e.Worker, other))
				}
			}
			if n := len(v.Holders); n > 0 && v.Holders[n-1].Token >= e.Token {
				v.TokensGrow = false
				v.Wrong = append(v.Wrong, fmt.Sprintf("token %d of %s does not exceed the one before, %d", e.Token, e.Worker, v.Holders[n-1].Token))
			}
			if !j.granted[e.Token] {
				v.Wrong = append(v.Wrong, fmt.Sprintf("%s claims token %d, which the server has not granted", e.Worker, e.Token))
			}
			v.Holders = append(v.Holders, holder{e.Worker, e.Token})
			believes[e.Worker] = true
		case "releases", "killed":
			delete(believes, e.Worker)
		case "lost":
			v.Losses++
			delete(believes, e.Worker)
		case "refused":
			v.Refused++
		case "frozen":
			frozen[e.Worker] = true
		case "woken":
			delete(frozen, e.Worker)
		}
	}
	if v.Refused != v.Losses {
		v.Wrong = append(v.Wrong, fmt.Sprintf("%d holders were told that they had lost the lock, and %d late writes were refused", v.Losses, v.Refused))
	}
	v.OK = len(v.Wrong) == 0
	return v
}
