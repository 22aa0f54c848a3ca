package sim

import (
	"runtime"
	"testing"
	"time"

	"github.com/zkrecipes/zkrecipes/internal/seeds"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// Options of Run and Explore; nil and the zero value mean the defaults.
type Options struct {
	// Server are the options of the servers; InMemory is set. Default: an ensemble of three.
	Server *zktest.Options
	// Seeds is the number of runs; default 20. ZKTEST_SEEDS in the environment asks for
	// more, and ZKTEST_SEED for the run of one seed.
	Seeds int
	// Faults is the set of schedules; see Space for its defaults. Processes and Servers are
	// set.
	Faults Space
	// Calm is the time without faults at the end of each run; default 1 minute.
	Calm time.Duration
	// Schedule is used in place of drawn ones, if it is not nil; an empty one is a run
	// without faults. The seed still decides the rest: delays of links, starts, Rand.
	Schedule Schedule
	// Shrink is the largest number of runs in which the schedule of a failure is shortened;
	// default 300. A negative number leaves the schedule as it is.
	Shrink int
}

func (o *Options) calm() time.Duration {
	if o.Calm > 0 {
		return o.Calm
	}
	return time.Minute
}

// Run makes runs of a system, each with the schedule of another seed, and fails t with a
// report at the first run that fails: with the shortest schedule that still fails, a time
// line, and the command that repeats it.
//
// body describes the system, once for each run: it calls World.Start for each program,
// and World.Require for the conditions. It must make everything that the programs share,
// such as the database of the test, so that each run has its own. It runs in a
// testing/synctest bubble, before the processes start and without faults.
func Run(t *testing.T, o *Options, body func(w *World)) {
	t.Helper()
	if f := Explore(t, o, body); f != nil {
		t.Fatal(f.Report())
	}
}

// Explore is Run, and returns the failure, or nil if no run fails; for tests of tests, such
// as that a mistake which was put into a program is found.
func Explore(t *testing.T, o *Options, body func(w *World)) *Failure {
	t.Helper()
	var opt Options
	if o != nil {
		opt = *o
	}
	setDefault(&opt.Seeds, 20)
	setDefault(&opt.Shrink, 300)
	list, err := seeds.List(seeds.Count(opt.Seeds))
	if err != nil {
		t.Fatalf("sim: %v", err)
	}
	// Each connection takes megabytes for its buffers, and the rest of the heap is small: the
	// garbage collector would run at every connection. Memory that is never written costs
	// nothing.
	ballast := make([]byte, 64<<20)
	defer runtime.KeepAlive(ballast)
	var given *Schedule
	if opt.Schedule != nil {
		given = &opt.Schedule
	}
	for i, seed := range list {
		res := opt.perform(t, body, seed, given)
		if res.problem == nil {
			continue
		}
		s := shrinker{
			most: opt.Shrink, name: res.problem.name,
			perform: func(schedule Schedule) result { return opt.perform(t, body, seed, &schedule) },
		}
		return s.shrink(&Failure{
			Seed: seed, Tried: i + 1, Schedule: res.schedule, Shortest: res.schedule,
			Invariant: res.problem.name, Err: res.problem.err, History: res.history, test: t.Name(),
		})
	}
	return nil
}
