package main

import (
	"bufio"
	"fmt"
	"math"
	"os"
	"os/signal"
	"runtime"
	"sync"
	"syscall"
	"time"

	"github.com/spf13/cobra"
)

// keeperName is the command that "zkr group join" and "zkr worker" run for each of
// their commands.
const keeperName = "group-keeper"

// inputFD is the file descriptor of what the command reads from stdin, with --input:
// the keeper's own stdin has its orders.
const inputFD = 3

// What a keeper is told, one order per line: "stop D" ends the command, and kills it
// after D, unless that is negative; "signal N" passes a signal on.
const (
	orderStop   = "stop"
	orderSignal = "signal"
)

// keeper keeps a command: it ends when that and all its descendants are gone.
type keeper struct {
	app   *app
	argv  []string
	grace time.Duration // for what the command leaves running
	input bool          // the command has something to read
	group *group

	asked, hurry chan struct{} // closed when the command is to end, and when nobody waits any more
	ask, kill    func()        // close them, once
}

// groupKeeper is "zkr group-keeper".
func (a *app) groupKeeper() *cobra.Command {
	k := &keeper{app: a, asked: make(chan struct{}), hurry: make(chan struct{})}
	k.ask, k.kill = sync.OnceFunc(func() { close(k.asked) }), sync.OnceFunc(func() { close(k.hurry) })
	cmd := &cobra.Command{
		Use: keeperName + " -- CMD [ARGS...]", Short: "Keep one command of \"zkr group join\" or \"zkr worker\", which gives orders on stdin", Hidden: true,
		Args: beforeCommand("resource"),
		RunE: does(func(_ *cobra.Command, args []string) error {
			k.argv = args
			return k.run()
		}),
	}
	cmd.Flags().DurationVar(&k.grace, "grace", defaultGrace, "time between TERM and KILL for what the command leaves running")
	cmd.Flags().BoolVar(&k.input, "input", false, fmt.Sprintf("the command's stdin is file descriptor %d, and not empty", inputFD))
	return cmd
}

// run runs the command until it has ended, or is to end.
func (k *keeper) run() error {
	// The command dies with the thread that starts it; this one stays until the
	// keeper ends.
	runtime.LockOSThread()
	// Whoever ends all processes of a service means the command, which gets the
	// signal as well; zkr decides about the rest.
	ignored := listen()
	defer signal.Stop(ignored)
	in, err := k.stdin()
	if err != nil {
		return err
	}
	k.group, err = startGroup(k.argv, os.Environ(), in, k.app.stdout, k.app.stderr)
	_ = in.Close() // the command has its own; who writes sees when nobody reads any more
	if err != nil {
		return err
	}
	// Nobody waits for it; it ends with the keeper.
	go k.obey()
	grace := k.grace
	select {
	case <-k.group.reaped:
	case <-k.asked:
		grace = math.MaxInt64
	case status := <-k.group.exited:
		k.group.exited <- status // it has room for one
	}
	for warned := false; !k.group.stop(grace, k.hurry, killLimit, true); warned = true {
		if grace = 0; !warned {
			k.app.note("still waiting for processes of the command: they %s", k.group.survive())
		}
	}
	select {
	case status := <-k.group.exited:
		return exitOf(status)
	default:
		return fmt.Errorf("the command's end was not seen")
	}
}

// stdin is what the command reads.
func (k *keeper) stdin() (*os.File, error) {
	if !k.input {
		return os.Open(os.DevNull)
	}
	syscall.CloseOnExec(inputFD) // the command has it as its stdin only
	return os.NewFile(inputFD, "input"), nil
}

// obey reads orders. Their end means that zkr is gone: nothing stands for the
// resource any more.
func (k *keeper) obey() {
	defer k.kill()
	defer k.ask()
	for lines := bufio.NewScanner(k.app.stdin); lines.Scan(); {
		var order, what string
		if _, err := fmt.Sscan(lines.Text(), &order, &what); err != nil {
			continue
		}
		switch order {
		case orderStop:
			if grace, err := time.ParseDuration(what); err == nil && grace >= 0 {
				time.AfterFunc(grace, k.kill)
			}
			k.ask()
		case orderSignal:
			var number int
			if _, err := fmt.Sscan(what, &number); err == nil {
				_ = k.group.signal(syscall.Signal(number)) // nobody may be left
			}
		}
	}
}
