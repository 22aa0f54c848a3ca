package workerctl_test

import (
	"context"
	"fmt"
	"sync"

	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/workerctl"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// square is the work of one worker of the job: its part, selected by its
// number.
func square(ctx context.Context, servers, pod string, results *sync.Map) error {
	client, err := session.Connect(ctx, servers, nil)
	if err != nil {
		return err
	}
	defer client.Close(context.WithoutCancel(ctx))
	job, err := workerctl.Attach(ctx, client, "squares", nil)
	if err != nil {
		return err
	}
	w, err := job.Join(ctx, workerctl.Identity{Name: pod})
	if err != nil {
		return err
	}
	if err := job.WaitAll(ctx); err != nil {
		return err
	}
	results.Store(w.ID(), w.ID()*w.ID())
	if _, err := w.Barrier(ctx, "computed"); err != nil {
		return err
	}
	return w.Leave(ctx) // the last worker out removes the job
}

// A job of three workers, each with a number of its own.
func Example() {
	server, err := zktest.Start(nil)
	if err != nil {
		panic(err)
	}
	defer server.Close()
	ctx := context.Background()
	client, err := session.Connect(ctx, server.Addr(), nil)
	if err != nil {
		panic(err)
	}
	defer client.Close(ctx)
	if _, err := workerctl.Submit(ctx, client, workerctl.Spec{Name: "squares", Workers: 3}, nil); err != nil {
		panic(err)
	}
	var results sync.Map
	var all sync.WaitGroup
	for _, pod := range []string{"pod-a", "pod-b", "pod-c"} {
		// Waited for below; ends when the worker has left.
		all.Go(func() {
			if err := square(ctx, server.Addr(), pod, &results); err != nil {
				panic(err)
			}
		})
	}
	all.Wait()
	for id := range 3 {
		result, _ := results.Load(id)
		fmt.Println(id, result)
	}
	jobs, err := workerctl.List(ctx, client, nil)
	fmt.Println(len(jobs), "jobs are left,", err)
	// Output:
	// 0 0
	// 1 1
	// 2 4
	// 0 jobs are left, <nil>
}

// A worker that is started again gets its former number.
func ExampleJob_Join() {
	server, err := zktest.Start(nil)
	if err != nil {
		panic(err)
	}
	defer server.Close()
	ctx := context.Background()
	client, err := session.Connect(ctx, server.Addr(), nil)
	if err != nil {
		panic(err)
	}
	defer client.Close(ctx)
	job, err := workerctl.Submit(ctx, client, workerctl.Spec{Name: "words", Workers: 2}, nil)
	if err != nil {
		panic(err)
	}
	for _, pod := range []string{"pod-a", "pod-b", "pod-a"} {
		w, err := job.Join(ctx, workerctl.Identity{Name: pod})
		if err != nil {
			panic(err)
		}
		fmt.Println(pod, "is worker", w.ID(), "incarnation", w.Incarnation())
	}
	_, err = job.Join(ctx, workerctl.Identity{Name: "pod-c"})
	fmt.Println(err)
	// Output:
	// pod-a is worker 0 incarnation 1
	// pod-b is worker 1 incarnation 1
	// pod-a is worker 0 incarnation 2
	// workerctl: join /twister2/words: the job has all its workers
}
