package discovery

import (
	"context"
	"fmt"
	"iter"
	"time"
	"unicode/utf8"

	"github.com/zkrecipes/zkrecipes/internal/holding"
	"github.com/zkrecipes/zkrecipes/internal/keeping"
	"github.com/zkrecipes/zkrecipes/internal/receiver"
	"github.com/zkrecipes/zkrecipes/internal/znode"
	"github.com/zkrecipes/zkrecipes/observe"
	"github.com/zkrecipes/zkrecipes/session"
)

// Group is a set of members that can list each other: the children of a path.
type Group struct {
	client *session.Client
	path   string
	opts   Options
	owned  *keeping.Ownership
	err    error // of invalid arguments
}

// NewGroup makes a group of the children of path. NewGroup sends nothing; the
// first call of a method reports an invalid argument. o may be nil.
func NewGroup(client *session.Client, path string, o *Options) *Group {
	g := &Group{client: client, path: path, owned: keeping.NewOwnership()}
	g.opts, g.err = checkOptions(client, path, o)
	return g
}

// Member is a member of a group.
type Member struct {
	ID   string
	Data []byte
	// Path is the path of the member's znode, and Token its czxid: a later member
	// has a larger Token.
	Path  string
	Token int64
	// Session that owns the znode; 0 for a stranger's persistent one.
	Session int64
	// Since is the time of the join, by the server's clock.
	Since time.Time
}

// Join joins the group as id, and keeps the membership: in the next session after
// each loss, and also after its znode was deleted. A goroutine does this until
// [Membership.Leave], or until the client is closed.
//
// Join returns when the group has the member. If the group has another member of
// this name, the error wraps ErrConflict, or Join waits ([Options.Wait]). Join
// also waits for remains of an earlier session of this Group, and for a member
// that is leaving. If ctx ends first, nothing is left behind. In Kazoo's layouts
// names do not conflict, and members have no data but their id.
func (g *Group) Join(ctx context.Context, id string, data []byte) (*Membership, error) {
	g = receiver.OrZero(g)
	e, err := g.newEntry(ctx, id, data)
	if err != nil {
		return nil, failure(ctx, "join", g.path, err)
	}
	m := &Membership{id: id, group: g, registrant: keeping.New(g.opts.config(g.client, g.opts.Layout.parent(), g.owned))}
	if err := m.registrant.Register(ctx, observe.Membership, "join", e); err != nil {
		return nil, err
	}
	return m, nil
}

// newEntry checks ctx and the arguments, and makes an entry of the member.
func (g *Group) newEntry(ctx context.Context, id string, data []byte) (*keeping.Entry, error) {
	if err := g.checkCall(ctx); err != nil {
		return nil, err
	}
	layout := g.opts.Layout
	switch {
	case layout != Curator && data != nil:
		return nil, fmt.Errorf("%w: data: members have none in Kazoo's layouts", ErrInvalidArgument)
	case layout == Kazoo && (id == "" || !utf8.ValidString(id)):
		return nil, fmt.Errorf("%w: id %q is empty, or not UTF-8", ErrInvalidArgument, id)
	case layout == Kazoo:
		data = []byte(id)
	default:
		if err := validateName("id", id); err != nil {
			return nil, err
		}
	}
	return &keeping.Entry{
		Dir: g.path, Name: layout.nameOf(id), Mode: session.Ephemeral,
		Data:   append([]byte{}, data...), // not nil: the node has data, of length 0
		Random: layout != Curator,
	}, nil
}

func (g *Group) checkCall(ctx context.Context) error {
	return holding.Begin(ctx, g.client, "discovery.NewGroup", g.err, ErrInvalidArgument)
}

// Members lists the members in the order of their joins, as of one moment, which
// precedes the call if the server lags behind; the group may have changed since. A
// majority of the servers has confirmed an empty list.
func (g *Group) Members(ctx context.Context) ([]Member, error) {
	g = receiver.OrZero(g)
	err := g.checkCall(ctx)
	var nodes []child
	if err == nil {
		nodes, err = listChildren(ctx, g.client, g.path, func(name string) bool {
			_, ok := g.opts.Layout.member(name)
			return ok
		})
	}
	if err != nil {
		return nil, failure(ctx, "members of", g.path, err)
	}
	out := make([]Member, 0, len(nodes))
	for _, node := range nodes {
		if m, ok := g.read(node.Node, node.err); ok {
			out = append(out, m)
		}
	}
	return out, nil
}

