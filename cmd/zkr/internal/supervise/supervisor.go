package supervise

import (
	"bufio"
	"fmt"
	"io"
	"math"
	"os"
	"os/signal"
	"runtime"
	"sync"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/cli"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/exit"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/signals"
)

// SupervisorName is the command that stands between zkr and each command.
const SupervisorName = "run-supervisor"

// inputFD is the file descriptor of the command's stdin, with --input: the
// supervisor's own stdin has its orders.
const inputFD = 3

// The orders for a supervisor, one per line: "stop D" ends the command, and
// kills the command after D, unless D is negative; "signal N" passes a signal
// on.
const (
	orderStop   = "stop"
	orderSignal = "signal"
)

// supervisor runs a command, and ends when the command and all its descendants
// are gone.
type supervisor struct {
	app   *cli.App
	argv  []string
	grace time.Duration // for processes that the command leaves running
	input bool          // the command has something to read
	guard bool          // see guardedCommand
	group *group

	orders  io.Reader
	reports io.Writer // with guard

	asked, hurry, left chan struct{} // closed when the command is to end, when KILL is due, and when the command is left alone
	ask, kill, leave   func()        // close them, once
}

// SupervisorCommand is "zkr run-supervisor", which only zkr itself starts.
func SupervisorCommand(a *cli.App) *cobra.Command {
	k := &supervisor{app: a, orders: a.Stdin, asked: make(chan struct{}), hurry: make(chan struct{}), left: make(chan struct{})}
	k.ask, k.kill, k.leave = sync.OnceFunc(func() { close(k.asked) }), sync.OnceFunc(func() { close(k.hurry) }), sync.OnceFunc(func() { close(k.left) })
	cmd := &cobra.Command{
		Use: SupervisorName + " -- CMD [ARGS...]", Short: "Keep one command of another zkr, which gives orders on stdin", Hidden: true,
		Args: cli.BeforeCommand("resource"),
		RunE: cli.RunE(func(_ *cobra.Command, args []string) error {
			k.argv = args
			return k.run()
		}),
	}
	cmd.Flags().DurationVar(&k.grace, "grace", DefaultGrace, "time between TERM and KILL for what the command leaves running")
	cmd.Flags().BoolVar(&k.input, "input", false, fmt.Sprintf("the command's stdin is file descriptor %d, and not empty", inputFD))
	cmd.Flags().BoolVar(&k.guard, "guard", false, fmt.Sprintf("stdin is the command's; orders come on file descriptor %d, and reports go to %d", ordersFD, reportsFD))
	return cmd
}

// run runs the command until the command has ended, or is to end.
func (k *supervisor) run() error {
	// The command dies with the thread that starts it; this thread stays until
	// the supervisor ends.
	runtime.LockOSThread()
	// A service manager that signals all processes of a service means the
	// command, which gets the signal as well; zkr decides about the rest.
	ignored := signals.Listen()
	defer signal.Stop(ignored)
	if k.guard {
		return k.runGuarded()
	}
	in, err := k.stdin()
	if err != nil {
		return err
	}
	k.group, err = startGroup(k.argv, os.Environ(), in, k.app.Stdout, k.app.Stderr)
	_ = in.Close() // the command has its own copy; a writer notices when the last reader goes
	if err != nil {
		return err
	}
	// The supervisor does not wait for this goroutine, which ends with the process.
	go k.obey()
	grace := k.grace
	select {
	case <-k.group.reaped:
	case <-k.asked:
		grace = math.MaxInt64
	case status := <-k.group.exited:
		k.group.exited <- status // the channel has room for one
	}
	k.end(grace)
	select {
	case status := <-k.group.exited:
		return ExitOf(status)
	default:
		return fmt.Errorf("the end of the command was not observed")
	}
}

// end ends the command and all its descendants. A process of another user, or a
// process that hangs in the kernel, is waited for as long as necessary.
func (k *supervisor) end(grace time.Duration) {
	limit := killLimit
	for !k.group.stop(grace, k.hurry, limit) {
		if limit == killLimit {
			k.app.Note("still waiting for processes of the command: they %s", k.group.survive())
		}
		grace, limit = 0, time.Millisecond
		cli.WaitFor(k.group.reaped, time.Second)
	}
}

// runGuarded runs a command under a hold, and reports the command's events. zkr
// itself ends the processes that the command leaves running.
func (k *supervisor) runGuarded() error {
	syscall.CloseOnExec(ordersFD) // a command with this descriptor would be its end
	syscall.CloseOnExec(reportsFD)
	k.orders, k.reports = os.NewFile(ordersFD, "orders"), os.NewFile(reportsFD, "reports")
	var err error
	if k.group, err = startGroup(k.argv, os.Environ(), k.app.Stdin, k.app.Stdout, k.app.Stderr); err != nil {
		f := exit.Classify(err)
		k.report("%s %d %q", reportFailed, f.Code, err.Error())
		return exit.Silent(f.Code) // zkr prints the error
	}
	signal.Ignore(signals.TerminalOutput) // a stopped supervisor cannot end anything
	k.report("%s %d", reportStarted, k.group.id)
	// The supervisor does not wait for this goroutine, which ends with the process.
	go k.obey()
	for {
		select {
		case sig := <-k.group.stopped:
			k.report("%s %d", reportStopped, sig)
		case status := <-k.group.exited:
			k.report("%s %d", reportExited, statusNumber(status))
		case <-k.left:
			return nil
		case <-k.asked:
			grace := time.Duration(math.MaxInt64)
			select {
			case <-k.hurry:
				grace = 0
			default:
			}
			k.end(grace)
			select {
			case status := <-k.group.exited:
				k.report("%s %d", reportExited, statusNumber(status))
			default:
			}
			return nil
		}
	}
}

// report writes a line for zkr; if zkr is gone, the orders have ended as well.
func (k *supervisor) report(format string, args ...any) {
	_, _ = fmt.Fprintf(k.reports, format+"\n", args...)
}

// stdin is the stdin of the command.
func (k *supervisor) stdin() (*os.File, error) {
	if !k.input {
		return os.Open(os.DevNull)
	}
	syscall.CloseOnExec(inputFD) // only the command has this file, as its stdin
	return os.NewFile(inputFD, "input"), nil
}

// obey reads orders. The end of the orders means that zkr is gone: the hold has
// no owner any more.
func (k *supervisor) obey() {
	defer k.ask()
	defer k.kill() // first: there is no grace
	for lines := bufio.NewScanner(k.orders); lines.Scan(); {
		var order, what string
		if _, err := fmt.Sscan(lines.Text(), &order, &what); err != nil {
			continue
		}
		switch order {
		case orderStop:
			switch grace, err := time.ParseDuration(what); {
			case err != nil || grace < 0:
			case grace == 0:
				k.kill()
			default:
				time.AfterFunc(grace, k.kill)
			}
			k.ask()
		case orderLeave:
			k.leave()
		case orderSignal:
			var number int
			if _, err := fmt.Sscan(what, &number); err == nil {
				_ = k.group.signal(syscall.Signal(number)) // an error means that the group is gone
			}
		}
	}
}
