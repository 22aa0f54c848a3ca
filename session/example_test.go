package session_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"strconv"

	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// A setting is created, changed on condition of its version, and watched.
func Example() {
	ctx := context.Background()
	srv, err := zktest.Start(nil)
	if err != nil {
		log.Fatal(err)
	}
	defer srv.Close()
	// All paths are below the chroot, created by the first EnsurePath.
	client, err := session.Connect(ctx, srv.Addr()+"/shop", nil)
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close(ctx)
	s, err := client.Session(ctx)
	if err != nil {
		log.Fatal(err)
	}
	if err := s.EnsurePath(ctx, "/config/rate", session.Persistent, nil); err != nil {
		log.Fatal(err)
	}
	_, stat, watch, err := s.GetW(ctx, "/config/rate")
	if err != nil {
		log.Fatal(err)
	}
	_, err = s.Set(ctx, "/config/rate", []byte("10"), stat.Version)
	fmt.Println("set:", err)
	_, err = s.Set(ctx, "/config/rate", []byte("20"), stat.Version)
	fmt.Println("another client was faster:", errors.Is(err, session.ErrBadVersion))

	event, err := watch.Wait(ctx) // once: read again, with another watch
	fmt.Println(event.Type, event.Path, err)
	data, _, err := s.Get(ctx, "/config/rate")
	fmt.Printf("%s %v\n", data, err)
	// Output:
	// set: <nil>
	// another client was faster: true
	// data changed /config/rate <nil>
	// 10 <nil>
}

// Several clients raise a number, each up to its own limit: read, and write on
// condition of the version. If the answer to a write is lost, the next call's
// read shows the outcome.
func ExampleClient_Retry() {
	ctx := context.Background()
	srv, err := zktest.Start(nil)
	if err != nil {
		log.Fatal(err)
	}
	defer srv.Close()
	client, err := session.Connect(ctx, srv.Addr(), nil)
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close(ctx)
	path := "/limits/" + session.EscapeName("disk /dev/sda")
	err = client.Retry(ctx, func(s *session.Session) error {
		return s.EnsurePath(ctx, path, session.Persistent, nil)
	})
	if err != nil {
		log.Fatal(err)
	}
	srv.FailNth(func(r zktest.Request) bool { return r.Op == "setData" }, 1, zktest.Action{Do: zktest.DropReplyCut})

	const atLeast = 40
	err = client.Retry(ctx, func(s *session.Session) error {
		data, stat, err := s.Get(ctx, path)
		if err != nil {
			return err
		}
		fmt.Printf("%s is %q\n", path, data)
		if now, _ := strconv.Atoi(string(data)); now >= atLeast {
			return nil
		}
		_, err = s.Set(ctx, path, []byte(strconv.Itoa(atLeast)), stat.Version)
		return err
	})
	fmt.Println(err)
	// Output:
	// /limits/disk%20%2Fdev%2Fsda is ""
	// /limits/disk%20%2Fdev%2Fsda is "40"
	// <nil>
}
