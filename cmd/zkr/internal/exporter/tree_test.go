package exporter_test

import (
	"fmt"
	"io"
	"os"
	"testing"
	"time"

	"github.com/zkrecipes/zkrecipes/internal/world"
	"github.com/zkrecipes/zkrecipes/zktest"
	"go.uber.org/goleak"
)

// treeServer makes the process of the tests a server with a tree to scrape.
const treeServer = "EXPORTER_TEST_TREE"

func TestMain(m *testing.M) {
	if os.Getenv(treeServer) == "" {
		world.Beside(12) // each waits for refreshes
		goleak.VerifyTestMain(m)
		return
	}
	if err := serveTree(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// serveTree serves a hundred thousand znodes with ten thousand locks, of which one in ten
// changes each second, until stdin ends. It prints its address when the tree is complete.
func serveTree() error {
	const locks, queue = 10_000, 9
	srv, err := zktest.Start(nil)
	if err != nil {
		return err
	}
	defer srv.Close()
	if err := srv.Create("/locks", nil); err != nil {
		return err
	}
	for i := range locks {
		if err := srv.Create(fmt.Sprintf("/locks/l%03d", i), nil); err != nil {
			return err
		}
		for n := range queue {
			if err := srv.Create(contender(i, n), []byte("host:1")); err != nil {
				return err
			}
		}
	}
	fmt.Println(srv.Addr())
	over := make(chan struct{})
	// Nothing waits for it; ends with stdin, as the process does.
	go func() { _, _ = io.Copy(io.Discard, os.Stdin); close(over) }()
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for next := queue; ; next++ {
		select {
		case <-over:
			return nil
		case <-tick.C:
		}
		for i := 0; i < locks; i += 10 {
			if err := srv.Delete(contender(i, next-queue)); err != nil {
				return err
			}
			if err := srv.Create(contender(i, next), []byte("host:1")); err != nil {
				return err
			}
		}
	}
}
