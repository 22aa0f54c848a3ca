// Command gotest runs go test with the given arguments, prints a line per package as
// go test does, and then lists the tests that were skipped, grouped by reason: go test
// itself drops the output of packages that pass. It exits as go test does.
//
//	go run ./internal/gotest ./...
//
// With -tally as the first argument, it prints at the end how many tests of each package ran,
// which of them failed, and how many were skipped for which reason.
package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
)

func main() {
	args, tally := os.Args[1:], false
	if len(args) > 0 && args[0] == "-tally" {
		args, tally = args[1:], true
	}
	code, err := run(args, tally)
	if err != nil {
		fmt.Fprintln(os.Stderr, "gotest:", err)
	}
	os.Exit(code)
}

// run runs go test -json with args and returns its exit code.
func run(args []string, tally bool) (int, error) {
	cmd := exec.Command("go", append([]string{"test", "-json"}, args...)...)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return 1, err
	}
	if err := cmd.Start(); err != nil {
		return 1, err
	}
	r := report{out: os.Stdout}
	readErr := r.read(out)
	err = cmd.Wait()
	r.summary()
	if tally {
		r.tally()
	}
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return exit.ExitCode(), nil
	}
	if err = errors.Join(err, readErr); err != nil {
		return 1, err
	}
	return 0, nil
}
