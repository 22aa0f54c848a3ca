// Command versionpeer is one of the processes of scripts/check-versions.sh, which compiles it
// with two versions of the library: what the two share can be set by programs, and not by
// flags of zkr.
//
//	versionpeer queue SERVERS ROOT FOLDER   15 contenders of a lock whose queue is short, so
//	                                        that most of them wait beside it; each adds one
//	                                        to the number in the file FOLDER/count
//	versionpeer beats SERVERS ROOT          5 sessions that share heartbeats, and hold a lock
//	                                        each until the process ends
//
// "beats" prints every half second "mine" if one of its sessions has sent the last shared
// heartbeat, or "theirs", and the number of all heartbeats so far. It ends with 1 when a lock is
// lost.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/zkrecipes/zkrecipes/lock"
	"github.com/zkrecipes/zkrecipes/session"
)

const (
	contenders = 15 // of one process; two processes are needed
	maxQueue   = 2
	// atPath is how many contenders the queue at the path has at most, with a margin.
	atPath   = 8
	sessions = 5
)

func main() {
	// The script ends what takes too long.
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	err := errors.New("usage: see the source")
	switch args := os.Args[1:]; {
	case len(args) == 4 && args[0] == "queue":
		err = queue(ctx, args[1], args[2]+"/crowded", args[3])
	case len(args) == 3 && args[0] == "beats":
		err = beat(ctx, args[1], args[2])
	}
	cancel()
	if err != nil {
		fmt.Fprintln(os.Stderr, "versionpeer:", err)
		os.Exit(1)
	}
}

// queue contends for one lock with all contenders at once.
func queue(ctx context.Context, servers, path, folder string) error {
	client, err := session.Connect(ctx, servers, nil)
	if err != nil {
		return err
	}
	errs := make([]error, contenders)
	var all sync.WaitGroup
	for i := range errs {
		// Waited for below; ends with ctx at the latest.
		all.Go(func() { errs[i] = contend(ctx, client, path, folder) })
	}
	all.Wait()
	return errors.Join(errors.Join(errs...), client.Close(ctx))
}

func contend(ctx context.Context, client *session.Client, path, folder string) error {
	held, err := lock.New(client, path, &lock.Options{MaxQueue: maxQueue}).Lock(ctx)
	if err != nil {
		return err
	}
	return errors.Join(addOne(ctx, held.Session(), path, folder), held.Unlock(ctx))
}

// addOne must run alone. The first of all waits until contenders of both processes wait beside
// the queue.
func addOne(ctx context.Context, s *session.Session, path, folder string) error {
	alone, count := filepath.Join(folder, "held"), filepath.Join(folder, "count")
	if err := os.Mkdir(alone, 0o700); err != nil {
		return fmt.Errorf("two contenders hold the lock: %w", err)
	}
	text, err := os.ReadFile(count)
	if err != nil {
		return err
	}
	n, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		return err
	}
	if n == 0 {
		if err := awaitCrowd(ctx, s, path+".waiting"); err != nil {
			return err
		}
	}
	return errors.Join(os.WriteFile(count, []byte(strconv.Itoa(n+1)), 0o600), os.Remove(alone))
}

// awaitCrowd waits until as many clients wait beside the queue as two processes have, and
// therefore more than one of them has.
func awaitCrowd(ctx context.Context, s *session.Session, room string) error {
	for {
		waiting, _, err := s.Children(ctx, room)
		switch {
		case err != nil && !errors.Is(err, session.ErrNoNode):
			return err
		case len(waiting) >= 2*contenders-atPath:
			return nil
		}
		if err := pause(ctx, 50*time.Millisecond); err != nil {
			return fmt.Errorf("%d clients wait beside the queue: %w", len(waiting), err)
		}
	}
}

// beat holds a lock in each of several sessions that share heartbeats.
func beat(ctx context.Context, servers, root string) error {
	folder := root + "/heartbeats"
	var ids []int64
	var holds []*lock.Held
	for i := range sessions {
		client, err := session.Connect(ctx, servers, &session.Options{Timeout: 10 * time.Second, TickTime: 2 * time.Second, SharedHeartbeats: folder})
		if err != nil {
			return err
		}
		held, err := lock.New(client, fmt.Sprintf("%s/held-%d-%d", root, os.Getpid(), i), nil).Lock(ctx)
		if err != nil {
			return err
		}
		ids, holds = append(ids, held.Session().ID()), append(holds, held)
	}
	for {
		for _, held := range holds {
			if err := context.Cause(held.Context()); err != nil {
				return err
			}
		}
		if err := printSender(ctx, holds[0].Session(), folder, ids); err != nil {
			return err
		}
		if err := pause(ctx, 500*time.Millisecond); err != nil {
			return err
		}
	}
}

// printSender says whether one of ids has sent the last heartbeat. The format stands in
// internal/format/heartbeatformat, which is younger than the versions that this must compile with.
func printSender(ctx context.Context, s *session.Session, folder string, ids []int64) error {
	data, stat, err := s.Get(ctx, folder+"/server-1")
	if errors.Is(err, session.ErrNoNode) {
		return nil
	}
	if err != nil || len(data) == 0 { // it is created empty
		return err
	}
	var version, sender int64
	if _, err := fmt.Sscanf(string(data), "%d %x", &version, &sender); err != nil {
		return fmt.Errorf("heartbeat %q: %w", data, err)
	}
	whose := "theirs"
	if slices.Contains(ids, sender) {
		whose = "mine"
	}
	fmt.Println(whose, stat.Version)
	return nil
}

func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
