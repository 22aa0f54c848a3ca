package dispatch_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/dispatch"
	"github.com/zkrecipes/zkrecipes/internal/world"
)

// notes are lines that handlers and middleware write.
type notes struct {
	mu    sync.Mutex
	lines []string
}

func (n *notes) add(format string, args ...any) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.lines = append(n.lines, fmt.Sprintf(format, args...))
}

// around notes the beginning and the end of each attempt, whatever the handler does.
func (n *notes) around(name string) func(next dispatch.Handler) dispatch.Handler {
	return func(next dispatch.Handler) dispatch.Handler {
		n.add("%s wraps", name)
		return func(ctx context.Context, a *dispatch.Attempt) (out []byte, err error) {
			n.add("%s begins %d", name, a.Number)
			returned := false
			defer func() { n.add("%s ends: %v, %v", name, returned, err) }()
			out, err = next(ctx, a)
			returned = true
			return out, err
		}
	}
}

// missing is an error whose text is a field: a nil pointer has none.
type missing struct{ text string }

func (m *missing) Error() string { return m.text }

// touchy is an error that cannot be compared.
type touchy struct{}

func (touchy) Error() string { return "touchy" }

func (touchy) Is(error) bool { panic("no") }

// The middleware runs around each attempt, the first element outside, and sees errors,
// panics and the end of the handler's goroutine. It is wrapped once. An error whose methods
// panic is a failure like any other.
func TestMiddlewareRunsAroundEveryAttempt(t *testing.T) {
	for name, x := range map[string]struct {
		fails   func() error
		ends    string
		failure string
	}{
		"an error": {func() error { return errors.New("no") }, "true, no", "no"},
		"a panic":  {func() error { panic("oh") }, "false, <nil>", "the handler has panicked: oh"},
		"an exit":  {func() error { runtime.Goexit(); return nil }, "false, <nil>", "the handler has ended its goroutine"},
		"a nil pointer": {
			func() error { return (*missing)(nil) }, "true, <nil>",
			"an error of the type *dispatch_test.missing was returned, and its methods panic: runtime error: invalid memory address or nil pointer dereference",
		},
		"an error that panics": {
			func() error { return touchy{} }, "true, touchy",
			"an error of the type dispatch_test.touchy was returned, and its methods panic: no",
		},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, nil, func(w *World) {
				n := &notes{}
				w.master(nil)
				w.worker(func(_ context.Context, a *dispatch.Attempt) ([]byte, error) {
					n.add("handler %d", a.Number)
					if a.Number == 1 {
						return nil, x.fails()
					}
					return []byte(a.LastFailure), nil
				}, &dispatch.WorkerOptions{Middleware: []func(dispatch.Handler) dispatch.Handler{n.around("outer"), n.around("inner")}})
				q := w.queue()
				r := w.collect(q, w.submit(q, dispatch.Task{}))
				require.Equal(w, dispatch.State("done"), r.State)
				require.Equal(w, x.failure, string(r.Output))
				n.mu.Lock()
				defer n.mu.Unlock()
				require.Equal(w, []string{
					"inner wraps", "outer wraps",
					"outer begins 1", "inner begins 1", "handler 1", "inner ends: " + x.ends, "outer ends: " + x.ends,
					"outer begins 2", "inner begins 2", "handler 2", "inner ends: true, <nil>", "outer ends: true, <nil>",
				}, n.lines)
			})
		})
	}
}

