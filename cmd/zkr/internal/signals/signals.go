package signals

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"sync"
	"syscall"

	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/exit"
)

// endingSignals end a wait, and are passed on to a command.
var endingSignals = []os.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT} // read only

// Listen subscribes to the signals of a run. Signals that zkr was told to
// ignore (by nohup, or by a shell that runs zkr in the background) stay
// ignored, for zkr and for the command, which inherits the setting.
func Listen() chan os.Signal {
	ch := make(chan os.Signal, 64)
	for _, sig := range append(append([]os.Signal(nil), endingSignals...), passedOn...) {
		if !signal.Ignored(sig) {
			signal.Notify(ch, sig)
		}
	}
	return ch
}

// EndedBySignal is the cause of a context that a signal ended.
type EndedBySignal struct{ Sig syscall.Signal }

func (e EndedBySignal) Error() string {
	return fmt.Sprintf("ended by signal %d (%v)", int(e.Sig), e.Sig)
}

// UntilSignal returns a context that ends with the first of the endingSignals;
// the cause is an EndedBySignal. stop ends the watching and returns the cause;
// later signals stay in ch.
func UntilSignal(ctx context.Context, ch <-chan os.Signal) (_ context.Context, stop func() error) {
	inner, cancel := context.WithCancelCause(ctx)
	over := make(chan struct{})
	var watcher sync.WaitGroup
	// Waited for and ended by stop.
	watcher.Go(func() {
		for {
			select {
			case sig := <-ch:
				if EndsWait(sig) {
					cancel(EndedBySignal{sig.(syscall.Signal)})
					return
				}
				if sig == TerminalStop {
					StopSelf(func() {})
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
		for cause == nil { // a signal may have come with the result
			select {
			case sig := <-ch:
				if EndsWait(sig) {
					cause = EndedBySignal{sig.(syscall.Signal)}
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

// EndsWait reports whether sig ends a wait.
func EndsWait(sig os.Signal) bool {
	for _, s := range endingSignals {
		if s == sig {
			return true
		}
	}
	return false
}

// Interrupted is the error of a wait that a signal ended.
func Interrupted(cause error, format string, args ...any) error {
	var by EndedBySignal
	if !errors.As(cause, &by) {
		return cause
	}
	return exit.BySignal(by.Sig, "%s: %w", fmt.Sprintf(format, args...), cause)
}
