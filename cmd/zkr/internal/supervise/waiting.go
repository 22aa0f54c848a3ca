package supervise

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/cli"
	"github.com/zkrecipes/zkrecipes/session"
)

// Contender is a client in the queue of a target.
type Contender struct {
	Name    string // for people
	Session int64
	Since   time.Time // when it queued up
	Holds   bool
}

// Queue is a Target.WaitsFor for targets with a queue. list makes the list in the order of
// the queue, and describe makes a Contender of an element.
func Queue[T any](list func(context.Context, *session.Client) ([]T, error), describe func(T) Contender) func(context.Context, *session.Client) (string, error) {
	return func(ctx context.Context, client *session.Client) (string, error) {
		own, err := client.Session(ctx)
		if err != nil {
			return "", err
		}
		all, err := list(ctx, client)
		queue := make([]Contender, 0, len(all))
		for _, c := range all {
			queue = append(queue, describe(c))
		}
		return waitText(queue, own.ID(), time.Now()), err
	}
}

// waitText names the holders, and counts the waiters before a session; "" without another holder.
func waitText(queue []Contender, own int64, now time.Time) string {
	if mine := slices.IndexFunc(queue, func(c Contender) bool { return c.Session == own && !c.Holds }); mine >= 0 {
		queue = queue[:mine]
	}
	var holders []Contender
	for _, c := range queue {
		if c.Holds && c.Session != own {
			holders = append(holders, c)
		}
	}
	if len(holders) == 0 {
		return ""
	}
	first := holders[0]
	text := fmt.Sprintf("waiting for %s (came %v ago", cli.Readable([]byte(first.Name)), now.Sub(first.Since).Truncate(time.Second))
	if n := len(holders) - 1; n > 0 {
		text += ", with " + cli.Count(n, "other holder")
	}
	if n := len(queue) - len(holders); n > 0 {
		text += fmt.Sprintf("; %d ahead in the queue", n)
	}
	return text + ")"
}