// A middleware changes what passes through it: payload and output, an error, a panic, the
// context. Its own panic is the failure of the attempt.
func TestMiddlewareChangesAttempts(t *testing.T) {
	for name, x := range map[string]struct {
		hook    func(next dispatch.Handler) dispatch.Handler
		handler dispatch.Handler
		state   dispatch.State
		output  string
		failure string
	}{
		"payload and output": {func(next dispatch.Handler) dispatch.Handler {
			return func(ctx context.Context, a *dispatch.Attempt) ([]byte, error) {
				a.Payload = append(a.Payload, " in"...)
				out, err := next(ctx, a)
				return append(out, " out"...), err
			}
		}, echo, "done", "x in out", ""},
		"a permanent failure": {func(next dispatch.Handler) dispatch.Handler {
			return func(ctx context.Context, a *dispatch.Attempt) ([]byte, error) {
				_, err := next(ctx, a)
				return nil, fmt.Errorf("%w: %w", dispatch.ErrPermanent, err)
			}
		}, func(context.Context, *dispatch.Attempt) ([]byte, error) { return nil, errors.New("no") }, "failed", "", "permanent failure: no"},
		"a recovered panic": {func(next dispatch.Handler) dispatch.Handler {
			return func(ctx context.Context, a *dispatch.Attempt) (out []byte, err error) {
				defer func() { out, err = fmt.Appendf(nil, "recovered %v", recover()), nil }()
				return next(ctx, a)
			}
		}, func(context.Context, *dispatch.Attempt) ([]byte, error) { panic("oh") }, "done", "recovered oh", ""},
		"a time limit": {func(next dispatch.Handler) dispatch.Handler {
			return func(ctx context.Context, a *dispatch.Attempt) ([]byte, error) {
				ctx, cancel := context.WithTimeoutCause(ctx, time.Minute, errors.New("the time limit of an attempt"))
				defer cancel()
				return next(ctx, a)
			}
		}, func(ctx context.Context, _ *dispatch.Attempt) ([]byte, error) {
			world.SleepContext(ctx, time.Hour)
			return nil, context.Cause(ctx)
		}, "dead", "", "the time limit of an attempt"},
		"a panic of its own": {func(dispatch.Handler) dispatch.Handler {
			return func(context.Context, *dispatch.Attempt) ([]byte, error) { panic("outside") }
		}, echo, "dead", "", "the handler has panicked: outside"},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, nil, func(w *World) {
				w.master(nil)
				w.worker(x.handler, &dispatch.WorkerOptions{Middleware: []func(dispatch.Handler) dispatch.Handler{x.hook}})
				q := w.queue()
				r := w.collect(q, w.submit(q, dispatch.Task{Payload: []byte("x"), MaxAttempts: 1}))
				require.Equal(w, x.state, r.State)
				require.Equal(w, x.output, string(r.Output))
				require.Equal(w, x.failure, r.Error)
			})
		})
	}
}

func TestMiddlewareMustReturnAHandler(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		c := w.Client()
		n := &notes{}
		for bad, text := range map[string]func(dispatch.Handler) dispatch.Handler{
			"Middleware[1] is nil": nil,
			"Middleware[1] has returned nil; it must return a handler": func(dispatch.Handler) dispatch.Handler { return nil },
		} {
			hooks := []func(dispatch.Handler) dispatch.Handler{n.around("outer"), text, n.around("inner")}
			err := dispatch.NewWorker(c, path, echo, &dispatch.WorkerOptions{Middleware: hooks}).Run(w.Ctx)
			require.ErrorIs(w, err, dispatch.ErrInvalidArgument)
			require.ErrorContains(w, err, bad)
		}
	})
}

// An attempt whose payload cannot be read reaches no middleware.
func TestMiddlewareIsNotCalledWithoutAPayload(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		q, n := w.queue(), &notes{}
		id := w.submit(q, dispatch.Task{ID: "a", Payload: []byte("x")})
		for _, node := range w.Server.Dump() {
			if string(node.Data) == "x" {
				require.NoError(w, w.Server.Delete(node.Path))
			}
		}
		w.master(nil)
		w.worker(echo, &dispatch.WorkerOptions{Middleware: []func(dispatch.Handler) dispatch.Handler{n.around("hook")}})
		require.Equal(w, dispatch.State("failed"), w.collect(q, id).State)
		n.mu.Lock()
		defer n.mu.Unlock()
		require.Equal(w, []string{"hook wraps"}, n.lines)
	})
}
