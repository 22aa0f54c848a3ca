package main

import (
	"context"
	"encoding/json"
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
	"github.com/zkrecipes/zkrecipes/session"
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
func measureHolders(ctx context.Context, args []string) (err error) {
	s, err := parseHolders(args, os.Stderr)
	if err != nil {
		return err
	}
	if s.servers == "" {
		servers, err := serve(ctx, 3, s.tick)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, servers.Close()) }()
		s.servers = servers.Connect()
	}
	z, err := connectZnodes(ctx, s.servers, s.timeout)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, z.close(ctx)) }()
	var all []holders.Figures
	lines := json.NewEncoder(os.Stdout)
	for _, n := range s.counts {
		for _, rule := range s.rules {
			f, err := s.measure(ctx, z, n, rule)
			if err != nil {
				return err
			}
			all = append(all, f)
			if err := lines.Encode(f); err != nil {
				return err
			}
		}
	}
	return writeHolders(os.Stdout, all)
}

// measure is one measurement, below a path of its own.
func (s holdersSettings) measure(ctx context.Context, z znodes, n int, rule string) (f holders.Figures, err error) {
	root := "/bench-" + session.NewID()
	if err := z.createTree(ctx, root, 0); err != nil {
		return f, err
	}
	defer func() { err = errors.Join(err, z.cleanUp(ctx, root)) }()
	return holders.Measure(ctx, holders.Setting{
		Servers: s.servers, Root: root, Holders: n, Rule: rule, Timeout: s.timeout, Tick: s.tick, Time: s.time,
	})
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
