package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/zkrecipes/zkrecipes/bench/internal/holders"
)

// roleHolders as first argument measures the price of trust.
const roleHolders = "holders"

// holdersSettings are the settings of its command line.
type holdersSettings struct {
	counts        []int
	rules         []string
	time          time.Duration
	timeout, tick time.Duration
	servers       string
}

func parseHolders(args []string, out io.Writer) (s holdersSettings, err error) {
	flags := flag.NewFlagSet("bench holders", flag.ContinueOnError)
	flags.SetOutput(out)
	counts := flags.String("n", "500,1000,2000,4000,8000", "numbers of sessions that hold a lock")
	rules := flags.String("rules", strings.Join(holders.Rules(), ","), "how they prove their sessions: with heartbeats of their own, shared, or with none")
	flags.DurationVar(&s.time, "time", 30*time.Second, "how long to measure")
	flags.DurationVar(&s.timeout, "timeout", 10*time.Second, "session timeout")
	flags.DurationVar(&s.tick, "tick", 2*time.Second, "the servers' tickTime")
	flags.StringVar(&s.servers, "servers", "", "connect string of a running ensemble, without a chroot; default: start three servers")
	if err := flags.Parse(args); err != nil {
		return s, err
	}
	if s.counts, err = parseCounts(*counts); err != nil {
		return s, err
	}
	s.rules = strings.Split(*rules, ",")
	for _, rule := range s.rules {
		if !slices.Contains(holders.Rules(), rule) {
			return s, fmt.Errorf("-rules: %q is not one of %s", rule, strings.Join(holders.Rules(), ", "))
		}
	}
	switch {
	case flags.NArg() > 0:
		return s, fmt.Errorf("unexpected argument %q", flags.Arg(0))
	case s.time <= 0, s.timeout <= 0, s.tick <= 0:
		return s, errors.New("-time, -timeout and -tick must be more than 0")
	}
	return s, nil
}

// parseCounts reads numbers of clients, with commas between them.
func parseCounts(texts string) (out []int, err error) {
	for text := range strings.SplitSeq(texts, ",") {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 {
			return nil, fmt.Errorf("-n: %q is not a positive number", text)
		}
		out = append(out, n)
	}
	return out, nil
}

// measureHolders is the command.
func measureHolders(ctx context.Context, args []string) error {
	s, err := parseHolders(args, os.Stderr)
	if err != nil {
		return err
	}
	var measures []func(servers, root string) ([]holders.Figures, error)
	for _, n := range s.counts {
		for _, rule := range s.rules {
			measures = append(measures, func(servers, root string) ([]holders.Figures, error) {
				f, err := holders.Measure(ctx, holders.Setting{
					Servers: servers, Root: root, Holders: n, Rule: rule, Timeout: s.timeout, Tick: s.tick, Time: s.time,
				})
				if err != nil {
					return nil, err
				}
				return []holders.Figures{f}, nil
			})
		}
	}
	all, err := measureEach(ctx, os.Stdout, s.servers, started{number: 3, tick: s.tick}, s.timeout, measures)
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
