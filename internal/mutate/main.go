// Command mutate samples mutants of packages: it changes one place of the code at a
// time (see [mutations]), runs the package's tests on the changed code, and prints the
// mutants that survive. A surviving mutant is a line that no test checks, a line that
// is not needed, or a change that makes no difference.
//
//	go run ./internal/mutate -n 30 -seed 1 ./lock
//
// The source files are not touched: go test reads the changed file as an overlay. A
// mutant is killed if the tests fail, panic or exceed the timeout. A mutant that does
// not compile is not counted; another one takes its place. Tests on a real ZooKeeper
// are not run unless -skip says otherwise.
//
// The same seed samples the same mutants of the same code. Mutants that survive are
// printed to stdout, progress and the summary to stderr.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"regexp"
	"strings"
	"syscall"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code, err := run(ctx, os.Args[1:])
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "mutate:", err)
	}
	os.Exit(code)
}

// run samples mutants as args say and returns the exit code: 1 if a mutant survived
// and -fail is set, 2 if the mutants could not be tested.
func run(ctx context.Context, args []string) (int, error) {
	set := flag.NewFlagSet("mutate", flag.ContinueOnError)
	n := set.Int("n", 30, "number of mutants; 0: all")
	seed := set.Uint64("seed", 1, "seed of the sample")
	only := set.String("only", "", "regular expression: only mutants whose line in the output matches, as in mutex.go:12:")
	with := set.String("with", "", "comma-separated packages whose tests are run, too, if the mutant's own package has not killed it")
	skip := set.String("skip", "Apache", "tests that are not run, as for go test -skip: those on a real server take minutes for each mutant")
	timeout := set.Duration("timeout", 0, "limit of a run of the tests; 0: 30s more than three times what they take without a mutation")
	list := set.Bool("list", false, "print the mutants and run no tests")
	fail := set.Bool("fail", false, "exit with 1 if a mutant survives")
	flags := set.String("test", "", "space-separated flags for go test, such as '-short -race'")
	if err := set.Parse(args); errors.Is(err, flag.ErrHelp) {
		return 0, nil
	} else if err != nil {
		return 2, err
	}
	pattern, err := regexp.Compile(*only)
	if err != nil {
		return 2, fmt.Errorf("-only: %w", err)
	}
	packages, err := findPackages(ctx, set.Args())
	if err != nil {
		return 2, err
	}
	mutants, err := sample(packages, *seed, pattern)
	if err != nil {
		return 2, err
	}
	if *list {
		for _, m := range mutants {
			fmt.Println(m)
		}
		return 0, nil
	}
	t := tester{flags: strings.Fields(*flags), skip: *skip, with: splitList(*with), timeout: *timeout, out: os.Stdout, log: os.Stderr}
	sum, err := t.testAll(ctx, mutants, *n)
	fmt.Fprintf(os.Stderr, "%v; seed %d\n", sum, *seed)
	switch {
	case err != nil:
		return 2, err
	case *fail && sum.survived > 0:
		return 1, nil
	}
	return 0, nil
}

func splitList(s string) []string {
	return strings.FieldsFunc(s, func(r rune) bool { return r == ',' })
}

// summary counts mutants by their verdicts.
type summary struct {
	killed, survived, invalid int
	took                      time.Duration
}

func (s summary) String() string {
	share := 0
	if tested := s.killed + s.survived; tested > 0 {
		share = 100 * s.killed / tested
	}
	return fmt.Sprintf("%d of %d mutants killed (%d%%), %d survived, %d did not compile, in %v",
		s.killed, s.killed+s.survived, share, s.survived, s.invalid, s.took.Round(time.Second))
}
