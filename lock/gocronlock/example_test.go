package gocronlock_test

import (
	"context"
	"fmt"

	"github.com/go-co-op/gocron/v2"
	"github.com/zkrecipes/zkrecipes/election"
	"github.com/zkrecipes/zkrecipes/election/serving"
	"github.com/zkrecipes/zkrecipes/lock"
	"github.com/zkrecipes/zkrecipes/lock/gocronlock"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// connect starts a server for tests, and connects to it.
func connect(ctx context.Context) (client *session.Client, end func()) {
	zookeeper, err := zktest.Start(nil) // in production: an ensemble
	if err != nil {
		panic(err)
	}
	client, err = session.Connect(ctx, zookeeper.Addr(), nil)
	if err != nil {
		panic(err)
	}
	return client, func() {
		_ = client.Close(ctx)
		_ = zookeeper.Close()
	}
}

// Each run of a job holds the job's lock.
func Example() {
	ctx := context.Background()
	client, end := connect(ctx)
	defer end()
	locker := gocronlock.NewLocker(client, "/cron", nil)
	scheduler, err := gocron.NewScheduler(gocron.WithDistributedLocker(locker))
	if err != nil {
		panic(err)
	}
	done := make(chan struct{})
	_, err = scheduler.NewJob(gocron.OneTimeJob(gocron.OneTimeJobStartImmediately()),
		locker.Task("report", func(ctx context.Context, held *lock.Held) error {
			defer close(done)
			fmt.Println("the run holds the lock:", ctx.Err() == nil && held.Token() > 0)
			return nil
		}),
		gocron.WithName("report"))
	if err != nil {
		panic(err)
	}
	scheduler.Start()
	<-done
	fmt.Println(scheduler.Shutdown())
	// Output:
	// the run holds the lock: true
	// <nil>
}

// The leading process runs all jobs.
func ExampleElector() {
	client, end := connect(context.Background())
	defer end()
	ctx, stop := context.WithCancel(context.Background()) // signal.NotifyContext in a program
	leader := serving.New(election.New(client, "/cron/leader", nil), nil)
	elector := gocronlock.NewElector(leader)
	over := make(chan error)
	// Waited for below; ends with ctx.
	go func() { over <- leader.Run(ctx) }()
	for leads := range leader.Observe(ctx) {
		if leads {
			break
		}
	}

	scheduler, err := gocron.NewScheduler(gocron.WithDistributedElector(elector))
	if err != nil {
		panic(err)
	}
	done := make(chan struct{})
	_, err = scheduler.NewJob(gocron.OneTimeJob(gocron.OneTimeJobStartImmediately()), elector.Task(func(ctx context.Context) error {
		defer close(done)
		lead, _ := serving.FromContext(ctx)
		fmt.Println("the run has a token:", lead.Token() > 0)
		return nil
	}))
	if err != nil {
		panic(err)
	}
	scheduler.Start()
	<-done
	stop() // waits for the runs in progress, and gives the leadership back
	fmt.Println(<-over, scheduler.Shutdown())
	// Output:
	// the run has a token: true
	// <nil> <nil>
}
