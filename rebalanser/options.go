package rebalanser

import (
	"fmt"
	"os"
	"path"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/zkrecipes/zkrecipes/rebalanser/assignor"
	"github.com/zkrecipes/zkrecipes/rebalanser/internal/core"
	"github.com/zkrecipes/zkrecipes/session"
)

// Mode is how a group makes sure that no resource has two owners. It is the
// group's: the first member, or [Admin.Create], sets it, and whoever comes with
// another gets ErrMode.
type Mode int

const (
	// ResourceBarrier gives each resource a barrier, which its owner holds: it
	// moves as soon as the one that has it has given it up, whatever the others
	// do. Its requests grow with the resources that move.
	ResourceBarrier Mode = iota
	// GlobalBarrier stops what moves everywhere before any of it is started
	// anywhere. Its requests grow with the members, and not with the resources;
	// the slowest member decides when it is over.
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

func (m Mode) core() core.Mode {
	if m == GlobalBarrier {
		return core.Global
	}
	return core.Resource
}

// Options of a Group and of an Admin; nil and the zero value mean all defaults. An
// Admin goes by Mode, ID and ACL. Of the options that concern the whole group, from
// Assignor to MaxMoves, the coordinator's count: all members should agree on them.
type Options struct {
	// Mode of the group; default: ResourceBarrier.
	Mode Mode
	// ID says to people who a member is; valid UTF-8. Default: host name, colon,
	// process id.
	ID string
	// Instance makes a member static: it is the same member after a restart, and
	// as long as it comes back within DepartureDelay it gets back what it had,
	// and nothing else moves. No two members can be one instance at a time. Rules
	// of resource names; it must not begin with "_c_". Default: none, each Run is
	// a new member.
	Instance string
	// InstanceWait is how long Run waits for another member of the same Instance
	// to go, such as the one before a crash, whose session must expire. Default:
	// two session timeouts.
	InstanceWait time.Duration
	// Weight is the share of this member, for assignors that heed it, up to
	// 1,000,000; default: 1.
	Weight int
	// Zone is where this member is, for assignors that heed it. Default: none.
	Zone string
	// Subscription are the patterns, in the form of path.Match, of the resources
	// that this member takes; default: all.
	Subscription []string
	// RevokeTimeout is how long a handler may take to give resources up before
	// their contexts end with ErrRevokeTimeout. They stay owned until it returns.
	// Default: for ever.
	RevokeTimeout time.Duration

	// Assignor decides who gets what; default: assignor.Sticky().
	Assignor assignor.Assignor
	// InitialDelay is how long a group in which nobody has been assigned
	// anything waits for more members before it shares out. Default: not at all.
	InitialDelay time.Duration
	// DepartureDelay is for how long what a static member had is kept for it
	// after it has gone: without an owner. Default: 30 s.
	DepartureDelay time.Duration
	// MinInterval is how long one rebalancing begins after the one before, at
	// least. Default: none.
	MinInterval time.Duration
	// MaxMoves is how many resources are on their way from one living member to
	// another at a time. Default: any number.
	MaxMoves int

	// ACL of the znodes; default: the client's.
	ACL []session.ACL
}

const (
	defaultDepartureDelay = 30 * time.Second
	maxWeight             = 1_000_000
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
		return fmt.Errorf("%w: Mode is %d; it must be ResourceBarrier or GlobalBarrier", ErrArgument, o.Mode)
	case !utf8.ValidString(o.ID):
		return fmt.Errorf("%w: ID is %q; it must be valid UTF-8", ErrArgument, o.ID)
	case !utf8.ValidString(o.Zone):
		return fmt.Errorf("%w: Zone is %q; it must be valid UTF-8", ErrArgument, o.Zone)
	case o.Weight < 0 || o.Weight > maxWeight:
		return fmt.Errorf("%w: Weight is %d; it must be from 1 to %d", ErrArgument, o.Weight, maxWeight)
	case o.MaxMoves < 0:
		return fmt.Errorf("%w: MaxMoves is %d; it must not be negative", ErrArgument, o.MaxMoves)
	}
	for _, d := range []struct {
		field string
		value time.Duration
	}{
		{"InstanceWait", o.InstanceWait}, {"RevokeTimeout", o.RevokeTimeout}, {"InitialDelay", o.InitialDelay},
		{"DepartureDelay", o.DepartureDelay}, {"MinInterval", o.MinInterval},
	} {
		if d.value < 0 {
			return fmt.Errorf("%w: %s is %v; it must not be negative", ErrArgument, d.field, d.value)
		}
	}
	if o.Instance != "" {
		if err := validInstance(o.Instance); err != nil {
			return err
		}
	}
	return validSubscription(o.Subscription)
}

// validInstance checks an instance id: it must not look like a client's name, which
// names the shards of those who have none.
func validInstance(id string) error {
	if err := validName("Instance", id); err != nil {
		return err
	}
	if strings.HasPrefix(id, clientPrefix) {
		return fmt.Errorf("%w: Instance is %.60q; it must not begin with %s", ErrArgument, id, clientPrefix)
	}
	return nil
}

func validSubscription(patterns []string) error {
	for _, p := range patterns {
		if _, err := path.Match(p, ""); err != nil || p == "" || !utf8.ValidString(p) {
			return fmt.Errorf("%w: Subscription has %.60q; it must be patterns of path.Match", ErrArgument, p)
		}
	}
	return nil
}

// record is what others see of a member with these options.
func (o *Options) record() memberRecord {
	return memberRecord{
		Format: format, Mode: o.Mode.String(), ID: o.ID, Instance: o.Instance, Assignor: o.Assignor.Name(),
		Weight: o.Weight, Zone: o.Zone, Subscription: o.Subscription,
	}
}

// config is what a coordinator with these options goes by.
func (o *Options) config() core.Config {
	return core.Config{
		Mode: o.Mode.core(), Assignor: o.Assignor, InitialDelay: o.InitialDelay,
		DepartureDelay: o.DepartureDelay, MinInterval: o.MinInterval, MaxMoves: o.MaxMoves,
	}
}
