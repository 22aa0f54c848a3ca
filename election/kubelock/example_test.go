package kubelock_test

import (
	"context"
	"fmt"

	"github.com/zkrecipes/zkrecipes/election/kubelock"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// The calls that client-go makes. A program uses resourcelock.LeaderElectionRecord as the
// record, and lets client-go or controller-runtime make these calls: see the package
// documentation.
func Example() {
	type leaderElectionRecord struct {
		HolderIdentity string `json:"holderIdentity"`
	}
	ctx := context.Background()
	zookeeper, err := zktest.Start(nil) // in production: an ensemble
	if err != nil {
		panic(err)
	}
	defer zookeeper.Close()
	client, err := session.Connect(ctx, zookeeper.Addr(), nil)
	if err != nil {
		panic(err)
	}
	defer client.Close(ctx)

	lock := kubelock.New[leaderElectionRecord](client, "/election/controller", "pod-1", nil)
	err = lock.Run(ctx, func(ctx context.Context) error {
		if err := lock.Create(ctx, leaderElectionRecord{HolderIdentity: lock.Identity()}); err != nil {
			return err
		}
		record, _, err := lock.Get(ctx)
		fmt.Println("held by", record.HolderIdentity, "with a token:", lock.Held().Token() > 0)
		return err
	})
	fmt.Println(err)
	record, _, err := lock.Get(ctx)
	fmt.Printf("held by %q afterwards, %v\n", record.HolderIdentity, err)
	// Output:
	// held by pod-1 with a token: true
	// <nil>
	// held by "" afterwards, <nil>
}
