// Package assignor decides which member of a group gets which resource. The
// package only computes: the same members and resources give the same answer,
// in any order and in any process.
//
// # What it is
//
//	members := []assignor.Member{{Key: "ann", Held: []string{"q1", "q2"}}, {Key: "bob"}}
//	resources := []assignor.Resource{{Name: "q1"}, {Name: "q2"}}
//	target := assignor.Sticky().Assign(members, resources)
//
// The package has five assignors; implement [Assignor] for another, and
// [ContextAssignor] if it takes long. [Limit]
// cuts the way to a target into steps of a few moves, and [Check] reports
// whether the answer of an assignor is an assignment at all.
//
// # Guarantees
//
// Each resource that some member takes goes to exactly one member that takes
// it; all other resources go to no member. An assignment is balanced if, of all
// assignments that the subscriptions allow, the largest share is smallest, then
// the second-largest share, and so on. If all members take the same resources,
// the shares differ by one at most.
//
//	assignor      first of all                then                  then
//	sticky        balanced                    fewest moves
//	weighted      proportional to weights     largest remainders    fewest moves
//	zones         balanced                    most in their zone    fewest moves
//	range         balanced                    contiguous ranges
//	round-robin   dealt in order, by turns
//
// These are optima over all assignments, not local optima. A move is a resource
// that a member holds and still takes, and does not get. With sticky and equal
// subscriptions, a member that joins takes its share and no other member gets
// anything, and a member that leaves gives its share and no other member loses
// anything. With zones, and with different subscriptions, a change may require
// a chain of moves between other members.
//
// Among equally good assignments, the order of keys and names decides. Round
// robin and range ignore present holdings, and may move most resources when a
// member comes or goes.
//
// # Cost
//
// Members and resources are sorted, resources that the same members take form a
// class, and the number of resources of each class for a member is computed as
// a flow. With few different subscriptions, the time is about linear in the
// resources: a million resources over two thousand members take a fraction of a
// second. With many different subscriptions, the time grows with the members times
// the classes. The patterns are matched 64 at a time, and what sorted names have in
// common at their beginnings is read once: two thousand patterns with a hundred
// thousand names take a fraction of a second. Memory is about a hundred bytes per
// resource, without names, and a bit per class and member.
//
// All assignors of this package are [ContextAssignor]s: a computation whose result is not
// needed any more can be stopped.
//
// # Failures
//
// No function fails or panics. Every invalid input has a meaning that is
// documented at its declaration: a malformed pattern, two members with the same
// key, a weight below zero, a claim on a resource that is gone. The caller may
// refuse such input.
//
// # Concurrency
//
// The package has no state. All functions may be called from any number of
// goroutines.
package assignor
