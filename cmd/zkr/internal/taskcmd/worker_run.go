package taskcmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/cli"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/signals"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/supervise"
	"github.com/zkrecipes/zkrecipes/dispatch"
	"github.com/zkrecipes/zkrecipes/session"
)

const (
	// maxOutput is how long a result may be.
	MaxOutput = 1_000_000
	// tailLength is how much of a command's stderr is kept, for the message of a
	// failure.
	TailLength = 1000
)

// AttemptEvent is the beginning or the end of an attempt in JSON.
type AttemptEvent struct {
	Time    time.Time `json:"time"`
	Event   string    `json:"event"` // began, done, failed, stopped
	Task    string    `json:"task"`
	Attempt int       `json:"attempt"`
	Of      int       `json:"max_attempts"`
	Token   int64     `json:"token,string"`
	Reason  string    `json:"reason,omitempty"`
}

// handle runs the command for a task.
func (w *taskWorker) handle(ctx context.Context, a *dispatch.Attempt) ([]byte, error) {
	w.say(a, "began", nil)
	var out []byte
	err := context.Cause(ctx) // the output may have taken a moment
	if err == nil {
		out, err = w.attempt(ctx, a)
	}
	switch {
	case err == nil:
		w.say(a, "done", nil)
	case ctx.Err() != nil:
		w.say(a, "stopped", err)
	default:
		w.say(a, "failed", err)
	}
	return out, err
}

func (w *taskWorker) say(a *dispatch.Attempt, event string, err error) {
	e := AttemptEvent{time.Now(), event, a.ID, a.Number, a.MaxAttempts, a.Token(), ""}
	if err != nil {
		e.Reason = err.Error()
	}
	// A slow reader does not matter: the tasks do.
	w.app.Async.Enqueue(func() {
		if w.app.JSON() {
			_ = w.app.PrintJSON(e)
			return
		}
		text := fmt.Sprintf("%s  %-7s  %s  attempt %d of %d", cli.Timestamp(e.Time), event, cli.Readable([]byte(a.ID)), a.Number, a.MaxAttempts)
		if err != nil {
			text += "  " + cli.Preview([]byte(e.Reason), 200)
		}
		_ = w.app.Printf("%s\n", text)
	})()
}

// attempt runs the command once.
func (w *taskWorker) attempt(ctx context.Context, a *dispatch.Attempt) ([]byte, error) {
	if strings.ContainsRune(a.ID, 0) {
		return nil, fmt.Errorf("%w: no environment can hold the task's id, %q", dispatch.ErrPermanent, a.ID)
	}
	out, errs := &output{most: MaxOutput, full: make(chan struct{})}, &tail{to: w.app.Stderr}
	cmd, err := supervise.NewSupervisor(w.plan.Grace, []string{"--input", "--output", "table"}, w.Argv, w.environment(a))
	if err != nil {
		return nil, err
	}
	p, err := supervise.NewPipes(a.Payload, out, errs)
	if err != nil {
		return nil, err
	}
	k, err := w.keepers.Start(cmd, p)
	if err != nil {
		return nil, err
	}
	full, stopped := (<-chan struct{})(out.full), false
	for over := false; !over; {
		select {
		case <-k.Done:
			over = true
		case <-full:
			k.Stop(w.plan.Grace, true)
			full, stopped = nil, true
		case <-ctx.Done():
			w.halt(ctx, k, a)
			return nil, context.Cause(ctx) // whatever the command has done since it was told to end
		}
	}
	if supervise.ExitOf(k.Status) == nil && !out.isFull() {
		return out.text, nil
	}
	err = errors.New(strings.TrimSuffix(supervise.DescribeEnd(k.Status)+": "+errs.String(), ": "))
	switch {
	case supervise.ExitOf(k.Status) == nil || stopped:
		return nil, fmt.Errorf("%w: the output has more than %d bytes", dispatch.ErrPermanent, MaxOutput)
	case k.Status.Exited() && slices.Contains(w.permanent, k.Status.ExitStatus()):
		return nil, fmt.Errorf("%w: %w", dispatch.ErrPermanent, err)
	}
	return nil, err
}

