package discovery

import (
	"context"
	"fmt"
	"iter"
	"time"
	"unicode/utf8"

	"github.com/zkrecipes/zkrecipes/internal/znode"
	"github.com/zkrecipes/zkrecipes/session"
)

// Group is a set of members that know of each other: the children of a path.
type Group struct {
	client *session.Client
	path   string
	opts   Options
	claims *claims
	err    error // what is wrong with the arguments
}

// NewGroup makes a group of the children of path. It does nothing yet; a wrong
// argument is reported by the first call of a method. o may be nil.
func NewGroup(client *session.Client, path string, o *Options) *Group {
	g := &Group{client: client, path: path, claims: newClaims()}
	g.opts, g.err = checked(client, path, o)
	return g
}

// Member is one member of a group.
type Member struct {
	ID   string
	Data []byte
	// Path is the member's znode, and Token its czxid: who came later has a
	// larger one.
	Path  string
	Token int64
	// Session that owns the znode; 0 for a stranger's persistent one.
	Session int64
	// Since is when it joined, by the server's clock.
	Since time.Time
}

// Join joins the group as id, and keeps the membership: in each session that
// follows on a lost one, and also when somebody deletes its znode. That is done by
// a goroutine, which [Membership.Leave] ends, and the closing of the client.
//
// It returns when the group has the member. If it has one of this name, the error
// wraps ErrConflict, unless [Options.Wait] says to wait; what an earlier session of
// this Group has left is waited for. When ctx ends first nothing is left behind.
// In Kazoo's layouts names do not conflict, and members have no data but their id.
func (g *Group) Join(ctx context.Context, id string, data []byte) (*Membership, error) {
	e, err := g.begin(ctx, id, data)
	if err != nil {
		return nil, failure(ctx, "join", g.path, err)
	}
	m := &Membership{id: id, group: g, keeper: &keeper{
		client: g.client, opts: g.opts, parent: g.opts.Layout.parent(), claims: g.claims,
	}}
	if err := m.keeper.keep(ctx, e); err != nil {
		return nil, failure(ctx, "join", e.path(), err)
	}
	return m, nil
}

// begin checks ctx and the arguments, and makes an entry of the member.
func (g *Group) begin(ctx context.Context, id string, data []byte) (*entry, error) {
	if err := g.ready(ctx); err != nil {
		return nil, err
	}
	layout := g.opts.Layout
	switch {
	case layout != Curator && data != nil:
		return nil, fmt.Errorf("%w: data: members have none in Kazoo's layouts", ErrArgument)
	case layout == Kazoo && (id == "" || !utf8.ValidString(id)):
		return nil, fmt.Errorf("%w: id %q is empty, or not UTF-8", ErrArgument, id)
	case layout == Kazoo:
		data = []byte(id)
	default:
		if err := validName("id", id); err != nil {
			return nil, err
		}
	}
	return &entry{
		dir: g.path, name: layout.nameOf(id), mode: session.Ephemeral,
		data: append([]byte{}, data...), // not nil: the node has data, of length 0
	}, nil
}

func (g *Group) ready(ctx context.Context) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return g.err
}

// Members lists the members, in the order in which they joined, as they were at
// one moment, which is over.
func (g *Group) Members(ctx context.Context) ([]Member, error) {
	err := g.ready(ctx)
	var nodes []child
	if err == nil {
		nodes, err = children(ctx, g.client, g.path, func(name string) bool {
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
// data; in Kazoo's Party that is its name, and it is none.
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

// Membership is being in a group.
type Membership struct {
	id     string
	group  *Group
	keeper *keeper
}

// ID is the member's name.
func (m *Membership) ID() string { return m.id }

// State says whether the group has the member at the moment.
func (m *Membership) State() State { return m.keeper.State() }

// States iterates over the states; see [Registration.States].
func (m *Membership) States(ctx context.Context) iter.Seq2[State, error] {
	return m.keeper.States(ctx)
}

// Context is that of the present membership; see [Registration.Context].
func (m *Membership) Context() context.Context { return m.keeper.Context() }

// Update replaces the member's data in place; see [Registration.Update].
func (m *Membership) Update(ctx context.Context, data []byte) error {
	e, err := m.group.begin(ctx, m.id, data)
	if err == nil {
		err = m.keeper.change(ctx, func(now *entry) (*entry, error) {
			e.name = now.name
			return e, nil
		})
	}
	if err != nil {
		return failure(ctx, "update", m.keeper.title, err)
	}
	return nil
}

// Leave leaves the group and ends the keeping. When ctx ends first, that goes on
// in the background. Further calls wait for the same.
func (m *Membership) Leave(ctx context.Context) error {
	if err := m.keeper.leaving(ctx); err != nil {
		return failure(ctx, "leave", m.keeper.title, err)
	}
	return nil
}
