package rebalanser

import (
	"fmt"
	"os"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/zkrecipes/zkrecipes/internal/format/shareformat"
	"github.com/zkrecipes/zkrecipes/rebalanser/assignor"
	"github.com/zkrecipes/zkrecipes/rebalanser/internal/core"
	"github.com/zkrecipes/zkrecipes/session"
)

// Mode is the way in which a group keeps a resource from having two owners. The
// mode belongs to the group: the first member, or [Admin.Create], sets it, and a
// client with another mode gets ErrMode.
type Mode int

const (
	// ResourceBarrier gives each resource a barrier, which its owner holds: a
	// resource moves as soon as its owner has given it up, independently of the
	// other members. The requests grow with the resources that move.
	ResourceBarrier Mode = iota
	// GlobalBarrier stops all moving resources everywhere before any of them is
	// started. The requests grow with the members, not with the resources; the
	// slowest member decides when the rebalancing ends.
	GlobalBarrier
)

func (m Mode) String() string {
	switch m {
	case ResourceBarrier:
		return "resource"
	case GlobalBarrier:
		return "global"
	}
	return fmt.Sprintf("Mode(%d)", int(m))
}

func (m Mode) coreMode() core.Mode {
	if m == GlobalBarrier {
		return core.Global
	}
	return core.Resource
}

// Options of a Group and of an Admin; nil and the zero value mean all defaults.
// An Admin uses Mode, ID and ACL. The options of the whole group, from Assignor
// to MaxMoves, are those of the coordinator: use the same for all members.
type Options struct {
	// Mode of the group; default: ResourceBarrier.
	Mode Mode
	// ID describes the member to people; valid UTF-8. Default: host name, colon,
	// process id.
	ID string
	// Instance makes a member static: it is the same member after a restart. If a
	// static member comes back within DepartureDelay, it gets its former
	// resources back, and nothing else moves. No two members can be one instance
	// at a time. The rules of resource names apply; an instance must not begin
	// with "_c_". Default: none, each Run is a new member.
	Instance string
	// InstanceWait is the time for which Run waits until another member of the
	// same Instance has gone, for example the process before a crash, whose
	// session must expire. Default: two session timeouts.
	InstanceWait time.Duration
	// Weight is the share of this member, for assignors that use weights, up to
	// 1,000,000; default: 1.
	Weight int
	// Zone is the place of this member, for assignors that use zones. Default:
	// none.
	Zone string
	// Subscription has the patterns, in the form of path.Match, of the resources
	// that this member takes; default: all.
	Subscription []string
	// StartWhenComplete makes this member wait, before Handler.Assigned is
	// called, until the member owns every resource that it has been assigned; one
	// call then tells of all new resources. Use it if the resources can only be
	// worked on together. Earlier resources continue meanwhile, and resources
	// that must be given up are revoked as usual.
	//
	// The wait lasts until the former owners have given their resources up, or
	// their sessions have expired: indefinitely if one of their handlers does not
	// return. Resources that the member already owns are idle, and no other
	// member gets them. If the set changes meanwhile, the member waits for the
	// new set, and gives up at once all resources outside the new set;
	// MinInterval keeps changes from coming faster than the wait ends.
	// State.Missing and Member.Missing show the wait.
	//
	// Default: each resource is started as soon as it is owned. In global mode
	// the option changes nothing: no member starts a resource there before all
	// members have stopped.
	StartWhenComplete bool
	// RevokeTimeout bounds the time for which a handler may give resources up;
	// then their contexts end with ErrRevokeTimeout. The resources stay owned
	// until the handler returns. Default: no limit.
	RevokeTimeout time.Duration
	// Grace is for handlers of [Each]: the time for which running functions may
	// continue after the context of Run has ended, to finish their work. Their
	// contexts end when Grace is over, or at once if the session is lost.
	// Everything is given back as soon as all functions have returned; until then
	// all resources stay owned. A resource that waits for RetryDelay is not
	// called for again, and RevokeTimeout begins after Grace. Resources that move
	// to another member while Run continues, and resources that are given up
	// after a failure, have no Grace. Default: none, the contexts end at once.
	Grace time.Duration
	// AssignmentDelay is the pause between owning resources and Handler.Assigned.
	// During the pause, work that a former owner left running against its context
	// can end. No other member owns the resources meanwhile; in global mode
	// nothing else moves in the group. If all of the resources must be given up
	// again, or are lost, the pause ends early, and the handler is not called.
	// Default: none.
	AssignmentDelay time.Duration
	// RetryDelay is for handlers of [Each]: after a failure of the function, the
	// resource is parked for RetryDelay, and then the function is called again.
	// The pause doubles with each failure in a row, up to a minute, or up to
	// RetryDelay if it is longer; a call that lasts as long as the pause before
	// it ends the row. Meanwhile the member keeps the resource, and all other
	// resources are undisturbed; State.Failing and Status.Failing list the
	// resource. An error that the function returns after its context has ended is
	// dropped. Default: a failure of the function ends the membership. The next
	// owner of the resource may then fail as well: one bad resource can end all
	// members, one after the other.
	RetryDelay time.Duration
	// RestartDelay makes Run join again, after this time, when a failure of the
	// handler or an error of a server has ended the membership, instead of
	// returning the error. Meanwhile State has the phase "restarting" and the
	// error. Run nevertheless returns when the client is closed, when its
	// authentication has failed, and for ErrInvalidArgument and ErrMode. Default: Run
	// returns the error.
	RestartDelay time.Duration

	// Assignor decides which member gets which resource; default:
	// assignor.Sticky().
	Assignor assignor.Assignor
	// InitialDelay is the time for which a group without any assignment waits for
	// more members before its first rebalancing. Default: none.
	InitialDelay time.Duration
	// DepartureDelay is the time for which the resources of a static member are
	// kept for it after it has gone, without an owner. Default: 30 s.
	DepartureDelay time.Duration
	// MinInterval is the shortest time between the beginnings of two
	// rebalancings. Default: none.
	MinInterval time.Duration
	// MaxMoves bounds the number of resources that move from one live member to
	// another at a time. Default: no limit.
	MaxMoves int

	// ACL of the znodes; default: the client's. All members must be allowed to read
	// the znodes of all others: a member that may not ends with session.ErrNoAuth.
	ACL []session.ACL
}

