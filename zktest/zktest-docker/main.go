// Command zktest-docker runs Apache ZooKeeper in Docker containers for package
// zktest/apache, which starts the command and talks to it over stdin and
// stdout. The command is a module of its own, so users of the library do not
// depend on Docker's modules.
//
// Inside a checkout of zkrecipes the tests build the command themselves.
// Elsewhere,
//
//	go install github.com/zkrecipes/zkrecipes/zktest/zktest-docker@latest
//
// installs the command in a folder of PATH, where zktest/apache looks for it.
//
// When its stdin ends, the command removes all its containers and its network,
// and ends: also if the test process was killed.
package main

import (
	"fmt"
	"io"
	"net/rpc"
	"net/rpc/jsonrpc"
	"os"
	"os/signal"
	"syscall"

	"github.com/zkrecipes/zkrecipes/zktest/internal/containers"
)

func main() {
	if len(os.Args) > 1 {
		fmt.Fprintf(os.Stderr, "%s takes no arguments: package zktest/apache starts it and talks to it over stdin and stdout\n", containers.Command)
		os.Exit(2)
	}
	// An interrupt from the terminal is for the test process; the end of the
	// test process ends this process.
	signal.Ignore(os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	s, err := newService()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	if err := serve(s, stdio{os.Stdin, os.Stdout}); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// serve answers requests until conn ends and then removes the remains.
func serve(s *service, conn io.ReadWriteCloser) error {
	server := rpc.NewServer()
	if err := server.RegisterName(containers.Service, s); err != nil {
		return err
	}
	server.ServeCodec(jsonrpc.NewServerCodec(conn))
	return s.Remove(containers.None{}, nil)
}

// stdio combines the standard streams into a connection.
type stdio struct {
	io.Reader
	io.Writer
}

// Close leaves the streams to the end of the process.
func (stdio) Close() error { return nil }
