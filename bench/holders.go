package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/zkrecipes/zkrecipes/bench/internal/holders"
)

// roleHolders as first argument measures the price of trust.
const roleHolders = "holders"

func parseHolders(args []string, out io.Writer) (manySettings, error) {
	f := newManyFlags(roleHolders, out, "500,1000,2000,4000,8000", "rules",
		"how the sessions, which hold a lock each, are proved: by heartbeats of their own, by shared ones, by none, or by none with as many reads as shared ones cost", holders.Rules()).last()
	f.DurationVar(&f.out.every, everyFlag, 2240*time.Millisecond, "how long after each other a session's reads are, of the rule reads")
	return f.parse(args)
}

// measureHolders is the command.
func measureHolders(ctx context.Context, args []string) error {
	s, err := parseHolders(args, os.Stderr)
	if err != nil {
		return err
	}
	return measureMany(ctx, s, 3, s.byNumber(), func(r manyRun) ([]holders.Figures, error) {
		f, err := holders.Measure(ctx, holders.Setting{
			Servers: r.servers, Root: r.root, Holders: r.n, Rule: r.variant, Timeout: s.timeout, Tick: s.tick, Time: s.time, Every: s.every,
		})
		return []holders.Figures{f}, err
	}, writeHolders)
}

// writeHolders writes figures as a table in Markdown.
func writeHolders(out io.Writer, all []holders.Figures) error {
	var b strings.Builder
	b.WriteString("\n| holders | heartbeats | writes/s for trust | reads/s | lost | another client's writes, p50 / p99 | all held after |\n|---|---|---|---|---|---|---|\n")
	for _, f := range all {
		fmt.Fprintf(&b, "| %d | %s | %s | %s | %d | %.1f / %.1f ms | %.1f s |\n",
			f.Holders, f.Rule, number(f.Heartbeats), number(f.Reads), f.Lost, f.P50, f.P99, f.Joining)
	}
	_, err := io.WriteString(out, b.String())
	return err
}