const (
	defaultDepartureDelay = 30 * time.Second
	maxWeight             = shareformat.MaxWeight
)

// withDefaults checks the options and fills them up.
func (o *Options) withDefaults() (Options, error) {
	var out Options
	if o != nil {
		out = *o
	}
	if err := out.validate(); err != nil {
		return out, err
	}
	if out.ID == "" {
		host, err := os.Hostname()
		if err != nil {
			host = "unknown"
		}
		out.ID = fmt.Sprintf("%s:%d", host, os.Getpid())
	}
	if out.Assignor == nil {
		out.Assignor = assignor.Sticky()
	}
	if out.DepartureDelay == 0 {
		out.DepartureDelay = defaultDepartureDelay
	}
	out.Subscription, out.ACL = slices.Clone(out.Subscription), slices.Clone(out.ACL)
	return out, nil
}

func (o *Options) validate() error {
	switch {
	case o.Mode != ResourceBarrier && o.Mode != GlobalBarrier:
		return fmt.Errorf("%w: Mode is %d; it must be ResourceBarrier or GlobalBarrier", ErrInvalidArgument, o.Mode)
	case !utf8.ValidString(o.ID):
		return fmt.Errorf("%w: ID is %q; it must be valid UTF-8", ErrInvalidArgument, o.ID)
	case !utf8.ValidString(o.Zone):
		return fmt.Errorf("%w: Zone is %q; it must be valid UTF-8", ErrInvalidArgument, o.Zone)
	case o.Weight < 0 || o.Weight > maxWeight:
		return fmt.Errorf("%w: Weight is %d; it must be from 1 to %d", ErrInvalidArgument, o.Weight, maxWeight)
	case o.MaxMoves < 0:
		return fmt.Errorf("%w: MaxMoves is %d; it must not be negative", ErrInvalidArgument, o.MaxMoves)
	}
	for _, d := range []struct {
		field string
		value time.Duration
	}{
		{"InstanceWait", o.InstanceWait}, {"RevokeTimeout", o.RevokeTimeout}, {"InitialDelay", o.InitialDelay},
		{"DepartureDelay", o.DepartureDelay}, {"MinInterval", o.MinInterval}, {"AssignmentDelay", o.AssignmentDelay},
		{"RetryDelay", o.RetryDelay}, {"RestartDelay", o.RestartDelay}, {"Grace", o.Grace},
	} {
		if d.value < 0 {
			return fmt.Errorf("%w: %s is %v; it must not be negative", ErrInvalidArgument, d.field, d.value)
		}
	}
	if o.Instance != "" {
		if err := validInstance(o.Instance); err != nil {
			return err
		}
	}
	return validSubscription(o.Subscription)
}

func validInstance(id string) error {
	if err := shareformat.ValidInstance(id); err != nil {
		return fmt.Errorf("%w: Instance %w; it must be the name of a znode, and must not begin with %s", ErrInvalidArgument, err, clientPrefix)
	}
	return nil
}

func validSubscription(patterns []string) error {
	for _, p := range patterns {
		if !shareformat.ValidPattern(p) {
			return fmt.Errorf("%w: Subscription has %.60q; it must be patterns of path.Match", ErrInvalidArgument, p)
		}
	}
	return nil
}

// encodeRecord encodes the record of a member with these options, which other members
// read.
func (o *Options) encodeRecord() []byte {
	return encode(&memberRecord{
		Format: format, Mode: o.Mode.String(), ID: o.ID, Instance: o.Instance, Assignor: o.Assignor.Name(),
		Weight: o.Weight, Zone: o.Zone, Subscription: o.Subscription,
		StartWhenComplete: o.StartWhenComplete && o.Mode == ResourceBarrier,
		Shards:            shareformat.FormatDelta,
	})
}

// coreConfig is the configuration of a coordinator with these options.
func (o *Options) coreConfig() core.Config {
	return core.Config{
		Mode: o.Mode.coreMode(), Assignor: o.Assignor, InitialDelay: o.InitialDelay,
		DepartureDelay: o.DepartureDelay, MinInterval: o.MinInterval, MaxMoves: o.MaxMoves,
	}
}
