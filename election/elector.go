package election

import (
	"context"
	"fmt"

	"github.com/zkrecipes/zkrecipes/internal/contender"
	"github.com/zkrecipes/zkrecipes/internal/holding"
	"github.com/zkrecipes/zkrecipes/internal/znode"
	"github.com/zkrecipes/zkrecipes/session"
)

// Elector takes part in the election of a path, or looks on.
type Elector struct {
	client *session.Client
	path   string
	opts   Options
	err    error // what is wrong with the arguments
}

// New makes an elector for the election on path, whose children are the
// candidates. It does nothing yet; a wrong argument is reported by the first call
// of a method. o may be nil.
func New(client *session.Client, path string, o *Options) *Elector {
	e := &Elector{client: client, path: path}
	e.opts, e.err = o.withDefaults()
	if e.err == nil {
		if err := session.ValidatePath(path); err != nil {
			e.err = fmt.Errorf("%w: path: %w", ErrArgument, err)
		}
	}
	if e.err == nil && path == "/" {
		e.err = fmt.Errorf("%w: the path is the root, whose children are no candidates", ErrArgument)
	}
	if e.err == nil && client == nil {
		e.err = fmt.Errorf("%w: the client is nil", ErrArgument)
	}
	return e
}

// Path is the path that the elector was made with.
func (e *Elector) Path() string { return e.path }

// begin is what every method does first.
func (e *Elector) begin(ctx context.Context) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return e.err
}

// Campaign waits until it leads. ctx bounds the wait, not the leadership; when
// it ends, no znode is left behind. A place in the queue that is lost during the
// wait, as with its session, is taken anew, at the end.
func (e *Elector) Campaign(ctx context.Context) (*Leadership, error) {
	return e.campaign(ctx, "campaign")
}

func (e *Elector) campaign(ctx context.Context, op string) (*Leadership, error) {
	if err := e.begin(ctx); err != nil {
		return nil, failure(ctx, op, e.path, err)
	}
	for {
		k, err := e.stand(ctx)
		if err != nil {
			return nil, failure(ctx, op, e.path, err)
		}
		l, err := k.await(ctx)
		if err == nil {
			return l, nil
		}
		k.c.LeaveBehind() // its watches, too, if the node has gone
		if ctx.Err() != nil || !holding.IsLoss(err) {
			return nil, failure(ctx, op, e.path, err)
		}
	}
}

// Stand takes a place in the queue and does not wait for its turn, which
// [Candidacy.Await] does. Who stands for election and does not await the turn
// keeps those behind from leading: they wait until the candidacy is withdrawn.
// With an error, no znode is left behind.
func (e *Elector) Stand(ctx context.Context) (*Candidacy, error) {
	const op = "stand"
	if err := e.begin(ctx); err != nil {
		return nil, failure(ctx, op, e.path, err)
	}
	k, err := e.stand(ctx)
	if err != nil {
		return nil, failure(ctx, op, e.path, err)
	}
	return k, nil
}

// stand queues up at the server, in the next session if one is lost on the way;
// of a client that was closed there is none, and it says so.
func (e *Elector) stand(ctx context.Context) (*Candidacy, error) {
	name, err := e.opts.Layout.name()
	if err != nil {
		return nil, err
	}
	k := newCandidacy(ctx, e)
	for {
		s, err := e.client.Session(ctx)
		if err != nil {
			return nil, err
		}
		k.c, err = contender.Enter(ctx, s, contender.Spec{
			Dir: e.path, Name: name, Markers: markers(), Data: e.opts.Data, ACL: e.opts.ACL, Rule: k.rule,
		})
		if err == nil {
			return k, nil
		}
		if ctx.Err() != nil || !holding.IsLoss(err) {
			return nil, err
		}
	}
}

// rule notes whom the candidate turns to.
func (k *Candidacy) rule(q znode.Queue, self int) contender.Decision {
	k.watch(q.Entries[:self])
	if k.e.opts.Standby {
		return contender.Standby(q, self)
	}
	return contender.Exclusive(q, self)
}
