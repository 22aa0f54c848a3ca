package cli

import (
	"fmt"
	"net"
	"strconv"

	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/exit"
)

// CheckListen checks the form of --listen.
func CheckListen(listen string) error {
	_, port, err := net.SplitHostPort(listen)
	if n, bad := strconv.Atoi(port); err != nil || bad != nil || n < 0 || n > 65535 {
		return exit.Usage("--listen is %q; it must be host:port, such as 127.0.0.1:2181", listen)
	}
	return nil
}

// CannotListen adds advice to an error of listening.
func CannotListen(listen string, err error) error {
	f := &exit.Failure{Code: exit.CodeFailed, Err: fmt.Errorf("cannot listen on %s: %w", listen, err)}
	if IsAddressInUse(err) {
		f.Hint = occupiedPortHint("zkr serve")
	}
	return f
}

// ExplainOccupiedPort adds advice to an error of listening for command, such as "zkr ui",
// if another program uses the port.
func ExplainOccupiedPort(command string, err error) error {
	if !IsAddressInUse(err) {
		return err
	}
	return &exit.Failure{Code: exit.CodeFailed, Err: fmt.Errorf("cannot %w", err), Hint: occupiedPortHint(command)}
}

func occupiedPortHint(command string) string {
	return fmt.Sprintf("another program uses this port, perhaps another %q; --listen 127.0.0.1:0 takes any free port", command)
}