// read is the member that a znode stands for. One that may not be read has no
// data; in Kazoo's Party the data is the member's name, and no payload.
func (g *Group) read(node session.Node, denied error) (Member, bool) {
	id, ok := g.opts.Layout.member(znode.Base(node.Path))
	m := Member{
		ID: id, Data: node.Data, Path: node.Path, Token: node.Stat.Czxid,
		Session: node.Stat.EphemeralOwner, Since: time.UnixMilli(node.Stat.Ctime),
	}
	switch g.opts.Layout {
	case Kazoo:
		m.ID, m.Data = string(node.Data), nil
		ok = ok && denied == nil
	case KazooShallow:
		m.Data = nil
	}
	return m, ok
}

// Membership is a kept membership in a group.
type Membership struct {
	id         string
	group      *Group
	registrant *keeping.Registrant
}

// The names in the panic of a zero Membership.
const membershipType, membershipSource = "discovery.Membership", "discovery.Group"

// mustRegistrant is the registrant; a zero Membership has none.
func (m *Membership) mustRegistrant() *keeping.Registrant {
	holding.MustBeMade(m != nil && m.registrant != nil, membershipType, membershipSource)
	return m.registrant
}

var _ session.Held = (*Membership)(nil)

// ID returns the member's name.
func (m *Membership) ID() string { return receiver.OrZero(m).id }

// State says whether the group has the member at the moment.
func (m *Membership) State() State { return stateOf(m.mustRegistrant().State()) }

// States iterates over the states; see [Registration.States].
func (m *Membership) States(ctx context.Context) iter.Seq2[State, error] {
	m = receiver.OrZero(m)
	return states(ctx, m.registrant, membershipType, membershipSource)
}

// Context returns the context of the present membership; see
// [Registration.Context].
func (m *Membership) Context() context.Context { return m.mustRegistrant().Context() }

// Token is a fencing token: the czxid of the znode of the present membership, or of the
// last one; see [Registration.Token].
func (m *Membership) Token() int64 { return m.mustRegistrant().State().Token }

// Guard is a check for a transaction of the session in which the group has the member,
// which fails once the membership is lost or given back; see [Registration.Guard].
func (m *Membership) Guard() session.Op { return m.mustRegistrant().Guard() }

// Update replaces the member's data in place; see [Registration.Update].
func (m *Membership) Update(ctx context.Context, data []byte) error {
	m = receiver.OrZero(m)
	if err := holding.BeginHeld(ctx, m.registrant != nil, membershipType, membershipSource, ErrInvalidArgument); err != nil {
		return failure(ctx, "update", "", err)
	}
	e, err := m.group.newEntry(ctx, m.id, data)
	if err == nil {
		err = m.registrant.ChangeEntry(ctx, func(now *keeping.Entry) (*keeping.Entry, error) {
			e.Name = now.Name
			return e, nil
		})
	}
	if err != nil {
		return failure(ctx, "update", m.registrant.Title(), err)
	}
	return nil
}

// Leave leaves the group and ends the keeping. Its result, and the work in the
// background, are as for [Registration.Unregister].
func (m *Membership) Leave(ctx context.Context) error {
	m = receiver.OrZero(m)
	if err := holding.BeginHeld(ctx, m.registrant != nil, membershipType, membershipSource, ErrInvalidArgument); err != nil {
		return failure(ctx, "leave", "", err)
	}
	if err := m.registrant.AwaitLeft(ctx); err != nil {
		return failure(ctx, "leave", m.registrant.Title(), err)
	}
	return nil
}

// Release is Leave, by the name that everything held shares; see [session.Held]. The
// result is that of Leave: nil after a loss, too.
func (m *Membership) Release(ctx context.Context) error { return m.Leave(ctx) }
