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

// leaveLimit bounds what a node does when it leaves: the servers may be away.
const leaveLimit = 2 * time.Second

var (
	errResigned = errors.New("it was asked to resign")
	errOver     = errors.New("this life is over: there is no other session in it")
)

// life is a node in one session.
type life struct {
	node     *Node
	client   *session.Client
	session  *session.Session
	elector  *election.Elector
	registry *discovery.Registry
}

// live lives one life, to the end of its session or of ctx.
func (n *Node) live(ctx context.Context) error {
	l, err := n.begin(ctx)
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

// begin connects. A client makes another session when one is lost, and with it
// whatever is kept registered: a coordinator would be listed again that does not
// lead. So nothing may be dialed any more when the session of this life is over,
// which is known before the next one is begun.
func (n *Node) begin(ctx context.Context) (*life, error) {
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

// end closes the client. The end of its session removes every znode that the node has
// not deleted itself.
func (l *life) end(ctx context.Context) {
	limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), leaveLimit)
	defer cancel()
	_ = l.client.Close(limited) // nothing of it is needed any more
}

// round is from joining the order to leaving it, or losing the place in it.
func (l *life) round(ctx context.Context) error {
	n := l.node
	place, err := l.elector.Stand(ctx)
	if err != nil {
		return err
	}
	// After the registration has gone: who is next does not see this one
	// among the coordinators.
	defer l.leave(ctx, place.Withdraw)
	defer n.turn(Joining, func() { n.place = nil })
	reg, err := l.registry.Register(ctx, l.instance(workers, place, 0))
	if err != nil {
		return err
	}
	defer l.leave(ctx, reg.Unregister)
	n.turn(Worker, func() { n.place = place })
	lead, err := place.Await(ctx)
	if err != nil {
		return err
	}
	if err := reg.Move(ctx, coordinators, l.instance(coordinators, place, lead.Token())); err != nil {
		return err
	}
	return l.serve(ctx, lead)
}

// instance is what the node registers.
func (l *life) instance(service string, place *election.Candidacy, token int64) discovery.Instance {
	return instance(service, l.node.address, entry{Name: l.node.name, Znode: place.Path(), Token: token})
}

// leave gives something back, unless it has gone with the session.
func (l *life) leave(ctx context.Context, give func(context.Context) error) {
	if l.session.Err() != nil {
		return
	}
	limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), leaveLimit)
	defer cancel()
	_ = give(limited) // what it did not confirm goes on, until the session ends
}

// serve leads until the leadership is lost, or to be given back. It returns why,
// when nobody is served any more.
func (l *life) serve(ctx context.Context, lead *election.Leadership) error {
	n := l.node
	select {
	case <-n.resign: // it was meant for an earlier leadership
	default:
	}
	n.turn(Leader, func() { n.lead, n.peers = lead, nil })
	// It ends with the leadership, which ends with the session; without the
	// list of workers the leader says what it knew.
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

// stopServing is over when nobody gets an answer from a leader any more. That was
// so before if the session's trust had run out by then, however late this process
// finds out: it may have been stopped meanwhile.
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
