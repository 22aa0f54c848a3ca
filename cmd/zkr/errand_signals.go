package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"
)

// endSignals end a wait, and are passed on to a command.
var endSignals = []os.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT} // read only

// passSignals are passed on to a command, and mean nothing before it runs.
var passSignals = []os.Signal{syscall.SIGUSR1, syscall.SIGUSR2, syscall.SIGWINCH} // read only

// stopSignals concern job control, while a command runs.
var stopSignals = []os.Signal{syscall.SIGTSTP, syscall.SIGCONT} // read only

// listen subscribes to the signals of an errand. What zkr was told to ignore (by
// nohup, or by a shell that runs it in the background) stays ignored, for zkr
// and for the command, which inherits that.
func listen() chan os.Signal {
	ch := make(chan os.Signal, 64)
	for _, sig := range append(append([]os.Signal(nil), endSignals...), passSignals...) {
		if !signal.Ignored(sig) {
			signal.Notify(ch, sig)
		}
	}
	return ch
}

// ended is the cause of a context that a signal ended.
type endedBy struct{ sig syscall.Signal }

func (e endedBy) Error() string { return fmt.Sprintf("ended by signal %d (%v)", int(e.sig), e.sig) }

// untilSignal returns a context that ends with the first signal of endSignals,
// whose cause is then endedBy. stop ends the watching and returns its verdict;
// signals after that stay in ch.
func untilSignal(ctx context.Context, ch <-chan os.Signal) (_ context.Context, stop func() error) {
	inner, cancel := context.WithCancelCause(ctx)
	over := make(chan struct{})
	var watcher sync.WaitGroup
	// Waited for by stop, which ends it.
	watcher.Go(func() {
		for {
			select {
			case sig := <-ch:
				if ends(sig) {
					cancel(endedBy{sig.(syscall.Signal)})
					return
				}
				if sig == syscall.SIGTSTP {
					stopSelf(func() {})
				}
			case <-over:
				return
			}
		}
	})
	return inner, func() error {
		close(over)
		watcher.Wait()
		cause := context.Cause(inner)
		for cause == nil { // one may have come with the result
			select {
			case sig := <-ch:
				if ends(sig) {
					cause = endedBy{sig.(syscall.Signal)}
				}
				continue
			default:
			}
			break
		}
		cancel(nil)
		return cause
	}
}

func ends(sig os.Signal) bool {
	for _, s := range endSignals {
		if s == sig {
			return true
		}
	}
	return false
}

// stopSelf stops zkr, after it has done what belongs to that, until somebody
// continues it. Where nobody could, in a group that no shell controls, it does
// nothing.
func stopSelf(also func()) {
	if !controlled() {
		return
	}
	continued := make(chan os.Signal, 1)
	signal.Notify(continued, syscall.SIGCONT)
	defer signal.Stop(continued)
	also()
	_ = syscall.Kill(os.Getpid(), syscall.SIGSTOP)
	// The stop may take other threads before this one.
	over, stopTimer := timer(time.Second)
	defer stopTimer()
	select {
	case <-continued:
	case <-over:
	}
}
