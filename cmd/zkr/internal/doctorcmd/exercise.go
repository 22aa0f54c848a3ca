package doctorcmd

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"path"
	"slices"
	"sync"
	"time"

	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/cli"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/doctor"
	"github.com/zkrecipes/zkrecipes/lock"
	"github.com/zkrecipes/zkrecipes/session"
)

// rounds is how often the scratch lock is acquired and released.
const rounds = 5

// scratchName begins the names of scratch paths.
const scratchName = "zkr-doctor-"

// exercise acquires and releases a lock on a scratch path below ROOT, and removes the path.
func (a *app) exercise(ctx context.Context, client *session.Client, r *report, v choices) error {
	scratch := path.Join(r.Root, scratchName+rand.Text())
	s, err := client.Session(ctx)
	if err != nil {
		return err
	}
	before := time.Now()
	made, err := s.Create(ctx, scratch, nil, session.Persistent, nil)
	after := time.Now()
	if errors.Is(err, session.ErrNoAuth) {
		r.NotSeen = append(r.NotSeen, doctor.Unseen{Where: r.Root, What: "round trip, clocks: a znode may not be created", Remedy: "run zkr doctor with credentials (ZKR_AUTH) that may create one"})
		return nil
	}
	// Also after an error: a create whose reply was lost may have succeeded.
	defer func() {
		if failed := removeScratch(ctx, client, scratch, max(cli.CloseLimit, a.Flags.ConnectTimeout)); failed != nil {
			r.addFindings(doctor.Failed(scratch, failed))
		}
	}()
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case err != nil:
		r.addFindings(doctor.Failed(scratch, err))
		return nil
	}
	r.addFindings(doctor.Clock(time.UnixMilli(made.Stat.Ctime), before, after)...)
	if err := a.roundTrips(ctx, client, r, scratch); err != nil || !v.failover {
		return err
	}
	if err := a.failover(ctx, r, scratch); err != nil && ctx.Err() == nil {
		r.addFailure("failover", err)
	}
	return nil
}

// removeScratch removes the scratch path, in the next session if the session is lost. After
// several lost sessions, a client waits up to five seconds before the next one.
func removeScratch(ctx context.Context, client *session.Client, scratch string, limit time.Duration) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), limit)
	defer cancel()
	var err error
	for lost := true; lost && ctx.Err() == nil; lost = session.IsSessionLoss(err) {
		var s *session.Session
		if s, err = client.Session(ctx); err == nil {
			_, err = s.DeleteAll(ctx, scratch, nil)
		}
	}
	if err != nil && !errors.Is(err, session.ErrNoNode) {
		return fmt.Errorf("remove the scratch path %s: %w", scratch, err)
	}
	return nil
}

func (a *app) roundTrips(ctx context.Context, client *session.Client, r *report, scratch string) error {
	mu := lock.New(client, scratch+"/lock", nil)
	var took []time.Duration
	for range rounds {
		limited, cancel := context.WithTimeout(ctx, a.Flags.ConnectTimeout)
		begun := time.Now()
		held, err := mu.Lock(limited)
		if err == nil {
			err = held.Unlock(limited)
		}
		cancel()
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err != nil {
			r.addFindings(doctor.Failed(scratch, err))
			return nil
		}
		took = append(took, time.Since(begun))
	}
	slices.Sort(took)
	r.RoundTrip = &roundTrip{Rounds: rounds, Median: milliseconds(took[rounds/2]), Longest: milliseconds(took[rounds-1])}
	return nil
}

// dialer opens connections, and cuts them.
type dialer struct {
	mu   sync.Mutex // guards open
	open []net.Conn
}

func (d *dialer) dial(ctx context.Context, network, address string) (net.Conn, error) {
	conn, err := (&net.Dialer{}).DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.open = append(d.open, conn)
	return conn, nil
}

// cut closes all connections.
func (d *dialer) cut() {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, conn := range d.open {
		_ = conn.Close()
	}
	d.open = nil
}

// failover cuts the connection of a client of its own, which holds the scratch lock.
func (a *app) failover(ctx context.Context, r *report, scratch string) error {
	o, err := a.Options()
	if err != nil {
		return err
	}
	d := &dialer{}
	o.Dialer, o.Resolver = d.dial, net.DefaultResolver.LookupHost
	client, err := a.Connect(ctx, o)
	if err != nil {
		return err
	}
	defer func() { _ = cli.CloseClient(ctx, client) }()
	s, err := client.Session(ctx)
	if err != nil {
		return err
	}
	limited, cancel := context.WithTimeout(ctx, s.Timeout()+a.Flags.ConnectTimeout)
	defer cancel()
	held, err := lock.New(client, scratch+"/failover", nil).Lock(limited)
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case err != nil:
		r.addFindings(doctor.Failed(scratch, err))
		return nil
	}
	from := client.State()
	begun := time.Now()
	d.cut()
	err = answers(limited, client, held, from)
	took := time.Since(begun)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err == nil {
		err = session.ContextErr(held.Context())
	}
	f := &failover{From: from.Server, To: client.State().Server, Took: milliseconds(took), Kept: err == nil}
	r.Failover = f
	if err != nil {
		r.addFindings(doctor.LostAtFailover(scratch, err))
		return nil
	}
	if err := held.Unlock(limited); err != nil {
		r.addFindings(doctor.Failed(scratch, err))
	}
	return nil
}

// answers waits until the session of held has a later connection than from, and a server
// has answered on it.
func answers(ctx context.Context, client *session.Client, held *lock.Held, from session.State) error {
	for state, err := range client.States(ctx) {
		if err != nil {
			return err
		}
		if state.Status != session.Connected || !state.Since.After(from.Since) {
			if err := session.ContextErr(held.Context()); err != nil {
				return err
			}
			continue
		}
		_, _, err := held.Session().Exists(ctx, held.Path())
		return err
	}
	return context.Cause(ctx)
}
