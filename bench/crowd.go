package main

import (
	"context"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strings"

	"github.com/zkrecipes/zkrecipes/bench/internal/crowd"
)

// roleCrowd as first argument measures many clients that do the same at once.
const roleCrowd = "crowd"

// crowdSettings are the settings of its command line; the variants are tasks.
type crowdSettings struct {
	manySettings
	shared, warm bool
}

func parseCrowd(args []string, out io.Writer) (s crowdSettings, err error) {
	flags := newManyFlags(roleCrowd, out, "1000,2000,4000", "what",
		"what the sessions do at once: have a turn each, or join a job and leave it", crowd.Tasks())
	flags.BoolVar(&s.shared, "shared", false, "let the sessions share their heartbeats")
	flags.BoolVar(&s.warm, "warm", false, "let each session have a turn before, a heartbeat period ago (not workers, which join once)")
	s.manySettings, err = flags.parse(args)
	return s, err
}

// measureCrowd is the command.
func measureCrowd(ctx context.Context, args []string) error {
	s, err := parseCrowd(args, os.Stderr)
	if err != nil {
		return err
	}
	return measureMany(ctx, s.manySettings, 1, s.byVariant(), func(r manyRun) ([]crowd.Figures, error) {
		return crowd.Measure(ctx, crowd.Setting{
			Servers: r.servers, Root: r.root, Clients: r.n, What: r.variant, Timeout: s.timeout, Tick: s.tick, Shared: s.shared, Warm: s.warm,
		})
	}, writeCrowd)
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
