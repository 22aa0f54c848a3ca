package lockcmd

import (
	"context"
	"errors"

	"github.com/spf13/cobra"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/cli"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/takeaway"
	"github.com/zkrecipes/zkrecipes/lock"
	"github.com/zkrecipes/zkrecipes/session"
)

// breakLock is "zkr lock break".
func (a *app) breakLock() *cobra.Command {
	return takeaway.Command{
		Family: "lock", Name: "lock", Verb: "break", Short: "Take the lock PATH away from its holder",
		Long: "Takes the mutex PATH away from a holder that does not work any more, and whose session\n" +
			"lives on. \"zkr lock revoke\" asks the holder instead.\n",
		Open: func(client *session.Client, path string) takeaway.Hold { return &held{m: lock.New(client, path, nil)} },
	}.New(a.App)
}

// held is a lock for package takeaway.
type held struct {
	m      *lock.Mutex
	holder lock.Contender
}

func (h *held) Find(ctx context.Context) (*takeaway.Holder, error) {
	all, err := h.m.Contenders(ctx)
	if err != nil || len(all) == 0 {
		return nil, err
	}
	h.holder = all[0]
	return &takeaway.Holder{ID: h.holder.Data, Session: h.holder.Session, Token: h.holder.Token, Since: h.holder.Since, Waiting: len(all) - 1}, nil
}

func (h *held) Take(ctx context.Context, by, reason string) (gone, err error) {
	err = h.m.Break(ctx, h.holder, by, reason)
	if (errors.Is(err, lock.ErrNotHeld) || errors.Is(err, lock.ErrInvalidArgument)) && !errors.Is(err, session.ErrUnknownOutcome) {
		return err, nil
	}
	return nil, err
}

func (h *held) Records(ctx context.Context) ([]takeaway.Record, error) {
	all, err := h.m.Breaks(ctx)
	out := make([]takeaway.Record, len(all))
	for i, b := range all {
		out[i] = takeaway.Record{At: b.At, By: b.By, Reason: b.Reason, Holder: b.Holder, Session: cli.SessionID(b.Session), Token: b.Token}
	}
	return out, err
}

// brokenBy says who took the lock away, "" if it was lost in another way.
func brokenBy(h *lock.Held) func(context.Context) string {
	return func(ctx context.Context) string {
		b, ok, err := h.Broken(ctx)
		if err != nil || !ok {
			return ""
		}
		return takeaway.Loss(b.By, b.Reason, b.At)
	}
}
