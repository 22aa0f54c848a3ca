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

	"github.com/zkrecipes/zkrecipes/session"
)

// manySettings are the settings of the measurements with many sessions.
type manySettings struct {
	counts        []int
	variants      []string
	timeout, tick time.Duration
	time          time.Duration // how long to measure, of measurements that last
	every         time.Duration // between two reads of a holder
	servers       string
}

// timeFlag is the name of the flag for how long to measure.
const timeFlag = "time"

// everyFlag is the name of the flag for how often a holder reads.
const everyFlag = "every"

// manyFlags are the flags of a measurement with many sessions.
type manyFlags struct {
	*flag.FlagSet
	numbers, variants *string
	variantFlag       string   // its name
	known             []string // variants
	out               manySettings
}

// newManyFlags are the common flags of a command: the numbers of sessions, what they are by
// default, and variants of the measurement, of which all are the default.
func newManyFlags(command string, out io.Writer, numbers, variantFlag, usage string, known []string) *manyFlags {
	f := &manyFlags{FlagSet: flag.NewFlagSet("bench "+command, flag.ContinueOnError), variantFlag: variantFlag, known: known}
	f.SetOutput(out)
	f.numbers = f.String("n", numbers, "numbers of sessions")
	f.variants = f.String(variantFlag, strings.Join(known, ","), usage)
	f.DurationVar(&f.out.timeout, "timeout", 10*time.Second, "session timeout")
	f.DurationVar(&f.out.tick, "tick", 2*time.Second, "the servers' tickTime")
	f.StringVar(&f.out.servers, "servers", "", "connect string of a running ensemble, without a chroot; default: start servers")
	return f
}

// last adds the flag for how long to measure.
func (f *manyFlags) last() *manyFlags {
	f.DurationVar(&f.out.time, timeFlag, 30*time.Second, "how long to measure")
	return f
}

// parse parses and checks args.
func (f *manyFlags) parse(args []string) (manySettings, error) {
	if err := f.Parse(args); err != nil {
		return f.out, err
	}
	if f.NArg() > 0 {
		return f.out, fmt.Errorf("unexpected argument %q", f.Arg(0))
	}
	for text := range strings.SplitSeq(*f.numbers, ",") {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 {
			return f.out, fmt.Errorf("-n: %q is not a positive number", text)
		}
		f.out.counts = append(f.out.counts, n)
	}
	f.out.variants = strings.Split(*f.variants, ",")
	for _, v := range f.out.variants {
		if !slices.Contains(f.known, v) {
			return f.out, fmt.Errorf("-%s: %q is not one of %s", f.variantFlag, v, strings.Join(f.known, ", "))
		}
	}
	if f.out.timeout <= 0 || f.out.tick <= 0 {
		return f.out, errors.New("-timeout and -tick must be more than 0")
	}
	if f.Lookup(timeFlag) != nil && f.out.time <= 0 {
		return f.out, errors.New("-time: must be more than 0")
	}
	if f.Lookup(everyFlag) != nil && f.out.every <= 0 {
		return f.out, errors.New("-every: must be more than 0")
	}
	return f.out, nil
}

// manyRun is a measurement of a number of sessions, with servers and a path of its own.
type manyRun struct {
	n                      int
	variant, servers, root string
}

// byNumber and byVariant are the runs, without their servers: all variants of a number after
// each other, or all numbers of a variant.
func (s manySettings) byNumber() (out []manyRun) {
	for _, n := range s.counts {
		for _, variant := range s.variants {
			out = append(out, manyRun{n: n, variant: variant})
		}
	}
	return out
}

func (s manySettings) byVariant() (out []manyRun) {
	for _, variant := range s.variants {
		for _, n := range s.counts {
			out = append(out, manyRun{n: n, variant: variant})
		}
	}
	return out
}

// measureMany makes the runs one after the other, on an ensemble of the number of servers unless
// one runs already, each below a path of its own, which is removed afterwards. It writes all
// figures to standard output, as lines of JSON, and then by write, as a table.
func measureMany[F any](
	ctx context.Context, s manySettings, servers int, runs []manyRun, measure func(manyRun) ([]F, error), write func(io.Writer, []F) error,
) error {
	var all []F
	lines := json.NewEncoder(os.Stdout)
	err := onServers(ctx, s.servers, started{number: servers, tick: s.tick}, s.timeout, func(connect string, z znodes) error {
		for _, r := range runs {
			r.servers, r.root = connect, "/bench-"+session.NewID()
			if err := z.createTree(ctx, r.root, 0); err != nil {
				return err
			}
			figures, err := measure(r)
			if err = errors.Join(err, z.cleanUp(ctx, r.root)); err != nil {
				return err
			}
			for _, f := range figures {
				if err := lines.Encode(f); err != nil {
					return err
				}
			}
			all = append(all, figures...)
		}
		return nil
	})
	if err != nil {
		return err
	}
	return write(os.Stdout, all)
}
