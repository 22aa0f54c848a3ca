package session_test

import (
	"context"
	"errors"
	"fmt"
	"log"

	"github.com/zkrecipes/zkrecipes/discovery"
	"github.com/zkrecipes/zkrecipes/election"
	"github.com/zkrecipes/zkrecipes/lock"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// writeAs sets the znode at path on behalf of the holder of held: the servers refuse
// the write of a former holder.
func writeAs(ctx context.Context, client *session.Client, held session.Held, path, text string) error {
	s, err := client.Session(ctx)
	if err != nil {
		return err
	}
	_, err = s.Txn(ctx, held.Guard(), session.SetOp(path, fmt.Appendf(nil, "%s, token %d", text, held.Token()), -1))
	return err
}

// A single function fences the writes of a lock, a leadership and a
// registration.
func ExampleHeld() {
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
	if err := srv.Create("/report", nil); err != nil {
		log.Fatal(err)
	}

	mutex, err1 := lock.New(client, "/locks/report", nil).Lock(ctx)
	leader, err2 := election.New(client, "/leader", nil).Campaign(ctx)
	instance, err3 := discovery.NewRegistry(client, "/services", nil).Register(ctx, discovery.Instance{Service: "web", ID: "web-1"})
	if err := errors.Join(err1, err2, err3); err != nil {
		log.Fatal(err)
	}
	for _, held := range []session.Held{mutex, leader, instance} {
		fmt.Printf("%T\n", held)
		fmt.Println("  held:", writeAs(ctx, client, held, "/report", "fresh"))
		if err := held.Release(ctx); err != nil {
			log.Fatal(err)
		}
		fmt.Println("  released:", errors.Is(context.Cause(held.Context()), session.ErrReleased))
		fmt.Println("  refused:", errors.Is(writeAs(ctx, client, held, "/report", "stale"), session.ErrNoNode))
	}
	// Output:
	// *lock.Held
	//   held: <nil>
	//   released: true
	//   refused: true
	// *election.Leadership
	//   held: <nil>
	//   released: true
	//   refused: true
	// *discovery.Registration
	//   held: <nil>
	//   released: true
	//   refused: true
}
