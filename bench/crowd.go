package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/zkrecipes/zkrecipes/bench/internal/crowd"
)

// roleCrowd as first argument measures many clients that do the same at once.
const roleCrowd = "crowd"

// crowdSettings are the settings of its command line.
type crowdSettings struct {
	counts        []int
	tasks         []string
	timeout, tick time.Duration
	shared        bool
	servers       string
}

func parseCrowd(args []string, out io.Writer) (s crowdSettings, err error) {
	flags := flag.NewFlagSet("bench crowd", flag.ContinueOnError)
	flags.SetOutput(out)
	counts := flags.String("n", "1000,2000,4000", "numbers of clients, each with a session of its own")
	names := flags.String("what", strings.Join(crowd.Tasks(), ","), "what they do at once: have a turn each, or join a job and leave it")
	flags.DurationVar(&s.timeout, "timeout", 10*time.Second, "session timeout")
	flags.DurationVar(&s.tick, "tick", 2*time.Second, "the servers' tickTime")
	flags.BoolVar(&s.shared, "shared", false, "let the sessions share their heartbeats")
	flags.StringVar(&s.servers, "servers", "", "connect string of a running ensemble, without a chroot; default: start one server")
	if err := flags.Parse(args); err != nil {
		return s, err
	}
	if s.counts, err = parseCounts(*counts); err != nil {
		return s, err
	}
	s.tasks = strings.Split(*names, ",")
	for _, name := range s.tasks {
		if !slices.Contains(crowd.Tasks(), name) {
			return s, fmt.Errorf("-what: %q is not one of %s", name, strings.Join(crowd.Tasks(), ", "))
		}
	}
	switch {
	case flags.NArg() > 0:
		return s, fmt.Errorf("unexpected argument %q", flags.Arg(0))
	case s.timeout <= 0, s.tick <= 0:
		return s, errors.New("-timeout and -tick must be more than 0")
	}
	return s, nil
}

// measureCrowd is the command.
func measureCrowd(ctx context.Context, args []string) error {
	s, err := parseCrowd(args, os.Stderr)
	if err != nil {
		return err
	}
	var measures []func(servers, root string) ([]crowd.Figures, error)
	for _, task := range s.tasks {
		for _, n := range s.counts {
			measures = append(measures, func(servers, root string) ([]crowd.Figures, error) {
				return crowd.Measure(ctx, crowd.Setting{
					Servers: servers, Root: root, Clients: n, What: task, Timeout: s.timeout, Tick: s.tick, Shared: s.shared,
				})
			})
		}
	}
	all, err := measureEach(ctx, os.Stdout, s.servers, started{number: 1, tick: s.tick}, s.timeout, measures)
	if err != nil {
		return err
	}
	return writeCrowd(os.Stdout, all)
}

// writeCrowd writes figures as a table in Markdown, with the exponents of the growth from
// the smallest to the largest number of clients.
func writeCrowd(out io.Writer, all []crowd.Figures) error {
	var b strings.Builder
	b.WriteString("\n| what | clients | seconds | requests | MB read | MB written |\n|---|---|---|---|---|---|\n")
	slices.SortStableFunc(all, func(x, y crowd.Figures) int { return strings.Compare(x.What, y.What) })
	for i, f := range all {
		fmt.Fprintf(&b, "| %s | %d | %.1f | %d | %.1f | %.1f |\n", f.What, f.Clients, f.Seconds, f.Requests, float64(f.Read)/1e6, float64(f.Written)/1e6)
		if i+1 < len(all) && all[i+1].What == f.What {
			continue
		}
		first := all[slices.IndexFunc(all, func(x crowd.Figures) bool { return x.What == f.What })]
		if f.Clients > first.Clients {
			exponent := func(x, y float64) float64 {
				return math.Log(y/x) / math.Log(float64(f.Clients)/float64(first.Clients))
			}
			fmt.Fprintf(&b, "| exponent | | %.2f | %.2f | %.2f | %.2f |\n", exponent(first.Seconds, f.Seconds),
				exponent(float64(first.Requests), float64(f.Requests)), exponent(float64(first.Read), float64(f.Read)), exponent(float64(first.Written), float64(f.Written)))
		}
	}
	_, err := io.WriteString(out, b.String())
	return err
}
