// Command gotest runs go test with the given arguments, prints a line per package as
// go test does, and then lists the tests that were skipped, grouped by reason: go test
// itself drops the output of packages that pass. It exits as go test does.
//
//	go run ./internal/gotest ./...
package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
)

func main() {
	code, err := run(os.Args[1:])
	if err != nil {
		fmt.Fprintln(os.Stderr, "gotest:", err)
	}
	os.Exit(code)
}

// run runs go test -json with args and returns its exit code.
func run(args []string) (int, error) {
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
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return exit.ExitCode(), nil
	}
	if err = errors.Join(err, readErr); err != nil {
		return 1, err
	}
	return 0, nil
}
