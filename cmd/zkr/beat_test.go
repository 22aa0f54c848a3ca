//go:build unix

package main

import (
	"cmp"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// pulse is how often a beat writes.
const pulse = 5 * time.Millisecond

// beat writes the time and the token into a file until a signal ends the
// process; "stubborn" beats ignore INT and TERM.
func beat(args []string) {
	if len(args) > 1 && args[1] == "stubborn" {
		signal.Ignore(syscall.SIGTERM, syscall.SIGINT)
	}
	f, err := os.OpenFile(args[0], os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	for range time.Tick(pulse) {
		fmt.Fprintln(f, time.Now().UnixNano(), cmp.Or(os.Getenv("ZKR_LOCK_TOKEN"), os.Getenv("ZKR_LEADER_TOKEN")))
	}
}

// daemon starts a stubborn beat in a session of its own, as daemons do, and
// ends. zkr is not its parent any more then.
func daemon(args []string) {
	cmd := exec.Command(os.Args[0], helpBeat, args[0], "stubborn")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// countTerms prints its name and "in", and then "asked" for each TERM, until a
// little after the first TERM.
func countTerms(name string) {
	terms := make(chan os.Signal, 8)
	signal.Notify(terms, syscall.SIGTERM)
	fmt.Println(name, "in")
	var over <-chan time.Time
	for {
		select {
		case <-terms:
			fmt.Println(name, "asked")
			if over == nil {
				over = time.After(200 * time.Millisecond)
			}
		case <-over:
			return
		}
	}
}

// beats are the times in the file of a beat.
func beats(t *testing.T, file string) []time.Time {
	t.Helper()
	data, err := os.ReadFile(file)
	if os.IsNotExist(err) {
		return nil
	}
	require.NoError(t, err)
	var out []time.Time
	for line := range strings.Lines(string(data)) {
		nano, _, _ := strings.Cut(line, " ")
		n, err := strconv.ParseInt(nano, 10, 64)
		if err == nil && strings.HasSuffix(line, "\n") {
			out = append(out, time.Unix(0, n))
		}
	}
	return out
}

// beating waits until a beat has begun.
func beating(t *testing.T, file string) {
	t.Helper()
	eventually(t, func() bool { return len(beats(t, file)) > 3 }, "a heart beats in %s", file)
}

// silent requires that no process writes into file any more, and returns the
// last beat. A signal has been sent by now, but an interrupted system call may
// still end, so the times of the beats count.
func silent(t *testing.T, file string) time.Time {
	t.Helper()
	const quiet, kick = 100 * time.Millisecond, 10 * time.Millisecond
	asked := time.Now()
	all := beats(t, file)
	require.NotEmpty(t, all)
	seen := asked
	eventually(t, func() bool {
		if now := beats(t, file); len(now) > len(all) {
			all, seen = now, time.Now()
		}
		return time.Since(seen) > quiet
	}, "the heart in %s ends", file)
	require.Less(t, all[len(all)-1].Sub(asked), kick, "a heart still beats in %s", file)
	return all[len(all)-1]
}
