package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/zkrecipes/zkrecipes/bench/internal/idle"
)

// roleIdle as first argument measures sessions that do nothing.
const roleIdle = "idle"

func parseIdle(args []string, out io.Writer) (manySettings, error) {
	return newManyFlags(roleIdle, out, "1000,10000", "peers", "the libraries", idle.Libraries()).last().parse(args)
}

// measureIdle is the command.
func measureIdle(ctx context.Context, args []string) error {
	s, err := parseIdle(args, os.Stderr)
	if err != nil {
		return err
	}
	return measureMany(ctx, s, 1, s.byNumber(), func(r manyRun) ([]idle.Figures, error) {
		f, err := idle.Measure(ctx, idle.Setting{Servers: r.servers, Sessions: r.n, Library: r.variant, Timeout: s.timeout, Time: s.time})
		return []idle.Figures{f}, err
	}, writeIdle)
}

// writeIdle writes figures as a table in Markdown.
func writeIdle(out io.Writer, all []idle.Figures) error {
	var b strings.Builder
	b.WriteString("\n| idle sessions | library | KB of memory per session | goroutines per session | wake-ups/s | share of a processor | all connected after |\n|---|---|---|---|---|---|---|\n")
	for _, f := range all {
		fmt.Fprintf(&b, "| %d | %s | %.1f | %.1f | %s | %.2f | %.1f s |\n",
			f.Sessions, f.Library, f.Memory/1000, f.Goroutines, number(f.WakeUps), f.Processor, f.Joining)
	}
	_, err := io.WriteString(out, b.String())
	return err
}
