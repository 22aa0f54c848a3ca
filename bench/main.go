package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/zkrecipes/zkrecipes/bench/internal/gozookeeper"
	"github.com/zkrecipes/zkrecipes/bench/internal/ours"
	"github.com/zkrecipes/zkrecipes/bench/internal/task"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	run := compare
	args := os.Args[1:]
	if len(args) > 0 {
		switch args[0] {
		case rolePeer:
			run = runPeer
		case roleHolders:
			run, args = measureHolders, args[1:]
		case roleCrowd:
			run, args = measureCrowd, args[1:]
		case roleIdle:
			run, args = measureIdle, args[1:]
		}
	}
	err := run(ctx, args)
	if ctx.Err() != nil {
		err = context.Cause(ctx) // the cause, whatever the command was doing
	}
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "bench:", err)
		stop()
		os.Exit(1) //nolint:gocritic // what was deferred has been done
	}
}

// runPeer makes this process a peer.
func runPeer(ctx context.Context, args []string) error {
	if len(args) != 4 {
		return fmt.Errorf("%s NAME SERVERS TIMEOUT: got %q", rolePeer, args)
	}
	ms, err := strconv.Atoi(args[3])
	if err != nil {
		return err
	}
	timeout := time.Duration(ms) * time.Millisecond
	peers := map[string]task.Peer{
		ourName:     ours.Peer{Servers: args[2], Timeout: timeout},
		goZooKeeper: gozookeeper.Peer{Servers: args[2], Timeout: timeout},
	}
	p, ok := peers[args[1]]
	if !ok {
		return fmt.Errorf("no peer is called %q", args[1])
	}
	return task.Serve(ctx, os.Stdin, os.Stdout, p)
}

// settings are the settings of the command line.
type settings struct {
	only          *regexp.Regexp
	warm, time    time.Duration
	rounds        int
	peers         []string
	profiles      []profile
	servers, file string
	timeout       time.Duration
}

func parse(args []string, out io.Writer) (settings, error) {
	var s settings
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	flags.SetOutput(out)
	only := flags.String("only", "", "run the workloads whose names match this regular expression")
	peers := flags.String("peers", strings.Join(allPeers(), ","), "the participants")
	profiles := flags.String("profile", "loopback,lan", "the networks between the peers and the server")
	flags.DurationVar(&s.time, "time", 4*time.Second, "how long a run measures")
	flags.DurationVar(&s.warm, "warm", 0, "how long a run warms up before; 0 means half of -time")
	flags.IntVar(&s.rounds, "rounds", 3, "how often each peer runs each workload")
	flags.StringVar(&s.servers, "servers", "", "connect string of a running ensemble, without a chroot; default: start a server")
	flags.StringVar(&s.file, "out", "", "a file that gets the lines of JSON, too")
	flags.DurationVar(&s.timeout, "timeout", 10*time.Second, "session timeout of all peers")
	if err := flags.Parse(args); err != nil {
		return s, err
	}
	s.peers = strings.Split(*peers, ",")
	if s.warm == 0 {
		s.warm = s.time / 2
	}
	var err error
	if s.only, err = regexp.Compile(*only); err != nil {
		return s, fmt.Errorf("-only: %w", err)
	}
	switch {
	case flags.NArg() > 0:
		return s, fmt.Errorf("unexpected argument %q", flags.Arg(0))
	case s.time <= 0 || s.warm < 0:
		return s, errors.New("-time must be more than 0, and -warm at least 0")
	case s.rounds < 1:
		return s, errors.New("-rounds: must be at least 1")
	case s.timeout <= 0:
		return s, errors.New("-timeout: must be more than 0")
	}
	if s.profiles, err = parseProfiles(*profiles); err != nil {
		return s, err
	}
	for _, peer := range s.peers {
		if !slices.Contains(allPeers(), peer) {
			return s, fmt.Errorf("-peers: %q is not one of %s", peer, strings.Join(allPeers(), ", "))
		}
	}
	return s, nil
}
