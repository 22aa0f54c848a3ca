package cluster

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync/atomic"
	"time"

	"github.com/zkrecipes/zkrecipes/discovery"
	"github.com/zkrecipes/zkrecipes/election"
	"github.com/zkrecipes/zkrecipes/session"
)

// leaveLimit bounds the work of a leaving node: the servers may be away.
const leaveLimit = 2 * time.Second

var (
	errResigned = errors.New("it was asked to resign")
	errOver     = errors.New("this life is over: there is no other session in it")
)

// life is a node in a single session.
type life struct {
	node     *Node
	client   *session.Client
	session  *session.Session
	elector  *election.Elector
	registry *discovery.Registry
}

// live lives a single life, to the end of its session or of ctx.
func (n *Node) live(ctx context.Context) error {
	l, err := n.startLife(ctx)
	if err != nil {
		return err
	}
	defer l.end(ctx)
	n.begun(l.client)
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	stop := context.AfterFunc(l.session.Context(), func() { cancel(context.Cause(l.session.Context())) })
	defer stop()
	for _, path := range Paths() {
		if err := l.session.EnsurePath(ctx, path, session.Persistent, nil); err != nil {
			return err
		}
	}
	for {
		err := l.round(ctx)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if !errors.Is(err, errResigned) && !errors.Is(err, session.ErrNodeDeleted) {
			return err
		}
	}
}

// startLife connects. After a lost session, a client makes another session and
// repeats its registrations: a coordinator that does not lead would be listed
// again. So no connection may be dialed after the end of this life's session.
// The end is known before the next session is begun.
func (n *Node) startLife(ctx context.Context) (*life, error) {
	var own atomic.Pointer[session.Session]
	dialer := &net.Dialer{}
	client, err := n.connect(ctx, func(ctx context.Context, network, address string) (net.Conn, error) {
		if s := own.Load(); s != nil && s.Err() != nil {
			return nil, errOver
		}
		return dialer.DialContext(ctx, network, address)
	})
	if err != nil {
		return nil, err
	}
	s, err := client.Session(ctx)
	if err != nil {
		return nil, errors.Join(err, client.Close(context.WithoutCancel(ctx)))
	}
	own.Store(s)
	return &life{
		node: n, client: client, session: s,
		elector:  election.New(client, Election, &election.Options{ID: n.name + " " + n.address.String()}),
		registry: discovery.NewRegistry(client, registries, nil),
	}, nil
}

// end closes the client. The end of its session removes all znodes not yet
// deleted by the node.
func (l *life) end(ctx context.Context) {
	limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), leaveLimit)
	defer cancel()
	_ = l.client.Close(limited) // the client is no longer needed
}

// round lasts from joining the order to leaving, or losing the place.
func (l *life) round(ctx context.Context) error {
	n := l.node
	place, err := l.elector.Stand(ctx)
	if err != nil {
		return err
	}
	// After the end of the registration: the next leader does not see this node
	// among the coordinators.
	defer l.leave(ctx, place.Withdraw)
	defer n.setRole(Joining, func() { n.place = nil })
	reg, err := l.registry.Register(ctx, l.instance(workers, place, 0))
	if err != nil {
		return err
	}
	defer l.leave(ctx, reg.Unregister)
	n.setRole(Worker, func() { n.place = place })
	lead, err := place.Await(ctx)
	if err != nil {
		return err
	}
	if err := reg.Move(ctx, coordinators, l.instance(coordinators, place, lead.Token())); err != nil {
		return err
	}
	return l.serve(ctx, lead)
}

// instance is the node's registration.
func (l *life) instance(service string, place *election.Candidacy, token int64) discovery.Instance {
	return instance(service, l.node.address, entry{Name: l.node.name, Znode: place.Path(), Token: token})
}

// leave gives a hold back, unless lost with the session.
func (l *life) leave(ctx context.Context, give func(context.Context) error) {
	if l.session.Err() != nil {
		return
	}
	limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), leaveLimit)
	defer cancel()
	_ = give(limited) // an unconfirmed release continues until the session ends
}

// serve leads until the leadership is lost, or must be given back. serve
// returns the reason after the last answer as leader.
func (l *life) serve(ctx context.Context, lead *election.Leadership) error {
	n := l.node
	select {
	case <-n.resign: // meant for an earlier leadership
	default:
	}
	n.setRole(Leader, func() { n.lead, n.peers = lead, nil })
	// The watch ends with the leadership, and the leadership with the session.
	// Without the list of workers the leader reports its last state.
	watching, stop := context.WithCancel(lead.Context())
	done := make(chan struct{})
	// Waited for below; ends with watching.
	go func() {
		defer close(done)
		for list, err := range l.registry.Watch(watching, workers) {
			if err != nil {
				return
			}
			n.mu.Lock()
			n.peers = peersOf(list)
			n.mu.Unlock()
		}
	}()
	var cause error
	select {
	case <-lead.Context().Done():
		cause = context.Cause(lead.Context())
	case <-n.resign:
		cause = errResigned
	case <-ctx.Done():
		cause = context.Cause(ctx)
	}
	n.stopServing(lead, cause)
	stop()
	<-done
	return fmt.Errorf("the leadership is over: %w", cause)
}

// stopServing returns after the last answer as leader. If the session's trust
// had run out, the last answer was before the end of trust, even if this
// process finds out later, for instance after being stopped.
func (n *Node) stopServing(lead *election.Leadership, cause error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	now := time.Now()
	until := now
	if trusted := lead.Session().TrustedUntil(); trusted.Before(now) {
		until = trusted
	}
	n.led = &Led{Token: lead.Token(), From: n.since, Until: until, Cause: cause.Error()}
	n.lead, n.role, n.since = nil, Joining, now
}
