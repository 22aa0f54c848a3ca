package supervise

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/cli"
	"github.com/zkrecipes/zkrecipes/session"
)

// Contender is a client in the queue of a target.
type Contender struct {
	Name    string // for people
	Session int64
	Token   int64     // of the znode in the queue; 0: it waits beside the queue
	Since   time.Time // when it queued up
	Holds   bool
}

// Queue is a Target.WaitsFor for targets with a queue, whose znodes are the children of
// path. list makes the list in the order of the queue, and describe makes a Contender of an
// element.
func Queue[T any](path string, list func(context.Context, *session.Client) ([]T, error), describe func(T) Contender) func(context.Context, *session.Client) Tell {
	return func(ctx context.Context, client *session.Client) Tell {
		v := view{came: time.Now(), held: make(map[int64]time.Time)}
		own, err := client.Session(ctx)
		if err != nil {
			return tellNothing
		}
		arrival := own.StartExists(path, false) // sent before the creation of the own znode
		return func(ctx context.Context) (string, error) {
			own, err := client.Session(ctx)
			if err != nil {
				return "", err
			}
			if seen, err := arrival.Wait(ctx); err == nil {
				v.arrival = seen.Stat
			}
			all, err := list(ctx, client)
			queue := make([]Contender, 0, len(all))
			for _, c := range all {
				queue = append(queue, describe(c))
			}
			return v.text(queue, own.ID(), time.Now()), err
		}
	}
}

// tellNothing leaves the error to the wait.
func tellNothing(context.Context) (string, error) { return "", nil }

// view is what a waiter knows of the holders.
type view struct {
	came    time.Time
	arrival session.Stat        // of the queue's parent, when the waiter came
	held    map[int64]time.Time // by token: the earliest moment at which it surely held
}

// text names the holders, and counts the waiters before a session; "" without another holder.
func (v *view) text(queue []Contender, own int64, now time.Time) string {
	v.learn(queue, now)
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
	about := []string{"held " + duration(now.Sub(first.Since))}
	if since := v.held[first.Token]; since.After(first.Since) {
		// The znodes do not tell the moment of the grant, only its limits.
		about = []string{"came " + duration(now.Sub(first.Since)) + " ago"}
		if least := now.Sub(since); least >= time.Second {
			about = append([]string{"held for at least " + duration(least)}, about...)
		}
	}
	if n := len(holders) - 1; n > 0 {
		about = append(about, "with "+cli.Count(n, "other holder"))
	}
	if n := len(queue) - len(holders); n > 0 {
		about = append(about, fmt.Sprintf("%d ahead", n))
	}
	return fmt.Sprintf("waiting for %s (%s)", cli.Readable([]byte(first.Name)), strings.Join(about, ", "))
}

// learn notes since when the holders have held at least. A contender becomes a holder when
// it comes, or when another one leaves. So if no child of the parent has left since the
// arrival, the holders had held then. If the parent's last change until then was that a
// contender came (and not that one left), they had held since that contender came: a holder
// that came to an empty queue, since it came itself.
func (v *view) learn(queue []Contender, now time.Time) {
	since, before := now, int32(0)
	for _, c := range queue {
		if c.Token != 0 && c.Token <= v.arrival.Pzxid {
			before++
		}
	}
	if before > 0 && before == v.arrival.NumChildren {
		since = v.came
		if last := slices.IndexFunc(queue, func(c Contender) bool { return c.Token == v.arrival.Pzxid }); last >= 0 {
			since = queue[last].Since
		}
	}
	for _, c := range queue {
		if _, known := v.held[c.Token]; c.Holds && !known {
			v.held[c.Token] = since
		}
	}
}

// duration is rounded to seconds, and not negative if two clocks differ.
func duration(d time.Duration) string {
	text := max(0, d).Truncate(time.Second).String()
	for _, zero := range []string{"m0s", "h0m"} {
		if strings.HasSuffix(text, zero) {
			text = text[:len(text)-2]
		}
	}
	return text
}
