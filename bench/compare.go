package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/zkrecipes/zkrecipes/bench/internal/task"
	"github.com/zkrecipes/zkrecipes/session"
)

// patience bounds the additional time of a run, for connecting and closing
// clients and for loading.
const patience = time.Minute

// compare is the program.
func compare(ctx context.Context, args []string) (err error) {
	s, err := parse(args, os.Stderr)
	if err != nil {
		return err
	}
	all := chosen(workloads(), s.only, s.peers)
	if len(all) == 0 {
		return errors.New("-only, -peers: no workload matches")
	}
	lines := io.Writer(os.Stdout)
	if s.file != "" {
		file, err := os.Create(s.file)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, file.Close()) }()
		lines = io.MultiWriter(lines, file)
	}
	dir, err := os.MkdirTemp("", "bench-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	return onServers(ctx, s.servers, started{number: 1, tick: 2 * time.Second}, s.timeout, func(servers string, z znodes) error {
		s.servers = servers
		fmt.Fprintf(os.Stderr, "%s, %d processors, load average %s\n", runtime.Version(), runtime.NumCPU(), load())
		encoder := json.NewEncoder(lines)
		for _, p := range s.profiles {
			c := &contest{settings: s, profile: p, znodes: z, root: "/bench-" + session.NewID(),
				lines: encoder, running: map[string]*process{}}
			if err := c.run(ctx, filepath.Join(dir, p.name), all); err != nil {
				return err
			}
		}
		return nil
	})
}

// contest runs workloads with peers, in one profile.
type contest struct {
	settings
	profile profile
	trip    time.Duration       // the round trip as measured
	how     map[string][]string // to start each peer
	znodes  znodes
	root    string // parent of all paths
	lines   *json.Encoder

	runs    int
	figures []figure
	running map[string]*process
}

func (c *contest) run(ctx context.Context, dir string, all []workload) (err error) {
	net, err := c.profile.connect(c.servers)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, net.close()) }()
	if c.trip, err = net.roundTrip(ctx, c.timeout); err != nil {
		return err
	}
	if c.how, err = commands(ctx, c.peers, dir, net.servers, c.timeout); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.znodes.cleanUp(ctx, c.root)) }()
	defer c.endAll(ctx)
	if err := c.znodes.createTree(ctx, c.root, 0); err != nil {
		return err
	}
	failed := 0
	for _, w := range all {
		for round := range c.rounds + 1 {
			if round == 0 && !w.rehearse {
				continue
			}
			for _, peer := range w.peers {
				f := c.runOnce(ctx, w, peer, round)
				if ctx.Err() != nil {
					return context.Cause(ctx)
				}
				if round == 0 && f.Error == "" {
					continue
				}
				if f.Error != "" {
					failed++
				}
				c.figures = append(c.figures, f)
				if err := c.lines.Encode(f); err != nil {
					return err
				}
			}
		}
	}
	return errors.Join(c.report(all), failures(failed))
}

func failures(n int) error {
	if n == 0 {
		return nil
	}
	return fmt.Errorf("%d runs failed", n)
}

// report writes the table and the list of peers.
func (c *contest) report(all []workload) error {
	fmt.Printf("\nProfile %s, a round trip of %v:\n\n", c.profile.name, c.trip.Round(time.Microsecond))
	if err := write(os.Stdout, c.peers, rows(c.profile, all, c.figures)); err != nil {
		return err
	}
	if err := writeCosts(os.Stdout, costs(all, c.figures)); err != nil {
		return err
	}
	var versions []string
	for _, peer := range c.peers {
		if p := c.running[peer]; p != nil {
			versions = append(versions, p.version)
		}
	}
	_, err := fmt.Printf("\n%s; %s, %d processors; %d rounds of %v after %v; load average at the end %s\n",
		strings.Join(versions, ", "), runtime.Version(), runtime.NumCPU(), c.rounds, c.time, c.warm, load())
	return err
}

// load is the load average of the last minutes, where the system tells.
func load() string {
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "unknown"
	}
	return strings.Join(strings.Fields(string(text))[:3], " ")
}

// runOnce is a run of a workload. A failed peer is started again for the next run.
func (c *contest) runOnce(ctx context.Context, w workload, peer string, round int) figure {
	f := figure{Profile: c.profile.name, Workload: w.name, Peer: peer, Round: round, Unit: w.unit}
	answer, err := c.measure(ctx, w, peer)
	if err != nil {
		f.Error = err.Error()
		fmt.Fprintf(os.Stderr, "%s: %s: %v\n", w.name, peer, err)
	}
	f.Value, f.Cost = answer.Value, answer.Cost
	return f
}

// measure runs a workload on a path of its own, and cleans up.
func (c *contest) measure(ctx context.Context, w workload, peer string) (answer task.Answer, err error) {
	limit, cancel := context.WithTimeoutCause(ctx, c.warm+c.time+patience, errors.New("it takes too long"))
	defer cancel()
	if c.running[peer] == nil {
		start := c.how[peer]
		p, err := launch(limit, exec.Command(start[0], start[1:]...))
		if err != nil {
			return answer, fmt.Errorf("start: %w", err)
		}
		c.running[peer] = p
	}
	c.runs++
	t := w.task
	t.Path, t.WarmMS, t.TimeMS = fmt.Sprintf("%s/%d", c.root, c.runs), c.warm.Milliseconds(), c.time.Milliseconds()
	if w.exists {
		if err := c.znodes.createTree(limit, t.Path, w.initialChildren()); err != nil {
			return answer, fmt.Errorf("prepare: %w", err)
		}
	}
	answer, err = c.running[peer].runTask(limit, t, w.writer(c.znodes, t.Path))
	if err != nil {
		c.running[peer].kill() // before removing znodes still in use
		delete(c.running, peer)
	}
	return answer, errors.Join(err, c.znodes.cleanUp(ctx, t.Path))
}

// endAll ends all peers.
func (c *contest) endAll(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	for _, p := range c.running {
		p.end(ctx)
	}
}
