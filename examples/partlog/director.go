package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/zkrecipes/zkrecipes/examples/internal/cleanup"
	"github.com/zkrecipes/zkrecipes/examples/internal/osproc"
	"github.com/zkrecipes/zkrecipes/rebalanser"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// tail is how long the consumers may take to process the rest, after the last
// record and the last fault.
const tail = 2 * time.Minute

// runDemo runs the whole demonstration: it prepares the log, injects faults
// into the consumers, and judges the output.
func runDemo(ctx context.Context, c settings, out io.Writer) (err error) {
	if err := osproc.CanFreeze(); err != nil {
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
	if c.dir == "" {
		if c.dir, err = os.MkdirTemp("", "partlog-"); err != nil {
			return err
		}
		if !c.keep {
			defer os.RemoveAll(c.dir)
		}
	}
	client, err := session.Connect(ctx, c.servers, nil)
	if err != nil {
		return err
	}
	defer client.Close(context.WithoutCancel(ctx))
	if err := prepareLog(ctx, c, client); err != nil {
		return err
	}
	if !c.keep {
		defer func() { err = errors.Join(err, cleanup.DeleteTree(context.WithoutCancel(ctx), client, c.root)) }()
	}
	fmt.Fprintf(out, "seed %d; a consumer by hand: partlog %s\n", c.seed, strings.Join(c.arguments("NAME"), " "))
	did, err := play(ctx, c, client, out)
	if err != nil {
		return err
	}
	found, err := judge(ctx, c, client)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "\nthe consumers were %v\n%v\n", did, found)
	return found.Err()
}

// prepareLog creates the log, the group and the heads.
func prepareLog(ctx context.Context, c settings, client *session.Client) error {
	for _, sub := range []string{"log", "out"} {
		if err := os.MkdirAll(filepath.Join(c.dir, sub), 0o755); err != nil {
			return err
		}
	}
	s, err := client.Session(ctx)
	if err != nil {
		return err
	}
	for _, path := range []string{c.root, c.root + "/heads"} {
		if _, err := s.Create(ctx, path, nil, session.Persistent, nil); err != nil {
			return err
		}
	}
	none, err := json.Marshal(head{})
	if err != nil {
		return err
	}
	var names []string
	for i := range c.partitions {
		names = append(names, partitionName(i))
		if _, err := s.Create(ctx, c.root+"/heads/"+partitionName(i), none, session.Persistent, nil); err != nil {
			return err
		}
		if err := os.WriteFile(logFile(c.dir, partitionName(i)), nil, 0o600); err != nil {
			return err
		}
	}
	group := rebalanser.Open(client, c.root+"/group", nil)
	if err := group.Create(ctx); err != nil {
		return err
	}
	_, err = group.AddResources(ctx, names...)
	return err
}

// play lets the producer produce and the consumers consume, disturbs these, and waits
// until all is done.
func play(ctx context.Context, c settings, client *session.Client, out io.Writer) (did tally, err error) {
	crew := newCrew(c, out)
	defer crew.endAll()
	for i := range c.consumers {
		if err := crew.start(fmt.Sprintf("c%d", i+1)); err != nil {
			return did, err
		}
	}
	producing, end := context.WithCancel(ctx)
	defer end()
	produced := make(chan error, 1)
	// Waited for below, by its result; ends with producing.
	go func() { produced <- produce(producing, c) }()
	if err = awaitStart(ctx, c, client, crew); err == nil {
		did, err = crew.injectFaults(ctx, rand.New(rand.NewPCG(c.seed, 2)))
	}
	end()
	if err = errors.Join(err, <-produced); err != nil {
		return did, err
	}
	limited, cancel := context.WithTimeout(ctx, tail)
	defer cancel()
	for {
		left, err := unprocessedBytes(limited, c, client)
		if err == nil && left == 0 {
			return did, nil
		}
		if err = errors.Join(err, crew.Failure()); err != nil {
			return did, err
		}
		if sleepContext(limited, 50*time.Millisecond); limited.Err() != nil {
			return did, fmt.Errorf("%d bytes of the log are not processed after %v more", left, tail)
		}
	}
}

// awaitStart waits until every consumer has owned a partition, and a part of every
// partition is processed. From then on every fault of a consumer makes partitions move.
func awaitStart(ctx context.Context, c settings, client *session.Client, crew *crew) error {
	limited, cancel := context.WithTimeout(ctx, tail)
	defer cancel()
	for {
		all := crew.haveOwned()
		for i := range c.partitions {
			h, _, err := c.store(client, partitionName(i)).head(limited)
			if err != nil {
				return err
			}
			all = all && h.Offset > 0
		}
		if err := crew.Failure(); all || err != nil {
			return err
		}
		if sleepContext(limited, 20*time.Millisecond); limited.Err() != nil {
			return fmt.Errorf("not all consumers work after %v", tail)
		}
	}
}

// unprocessedBytes returns the number of bytes of the log that are not
// processed yet.
func unprocessedBytes(ctx context.Context, c settings, client *session.Client) (left int64, err error) {
	for i := range c.partitions {
		h, _, err := c.store(client, partitionName(i)).head(ctx)
		if err != nil {
			return 0, err
		}
		info, err := os.Stat(logFile(c.dir, partitionName(i)))
		if err != nil {
			return 0, err
		}
		left += info.Size() - h.Offset
	}
	return left, nil
}
