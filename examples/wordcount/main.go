// Command wordcount counts the words of the files in a folder with several
// processes, which may run on several machines that share the folder.
//
//	wordcount -servers zk1:2181,zk2:2181 -workers 3 -name a -in books -out counts &
//	wordcount -servers zk1:2181,zk2:2181 -workers 3 -name b -in books -out counts &
//	wordcount -servers zk1:2181,zk2:2181 -workers 3 -name c -in books -out counts
//
// Each of them counts its share of the files (map); when all have done so, each
// adds up its share of the words (reduce); then one of them writes them all to
// counts/words.txt. Any of them may be killed at any time: started again under
// its name it takes its number over and goes on.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"time"

	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/workerctl"
)

// settings are the values of the flags.
type settings struct {
	servers, job, name, in, out string
	workers                     int
	pace                        time.Duration
}

func main() {
	var c settings
	flag.StringVar(&c.servers, "servers", "127.0.0.1:2181", "ZooKeeper's servers, host:port,..., and perhaps a chroot behind the last one")
	flag.StringVar(&c.job, "job", "wordcount", "name of the job")
	flag.StringVar(&c.name, "name", "", "name of this worker: another one for each, and the same after a restart")
	flag.StringVar(&c.in, "in", ".", "folder with the files to count")
	flag.StringVar(&c.out, "out", "counts", "folder for the results, which all workers share")
	flag.IntVar(&c.workers, "workers", 1, "number of workers")
	flag.DurationVar(&c.pace, "pace", 0, "rest after each file, to watch it")
	flag.Parse()
	if flag.NArg() > 0 {
		fmt.Fprintf(os.Stderr, "wordcount: unexpected argument %q\n", flag.Arg(0))
		os.Exit(2) // as for a flag that there is not
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, c, os.Stdout)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "wordcount:", err)
		os.Exit(1)
	}
}

// run is the life of one worker.
func run(ctx context.Context, c settings, log io.Writer) error {
	if c.name == "" {
		return errors.New("-name is missing")
	}
	options, err := workerctl.OptionsFromEnv(os.Getenv)
	if err != nil {
		return err
	}
	client, err := session.Connect(ctx, c.servers, nil)
	if err != nil {
		return err
	}
	defer client.Close(context.WithoutCancel(ctx))
	job, err := theJob(ctx, client, c, options)
	if err != nil {
		return err
	}
	w, err := job.Join(ctx, workerctl.Identity{Name: c.name})
	if err != nil {
		return err
	}
	fmt.Fprintf(log, "worker %d, incarnation %d\n", w.ID(), w.Incarnation())
	if err := job.WaitAll(ctx); err != nil {
		return err
	}
	if err := count(ctx, w, c, log); err != nil {
		return err
	}
	return w.Leave(ctx) // the last one out removes the job
}

// theJob returns the job, which the first worker submits.
func theJob(ctx context.Context, client *session.Client, c settings, o *workerctl.Options) (*workerctl.Job, error) {
	job, err := workerctl.Submit(ctx, client, workerctl.Spec{Name: c.job, Workers: c.workers}, o)
	if !errors.Is(err, workerctl.ErrRunning) {
		return job, err
	}
	if job, err = workerctl.Attach(ctx, client, c.job, o); err != nil {
		return nil, err
	}
	info, err := job.Info(ctx)
	if err == nil && info.Workers != c.workers {
		// The shares of the workers depend on this number.
		err = fmt.Errorf("-workers is %d, and the job has %d", c.workers, info.Workers)
	}
	return job, err
}

// count does the worker's share of each phase. A worker that was restarted repeats its
// work, with the same result; a phase that is over is passed at once.
func count(ctx context.Context, w *workerctl.Worker, c settings, log io.Writer) error {
	for _, step := range []struct {
		name string
		do   func(ctx context.Context) error
	}{
		{"map", func(ctx context.Context) error { return mapFiles(ctx, c, w.ID(), log) }},
		{"reduce", func(ctx context.Context) error { return reduceWords(ctx, c, w.ID()) }},
		{"write", func(ctx context.Context) error {
			if w.ID() != 0 {
				return nil
			}
			return writeWords(c)
		}},
	} {
		// The worker's context: it ends when another process may have taken over.
		if err := step.do(w.Context()); err != nil {
			return fmt.Errorf("%s: %w", step.name, err)
		}
		if err := w.Phase(ctx, step.name); err != nil {
			return err
		}
		fmt.Fprintln(log, step.name, "is over")
	}
	return nil
}
