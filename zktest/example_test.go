package zktest_test

import (
	"fmt"
	"net"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zkrecipes/zkrecipes/zktest"
)

// A server on a socket, for any client.
func ExampleStart() {
	s, err := zktest.Start(nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = s.Close() }()
	c, _, err := zk.Connect([]string{s.Addr()}, 10*time.Second, zk.WithLogger(quiet{}))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer c.Close()
	path, err := c.Create("/jobs-", nil, zk.FlagSequence, zk.WorldACL(zk.PermAll))
	fmt.Println(path, err)
	fmt.Println(s.FourLetter(1, "ruok"))
	// Output:
	// /jobs-0000000000 <nil>
	// imok
}

// The answer to the first create gets lost: the client cannot know whether the
// node exists.
func ExampleServer_FailNth() {
	s, err := zktest.Start(&zktest.Options{InMemory: true})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = s.Close() }()
	s.FailNth(func(r zktest.Request) bool { return r.Op == "create" }, 1, zktest.Action{Do: zktest.DropReplyCut})

	dial := func(network, addr string, _ time.Duration) (net.Conn, error) {
		return s.Dial(contextOf(), network, addr)
	}
	c, _, err := zk.Connect([]string{s.Addr()}, 10*time.Second, zk.WithLogger(quiet{}), zk.WithDialer(dial))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer c.Close()
	_, err = c.Create("/a", nil, 0, zk.WorldACL(zk.PermAll))
	fmt.Println(err)
	n, err := s.Get("/a")
	fmt.Println(n.Path, n.Version, err)
	// Output:
	// zk: connection closed
	// /a 0 <nil>
}

// The server tells which client lost a lock, and when.
func ExampleServer_ExpireSession() {
	s, err := zktest.Start(&zktest.Options{InMemory: true})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = s.Close() }()
	ended := make(chan zktest.Txn, 1)
	s.OnApply(func(x zktest.Txn) {
		if x.Op == "closeSession" {
			ended <- x
		}
	})
	c, _, err := zk.Connect([]string{s.Addr()}, 10*time.Second, zk.WithLogger(quiet{}),
		zk.WithDialer(func(network, addr string, _ time.Duration) (net.Conn, error) {
			return s.Dial(contextOf(), network, addr)
		}))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer c.Close()
	_, err = c.Create("/lock", nil, zk.FlagEphemeral, zk.WorldACL(zk.PermAll))
	fmt.Println(err, len(s.Sessions()), s.Sessions()[0].Ephemerals)
	fmt.Println(s.ExpireSession(s.Sessions()[0].ID))
	_, err = s.Get("/lock")
	fmt.Println((<-ended).Op, err)
	// Output:
	// <nil> 1 [/lock]
	// <nil>
	// closeSession zktest: get /lock: no such node
}
