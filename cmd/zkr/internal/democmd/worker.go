package democmd

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/cli"
	"github.com/zkrecipes/zkrecipes/lock"
	"github.com/zkrecipes/zkrecipes/session"
)

// Event is an event of a worker: a line of "zkr demo -o json".
type Event struct {
	At     time.Time `json:"time"`
	Worker string    `json:"worker"`
	// Event is started, waits, holds, releases, lost, refused, leaves (said by
	// the worker), or killed, frozen, woken (by the demonstration).
	Event   string  `json:"event"`
	Token   int64   `json:"token,omitempty,string"`
	Session string  `json:"session,omitempty"`
	PID     int     `json:"pid,omitempty"`
	Cause   string  `json:"cause,omitempty"`
	Elapsed float64 `json:"elapsed_s,omitempty"` // since the demonstration began
}

// worker is a process of the demonstration.
type worker struct {
	name   string
	out    io.Writer
	client *session.Client
	mutex  *lock.Mutex
	orders chan string // closed after the last order
}

// demoWorker is a process that the demonstration starts.
func (a *app) demoWorker() *cobra.Command {
	return &cobra.Command{
		Use: "demo-worker NAME", Hidden: true, Args: cobra.ExactArgs(1),
		RunE: cli.RunE(func(cmd *cobra.Command, args []string) error {
			ctx, cancel := context.WithCancel(cmd.Context())
			defer cancel()
			o, err := a.Options()
			if err != nil {
				return err
			}
			o.TickTime = demoTick
			client, err := a.Connect(ctx, o)
			if err != nil {
				return err
			}
			defer func() { _ = cli.CloseClient(ctx, client) }()
			w := &worker{name: args[0], out: a.Stdout, client: client, orders: make(chan string)}
			w.mutex = lock.New(client, demoLock, &lock.Options{ID: w.name})
			var reader sync.WaitGroup
			// The process does not wait for this goroutine: reading stdin ends
			// with the process, or with the demonstration, and then ends the
			// process's work.
			reader.Go(func() { w.listen(ctx, a.Stdin, cancel) })
			err = w.work(ctx)
			if ctx.Err() != nil {
				return nil // the demonstration is over
			}
			return err
		}),
	}
}

// listen passes orders on until the demonstration ends.
func (w *worker) listen(ctx context.Context, in *os.File, cancel context.CancelFunc) {
	defer cancel()
	for lines := bufio.NewScanner(in); lines.Scan(); {
		select {
		case w.orders <- lines.Text():
		case <-ctx.Done():
		}
	}
}

func (w *worker) reportEvent(e Event) {
	e.At, e.Worker = time.Now(), w.name
	line, _ := json.Marshal(e)
	fmt.Fprintf(w.out, "%s\n", line)
}

// work queues up until the worker has held the lock from grant to release.
func (w *worker) work(ctx context.Context) error {
	w.reportEvent(Event{Event: "started", PID: os.Getpid()})
	for {
		w.reportEvent(Event{Event: "waits"})
		held, err := w.mutex.Lock(ctx)
		if err != nil {
			return err
		}
		w.reportEvent(Event{Event: "holds", Token: held.Token(), Session: fmt.Sprintf("%#x", held.Session().ID())})
		if err := w.hold(ctx, held); err == nil {
			w.reportEvent(Event{Event: "leaves"})
			return nil
		} else if ctx.Err() != nil || !errors.Is(err, session.ErrLost) && !errors.Is(err, session.ErrNodeDeleted) {
			return err
		}
	}
}

// hold writes, guarded by the lock, until the order to release. The error is
// the loss of the lock, if any.
func (w *worker) hold(ctx context.Context, held *lock.Held) error {
	defer func() { _ = held.Unlock(ctx) }()
	const pace = 200 * time.Millisecond
	tick := time.NewTicker(pace)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-held.Context().Done():
		case order := <-w.orders:
			if order == "release" {
				w.reportEvent(Event{Event: "releases", Token: held.Token()})
				return held.Unlock(ctx)
			}
		}
		// After a pause of the process, Err compares the clock before any work.
		if held.Context().Err() != nil {
			w.reportEvent(Event{Event: "lost", Token: held.Token(), Cause: context.Cause(held.Context()).Error()})
			return w.late(ctx, held)
		}
		_ = w.write(ctx, held.Session(), held) // a failure shows in the next look
	}
}

// late writes though the lock is lost, like a program without a check. The
// guard refuses the write.
func (w *worker) late(ctx context.Context, held *lock.Held) error {
	lost := context.Cause(held.Context())
	for {
		s, err := w.client.Session(ctx)
		if err != nil {
			return err
		}
		switch err := w.write(ctx, s, held); {
		case errors.Is(err, session.ErrNoNode):
			w.reportEvent(Event{Event: "refused", Token: held.Token()})
			return lost
		case err == nil:
			return lost // the judge notices
		case !errors.Is(err, session.ErrLost) && !errors.Is(err, session.ErrUnknownOutcome):
			return err
		}
		// The session's end was not known yet; the next session will do. A retry
		// is safe whatever the outcome of the write: the guard and the judge
		// ensure that.
	}
}

// write writes under the lock's guard.
func (w *worker) write(ctx context.Context, s *session.Session, held *lock.Held) error {
	_, err := s.Txn(ctx, held.Guard(), session.SetOp(demoValue, fmt.Appendf(nil, "%s %d", w.name, held.Token()), -1))
	return err
}
