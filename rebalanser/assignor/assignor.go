package assignor

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

var (
	// ErrUnknown says that there is no assignor of that name.
	ErrUnknown = errors.New("unknown assignor")
	// ErrInvalid says that an assignment is not one: see [Check].
	ErrInvalid = errors.New("invalid assignment")
)

// Member is a member of a group that can be given resources.
type Member struct {
	// Key identifies the member. A key should outlive a restart: the order of the
	// keys breaks all ties, so a member that comes back under its old key finds
	// its old place. Members with the same key are different members in the order
	// of the list; avoid them.
	Key string
	// Weight is the member's share, relative to the weights of others; only
	// [Weighted] uses it. Zero or less means 1. Weights are exact up to 2^62
	// divided by members and resources; beyond that all weights lose low bits.
	Weight int
	// Zone is where the member lives; only [Zones] heeds it. Without one it
	// is at home with the resources that have none.
	Zone string
	// Subscription has patterns, as of path.Match, of the names that the
	// member takes; if empty, it takes all. A malformed pattern matches
	// nothing.
	Subscription []string
	// Held is what the member holds at present, in any order. Names of resources
	// that are gone, or that the member does not take any more, do not count. If
	// two members claim a resource, the first of them in the order of keys holds
	// it.
	Held []string
}

// Resource is a resource to be shared out. Several resources with the same name
// count as one, in the first of their zones in the order of strings.
type Resource struct {
	Name string
	// Zone is where the resource lives; only [Zones] heeds it. One without a
	// zone is at home everywhere.
	Zone string
}

// Assignor decides which member gets which resource. The assignors of this
// package have no state, and may be used by any number of goroutines.
type Assignor interface {
	// Name identifies the assignor to [ByName], and to people: all members of
	// a group must use the same one.
	Name() string
	// Assign shares the resources out: the names in result i, sorted, are for
	// members[i]. Each resource that a member takes goes to exactly one member
	// that takes it. A resource that no member takes is not assigned; see
	// [Check]. Assign changes none of its arguments. The result depends only on
	// the contents of the arguments: not on their order, the time, or the
	// process.
	Assign(members []Member, resources []Resource) [][]string
}

// Sticky keeps the members balanced as well as their subscriptions allow, with
// the fewest possible moves. It is the one to take without a reason for
// another.
//
// With equal subscriptions the numbers of resources differ by one at most. With
// different ones the numbers, sorted, largest first, are the least in the order
// of dictionaries that any assignment has; so no chain of moves brings two of
// them closer. Among all such assignments it takes one that leaves the most
// resources where they are held.
func Sticky() Assignor { return policy{name: "sticky", keep: true} }

// Weighted gives members shares in proportion to their weights, with few moves.
//
// With equal subscriptions a member's share is weight * resources / all weights,
// rounded down, or up where the remainder is largest. With different
// subscriptions a member's share is its fair share of the resources that the
// member and the members competing with it take, rounded down, or up where the
// remainder is largest as far as the subscriptions allow. Shares are fair if no
// share can be raised except at the cost of a share that is smaller in
// proportion. Among all assignments like that it takes one that leaves the most
// resources where they are held.
func Weighted() Assignor { return policy{name: "weighted", keep: true, weights: true} }

// Zones keeps resources in their zones as far as balance allows.
//
// The numbers are as balanced as those of [Sticky]: zones never cost balance.
// Among all assignments as balanced as that it takes those with the most
// resources at members of their own zone, and among these one that leaves the
// most resources where they are held.
func Zones() Assignor { return policy{name: "zones", keep: true, zones: true} }

// Range gives members contiguous ranges of the sorted names: the first member has
// the first range, and so on. Range ignores present holdings.
//
// With equal subscriptions the lengths differ by one at most, and the first
// ranges are the longer ones. With different subscriptions the numbers are as
// balanced as those of [Sticky], and a member has a contiguous range of each set
// of resources that the same members take.
func Range() Assignor { return policy{name: "range"} }

// RoundRobin deals the resources out like cards, in the order of names and of
// keys, and passes over members that do not take a resource. RoundRobin ignores
// present holdings. With equal subscriptions the numbers differ by one at most;
// with different subscriptions the difference has no bound.
func RoundRobin() Assignor { return roundRobin{} }

// all are the assignors of this package, the default first.
func all() []Assignor {
	return []Assignor{Sticky(), Weighted(), Zones(), Range(), RoundRobin()}
}

// Names returns the names that [ByName] accepts, the default first.
func Names() []string {
	var names []string
	for _, a := range all() {
		names = append(names, a.Name())
	}
	return names
}

// ByName returns the assignor of this package with that name, or an error that
// wraps [ErrUnknown] and lists the known names.
func ByName(name string) (Assignor, error) {
	for _, a := range all() {
		if a.Name() == name {
			return a, nil
		}
	}
	return nil, fmt.Errorf("assignor: %w %q: there are %s", ErrUnknown, name, strings.Join(Names(), ", "))
}

// byKey returns the places of the members in the order of their keys.
func byKey(members []Member) []int32 {
	order := make([]int32, len(members))
	for i := range order {
		order[i] = int32(i)
	}
	slices.SortStableFunc(order, func(a, b int32) int { return strings.Compare(members[a].Key, members[b].Key) })
	return order
}
