package sim

import (
	"math/rand/v2"
	"slices"
	"time"

	"github.com/zkrecipes/zkrecipes/zktest"
)

// Space is the set of schedules that Draw draws from.
type Space struct {
	// Processes are the processes, or the clients by their names in
	// zktest.Server.Client. Without any, only servers have faults.
	Processes []string
	// Servers is the number of servers.
	Servers int
	// Kinds are the kinds of faults; nil means DefaultKinds. A kind that stands in the list
	// twice is drawn twice as often. Kinds that need a process or an ensemble are left out
	// if it does not exist.
	Kinds []Kind
	// Span is the time in which faults begin; default 1 minute.
	Span time.Duration
	// Pause is the longest time between the beginnings of two faults; default 10 s.
	Pause time.Duration
	// Longest is the longest duration of a fault; default 20 s. Half of the faults last at
	// most 3 s, which a session survives, except Freeze.
	Longest time.Duration
}

// short is the longest duration of half of the faults.
const short = 3 * time.Second

func (s Space) withDefaults() Space {
	setDefault(&s.Span, time.Minute)
	setDefault(&s.Pause, 10*time.Second)
	setDefault(&s.Longest, 20*time.Second)
	setDefault(&s.Servers, 1)
	if s.Kinds == nil {
		s.Kinds = DefaultKinds()
	}
	s.Kinds = slices.DeleteFunc(slices.Clone(s.Kinds), func(k Kind) bool {
		return k.ofProcess() && len(s.Processes) == 0 || k.ofEnsemble() && s.Servers == 1
	})
	return s
}

func setDefault[T comparable](v *T, d T) {
	var zero T
	if *v == zero {
		*v = d
	}
}

// Draw draws a schedule. Two generators with the same seed draw the same. All times are
// whole milliseconds.
func (s Space) Draw(r *rand.Rand) Schedule {
	s = s.withDefaults()
	var out Schedule
	for at := s.pick(r, s.Pause); at < s.Span && len(s.Kinds) > 0; at += s.pick(r, s.Pause) {
		out = append(out, s.drawFault(r, at))
	}
	return out
}

// pick is a time of at most most, and at least a millisecond.
func (s Space) pick(r *rand.Rand, most time.Duration) time.Duration {
	return time.Duration(1+r.Int64N(max(1, int64(most/time.Millisecond)))) * time.Millisecond
}

func (s Space) drawFault(r *rand.Rand, at time.Duration) Fault {
	f := Fault{At: at, Kind: s.Kinds[r.IntN(len(s.Kinds))]}
	if !f.Kind.instant() {
		f.For = s.pick(r, min(short, s.Longest))
		if r.IntN(2) == 0 || f.Kind == Freeze {
			f.For = s.pick(r, s.Longest)
		}
	}
	if f.Kind.ofProcess() {
		f.Process = s.Processes[r.IntN(len(s.Processes))]
	}
	if f.Kind.ofServer() {
		f.Server = 1 + r.IntN(s.Servers)
	}
	if f.Kind == CutServers {
		f.Other = 1 + (f.Server+r.IntN(s.Servers-1))%s.Servers
	}
	if f.Kind.directed() {
		f.Direction = []zktest.Direction{zktest.Both, zktest.ToServer, zktest.ToClient}[r.IntN(3)]
	}
	if f.Kind == Delay {
		f.By = s.pick(r, short)
	}
	if _, strikes := f.Kind.onRequest(); strikes || f.Kind == Freeze && r.IntN(4) > 0 {
		f.Nth = 1 + r.IntN(4)
	}
	return f
}
