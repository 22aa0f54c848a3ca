// Command zktest-docker runs Apache ZooKeeper in Docker containers for package
// zktest/apache, which starts it and talks to it over stdin and stdout. It is a
// module of its own, so that users of the library do not depend on Docker's
// modules.
//
// Inside a checkout of zkrecipes the tests build it themselves. Elsewhere,
//
//	go install github.com/zkrecipes/zkrecipes/zktest/zktest-docker@latest
//
// puts it where zktest/apache looks for it: into a folder of PATH.
//
// The command ends when its stdin ends, and removes all its containers and its
// network before: also when the test process has been killed.
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
	// An interrupt from the terminal is for the test process, whose end ends this
	// one.
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

// serve answers requests until conn ends and then removes what is left.
func serve(s *service, conn io.ReadWriteCloser) error {
	server := rpc.NewServer()
	if err := server.RegisterName(containers.Service, s); err != nil {
		return err
	}
	server.ServeCodec(jsonrpc.NewServerCodec(conn))
	return s.Remove(containers.None{}, nil)
}

// stdio is the two standard streams as one connection.
type stdio struct {
	io.Reader
	io.Writer
}

// Close leaves the streams to the end of the process.
func (stdio) Close() error { return nil }
