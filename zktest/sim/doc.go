// Package sim runs a service of several processes in virtual time against servers in the
// same process, under faults that a seed decides, and checks what it promises.
//
// # What it is
//
// A test describes a system: its programs, which run as goroutines in a testing/synctest
// bubble, and its invariants. Run makes runs of the system, each with a schedule of faults
// that is drawn from the number of the run, the seed. The first run that breaks an
// invariant is shortened to the faults that it needs, and reported with a time line.
// docs/testing.md is a tutorial.
//
//	sim.Run(t, nil, func(w *sim.World) {
//		w.Start(sim.Program{Name: "job", Copies: 3, Run: job})
//		w.Require(sim.OneAtATime("job"), sim.ServedWithin("job", time.Minute))
//	})
//
// # Processes
//
// A process is one call of a program, with a client and with links to the servers of its
// own. The program marks what matters: Process.Enter and its leave, what the process is
// inside; Process.Do, an effect on something outside of ZooKeeper; Process.Call, an
// operation with a result. Invariants see these marks only.
//
// Kill is complete as far as the servers see it: the connections break, no goodbye is said,
// no connection is made any more. The goroutines of the program get the end of their
// context; nothing that they mark afterwards counts. Changes of memory that a goroutine shares with
// other processes do count, so effects belong into Process.Do.
//
// Freeze is as complete as goroutines allow. Nothing gets to the process or from it, and
// each method of Process stands still, so that an effect whose checks are done is carried
// out when the process goes on: too late. The other goroutines of the process, and those of
// its client, go on; so the client finds out by its clock that the hold is lost, as that
// of a real process does at the moment in which it goes on. A freeze between two
// instructions of the program can be had nowhere but at a call of a method of Process.
//
// # What a process cannot know
//
// A frozen process does not know what time it is, and a process whose session ended early
// (Expire, Empty) does not know until a server tells it. OneAtATime and the entries of
// TokensGrow leave these times out, since no program does better. Effects are never left
// out: it is the receiver that can refuse them, by the fencing token.
//
// # Seeds
//
// A seed decides the schedule, the delays of all links, the starts of the processes, their
// Process.Rand, and the random choices of sessions (pauses, order of servers). It does not
// decide the order of goroutines that can run at the same instant. Measured with three
// processes and a lock, over 120 repetitions: with GOMAXPROCS=1 all went the same way,
// event by event; with two processors 5 % had an event some milliseconds earlier or later.
// The report names GOMAXPROCS=1, shrinking tries each schedule twice, and
// Failure.Confirmed tells how many of five repetitions failed. Random choices of the
// program other than by Process.Rand, and of the recipes counter and stm under contention,
// are not decided by the seed.
//
// # Limits
//
// The servers are a model; see package zktest. There are no faults of disks, no wrong
// clocks, no corrupted data. Programs share one memory and one clock. They must not use real
// sockets, files that block, or goroutines from outside of the bubble.
//
// # Failures
//
// A program that does not return within 10 minutes of virtual time after the end of its
// context is a failure of the run; if it never returns, the test process ends with a
// panic of testing/synctest, after a line with the seed. A panic of the goroutine that
// calls Program.Run is a failure of the run; a panic of another goroutine ends the test
// process.
//
// # Concurrency
//
// Run calls its function for one world at a time. The methods of Process may be called from
// all goroutines of the program; those of World but Fail belong into the function given to
// Run, and Client also into the checks given to Finally.
package sim
