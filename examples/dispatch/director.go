package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/zkrecipes/zkrecipes/examples/internal/cleanup"
	"github.com/zkrecipes/zkrecipes/examples/internal/osproc"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// curtain buffers writes until it is opened.
type curtain struct {
	mu   sync.Mutex // guards the fields below
	kept bytes.Buffer
	out  io.Writer // nil: closed
}

func (c *curtain) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.out == nil {
		return c.kept.Write(p)
	}
	return c.out.Write(p)
}

func (c *curtain) open(out io.Writer) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.out = out
	_, _ = c.kept.WriteTo(out) // a closed out does not matter
}

// runScenarios runs all scenarios at the same time, and prints them one after the other.
func runScenarios(ctx context.Context, c settings, out io.Writer) (err error) {
	if err := osproc.CanFreeze(); err != nil {
		return err
	}
	plays, err := c.selectedScenarios()
	if err != nil {
		return err
	}
	if c.servers == "" {
		server, err := zktest.Start(&zktest.Options{TickTime: 500 * time.Millisecond})
		if err != nil {
			return err
		}
		defer server.Close()
		c.servers = server.Addr()
	}
	client, err := session.Connect(ctx, c.servers, nil)
	if err != nil {
		return err
	}
	defer client.Close(context.WithoutCancel(ctx))
	s, err := client.Session(ctx)
	if err != nil {
		return err
	}
	if _, err := s.Create(ctx, c.path, nil, session.Persistent, nil); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, cleanup.DeleteTree(context.WithoutCancel(ctx), client, c.path)) }()
	var all sync.WaitGroup
	defer all.Wait()
	curtains, over := make([]curtain, len(plays)), make([]chan error, len(plays))
	for i, play := range plays {
		own := c
		own.path += "/" + play.name
		over[i] = make(chan error, 1)
		// Waited for above; ends with the play, which has a limit.
		all.Go(func() { over[i] <- perform(ctx, own, play, client, &curtains[i]) })
	}
	for i, play := range plays {
		fmt.Fprintf(out, "%s: %s\n", play.name, play.about)
		curtains[i].open(out)
		if bad := <-over[i]; bad != nil {
			err = errors.Join(err, fmt.Errorf("%s: %w", play.name, bad))
			fmt.Fprintf(out, "FAILED: %v\n", bad)
		}
		fmt.Fprintln(out)
	}
	return err
}

// perform plays one scenario, and has it judged.
func perform(ctx context.Context, c settings, play scenario, client *session.Client, out io.Writer) (err error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	s, err := client.Session(ctx)
	if err != nil {
		return err
	}
	b := newBystander(c.path, out)
	watched, ready := make(chan error, 1), make(chan struct{})
	var watchers sync.WaitGroup
	defer watchers.Wait()
	defer cancel()
	// Waited for above; ends with ctx.
	watchers.Go(func() { watched <- b.watch(ctx, s, func() { close(ready) }) })
	// Waited for above; ends with ctx. A play does not go on without it.
	watchers.Go(func() { _ = b.observe(ctx, client) })
	select {
	case <-ready:
	case err := <-watched:
		return err
	}
	troupe := newCrew(c, b)
	defer func() { err = errors.Join(err, troupe.Dismiss()) }()
	// A call that waits for a process waits until the process is killed at the latest.
	defer context.AfterFunc(ctx, troupe.KillAll)()
	if err := play.play(ctx, troupe); err != nil {
		return err
	}
	left, err := troupe.finish(ctx, play, client)
	if err != nil {
		return err
	}
	dead := troupe.dead()
	b.mu.Lock()
	v := judge(b.seen, play.tasks, dead, left)
	b.mu.Unlock()
	fmt.Fprintln(out, v)
	if play.original != "" {
		fmt.Fprintln(out, "the original:", play.original)
	}
	return v.Err()
}

// finish waits for the clients, ends the workers, and, when nothing is left to do, the
// masters. It returns what is left then.
func (c *crew) finish(ctx context.Context, play scenario, client *session.Client) (left []string, err error) {
	if err := c.awaitEnds(play.clients...); err != nil {
		return nil, err
	}
	var workers, masters []string
	_, others := c.Names()
	for _, name := range others {
		switch {
		case strings.HasPrefix(name, "m"):
			masters = append(masters, name)
		case !strings.HasPrefix(name, "c"):
			workers = append(workers, name)
		}
	}
	slices.Sort(masters)
	slices.Sort(workers)
	// The tasks of a client that was killed may still be in progress, or be kept.
	if err := c.until(ctx, "the last tasks to be removed", func(b *bystander) bool { return len(b.seen.removed) == len(b.seen.submitted) }); err != nil {
		return nil, err
	}
	if err := c.end(workers...); err != nil {
		return nil, err
	}
	// Masters have to notice the processes that have died.
	for {
		if left, err = remains(ctx, client, c.path); err != nil || len(left) == 0 {
			break
		}
		select {
		case <-time.After(50 * time.Millisecond):
		case <-ctx.Done():
			return left, nil
		}
	}
	return left, errors.Join(err, c.end(masters...))
}

// remains lists the znodes in the queue that are neither a folder nor the election.
func remains(ctx context.Context, client *session.Client, path string) (out []string, err error) {
	s, err := client.Session(ctx)
	if err != nil {
		return nil, err
	}
	for folder, depth := range map[string]int{"tasks": 2, "data": 2, "results": 2, "workers": 1, "alive": 1, "clients": 1} {
		found := []string{path + "/" + folder}
		for range depth {
			var next []string
			for _, p := range found {
				names, _, err := s.Children(ctx, p)
				if err != nil && !errors.Is(err, session.ErrNoNode) {
					return nil, err
				}
				for _, name := range names {
					next = append(next, p+"/"+name)
				}
			}
			found = next
		}
		out = append(out, found...)
	}
	slices.Sort(out)
	return out, nil
}