// environment is the part of the command's environment about the task.
func (w *taskWorker) environment(a *dispatch.Attempt) []string {
	vars := []string{
		"ZKR_TASK_ID=" + a.ID, fmt.Sprintf("ZKR_ATTEMPT=%d", a.Number), fmt.Sprintf("ZKR_MAX_ATTEMPTS=%d", a.MaxAttempts),
		fmt.Sprintf("ZKR_TOKEN=%d", a.Token()), "ZKR_QUEUE=" + w.path, "ZKR_ASSIGNMENT=" + a.Path(),
		fmt.Sprintf("ZKR_SESSION=%#x", a.Session().ID()),
	}
	if !a.Deadline.IsZero() {
		vars = append(vars, "ZKR_DEADLINE="+a.Deadline.Format(time.RFC3339Nano))
	}
	return vars
}

// halt ends a command that must not go on, and waits for its end. When trust
// ran out, the session, and with it the assignment, lives on for the stop
// margin. A task that has ended, or is past its deadline, is given to no other
// worker before a client requeues the task. Otherwise another worker may have
// the task already.
func (w *taskWorker) halt(ctx context.Context, k *supervise.Supervised, a *dispatch.Attempt) {
	s, cause, grace := a.Session(), context.Cause(ctx), w.plan.Grace
	if errors.As(cause, new(signals.EndedBySignal)) || s.Err() != nil {
		grace = 0
	}
	k.Stop(grace, true)
	if grace > 0 && errors.Is(cause, session.ErrNodeDeleted) && !w.hasEnded(a) {
		k.Stop(0, true)
	}
	select {
	case <-k.Done:
		return
	case <-w.rush:
	case <-s.Context().Done():
	}
	k.Stop(0, true)
	<-k.Done
}

// hasEnded reports whether the task has certainly ended: the task was canceled. A
// missing assignment may also mean that this worker is taken for dead.
func (w *taskWorker) hasEnded(a *dispatch.Attempt) bool {
	ctx, cancel := context.WithTimeout(a.Session().Context(), w.plan.Last)
	defer cancel()
	info, err := dispatch.New(w.client, w.path, nil).Get(ctx, a.ID)
	return errors.Is(err, dispatch.ErrNoTask) || err == nil && info.State.Finished()
}

// output is the stdout of a command. The output is read when the command is
// over.
type output struct {
	text []byte
	most int
	full chan struct{} // closed when there is more than most
	once sync.Once
}

// Write never fails: the rest is thrown away.
func (o *output) Write(p []byte) (int, error) {
	fits := min(len(p), o.most-len(o.text))
	if o.text = append(o.text, p[:fits]...); fits < len(p) {
		o.once.Do(func() { close(o.full) })
	}
	return len(p), nil
}

func (o *output) isFull() bool {
	select {
	case <-o.full:
		return true
	default:
		return false
	}
}

// tail passes on the stderr of a command, and keeps the end, which is read when
// the command is over.
type tail struct {
	to   io.Writer
	text []byte
	cut  bool
}

// Write never fails, with or without a reader of the passed-on bytes.
func (t *tail) Write(p []byte) (int, error) {
	_, _ = t.to.Write(p)
	t.text = append(t.text, p...)
	if over := len(t.text) - TailLength; over > 0 {
		t.text, t.cut = append(t.text[:0], t.text[over:]...), true
	}
	return len(p), nil
}

// String is the end as text, from the beginning of a line on if possible.
func (t *tail) String() string {
	text := t.text
	if t.cut {
		if _, lines, ok := strings.Cut(string(text), "\n"); ok && strings.TrimSpace(lines) != "" {
			text = []byte(lines)
		}
	}
	return strings.TrimSpace(strings.ToValidUTF8(string(text), string(utf8.RuneError)))
}
