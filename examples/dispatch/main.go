// Command dispatch shows what happens to tasks when clients, workers and masters die. It
// runs the scenarios of a course on ZooKeeper, and prints each as a timeline of the events
// of each process.
//
//	go run ./examples/dispatch                       # needs nothing; ends by itself, after some 8 s
//	go run ./examples/dispatch -servers zk1:2181     # the same, on your servers
//	go run ./examples/dispatch -scenario c1w2m1
//
// The name of a scenario has the numbers of clients, workers and masters, each a
// process of its own. A client submits 20 tasks, one a second, of 3 seconds of work
// each, and collects the results. A worker does one task at a time while its other
// tasks wait. A second takes 100 ms here; -second changes that.
//
//	c1w1m1       the client is killed, and another one comes; then the only worker is
//	             killed: its tasks wait until another one comes
//	c1w2m1       one of two workers is killed when it has four tasks: the other one gets them
//	c2w2m1       no process is killed: the workers are given the same number of tasks
//	c2w2m2       the master that leads is killed: the other one takes over
//	c2w2m2-lags  it is not killed but frozen, for longer than its session lasts, and thawed
//	             when the other one leads
//
// All scenarios run at the same time, each on a queue of its own. A bystander watches
// the queue. At the end a judge decides, from the events that the bystander has seen,
// whether each task has ended exactly once, whether only tasks of killed workers were
// reassigned, and whether anything is left in ZooKeeper.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"time"
)

// settings are the values of the flags.
type settings struct {
	servers  string // "" in the director: a server in this process
	path     string // of the queue; in the director, of the folder of all queues
	second   time.Duration
	scenario string        // "": all
	mortal   time.Duration // session timeout of the processes that are going to be killed

	// Of a role:
	role, name string
	session    time.Duration // 0: the default
	tasks      int
	retention  time.Duration
}

func main() {
	var c settings
	flag.StringVar(&c.servers, "servers", "", "ZooKeeper's servers; default: one in this process")
	flag.StringVar(&c.path, "path", "/dispatch", "path in ZooKeeper, which must not exist")
	flag.DurationVar(&c.second, "second", 100*time.Millisecond, "how long a second takes")
	flag.StringVar(&c.scenario, "scenario", "", "one of "+strings.Join(names(), ", ")+"; default: all")
	flag.StringVar(&c.role, "role", "", "be a client, a worker or a master, and nothing else")
	flag.StringVar(&c.name, "name", "", "name of the role")
	flag.DurationVar(&c.session, "session", 0, "session timeout of the role; default: 10s, or the nearest that the servers grant")
	flag.IntVar(&c.tasks, "tasks", 20, "how many tasks the client submits")
	flag.DurationVar(&c.retention, "retention", time.Hour, "how long the client's tasks are kept when they have ended")
	flag.Parse()
	if flag.NArg() > 0 {
		fmt.Fprintf(os.Stderr, "dispatch: unexpected argument %q\n", flag.Arg(0))
		os.Exit(2) // as for a flag that there is not
	}
	c.mortal = 2 * time.Second
	if c.servers != "" {
		c.mortal *= 2 // the least that most servers grant
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := c.roleFunc()(ctx, c, os.Stdout)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "dispatch:", err)
		os.Exit(1)
	}
}

// roleFunc returns the main function of the role of this process.
func (c settings) roleFunc() func(context.Context, settings, io.Writer) error {
	switch c.role {
	case "":
		return runScenarios
	case "client":
		return runClient
	case "worker":
		return runWorker
	case "master":
		return runMaster
	}
	return func(context.Context, settings, io.Writer) error {
		return fmt.Errorf("-role is %q; it must be client, worker or master", c.role)
	}
}

// names are those of the scenarios.
func names() (out []string) {
	for _, s := range scenarios() {
		out = append(out, s.name)
	}
	return out
}

// selectedScenarios returns the scenarios to run.
func (c settings) selectedScenarios() ([]scenario, error) {
	all := scenarios()
	if c.scenario == "" {
		return all, nil
	}
	var out []scenario
	for name := range strings.SplitSeq(c.scenario, ",") {
		i := slices.Index(names(), name)
		if i < 0 {
			return nil, fmt.Errorf("-scenario is %q; it must be one of %s", name, strings.Join(names(), ", "))
		}
		out = append(out, all[i])
	}
	return out, nil
}
