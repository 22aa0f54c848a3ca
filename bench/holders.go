package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/zkrecipes/zkrecipes/bench/internal/holders"
)

// roleHolders as first argument measures the price of trust.
const roleHolders = "holders"

// holdersSettings are the settings of its command line; the variants are rules.
type holdersSettings struct {
	manySettings
	time time.Duration
}

func parseHolders(args []string, out io.Writer) (s holdersSettings, err error) {
	flags := newManyFlags(roleHolders, out, "500,1000,2000,4000,8000", "rules",
		"how the sessions, which hold a lock each, are proved: by heartbeats of their own, by shared ones, or by none", holders.Rules())
	flags.DurationVar(&s.time, "time", 30*time.Second, "how long to measure")
	if s.manySettings, err = flags.parse(args); err == nil && s.time <= 0 {
		err = errors.New("-time: must be more than 0")
	}
	return s, err
}

// measureHolders is the command.
func measureHolders(ctx context.Context, args []string) error {
	s, err := parseHolders(args, os.Stderr)
	if err != nil {
		return err
	}
	all, err := measureMany(ctx, s.manySettings, 3, s.byNumber(), func(r manyRun) ([]holders.Figures, error) {
		f, err := holders.Measure(ctx, holders.Setting{
			Servers: r.servers, Root: r.root, Holders: r.n, Rule: r.variant, Timeout: s.timeout, Tick: s.tick, Time: s.time,
		})
		return []holders.Figures{f}, err
	})
	if err != nil {
		return err
	}
	return writeHolders(os.Stdout, all)
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
