// Package assignor decides which member of a group gets which resource. It only
// computes: the same members and resources give the same answer, in any order
// and in any process.
//
// # What it is
//
//	members := []assignor.Member{{Key: "ann", Held: []string{"q1", "q2"}}, {Key: "bob"}}
//	resources := []assignor.Resource{{Name: "q1"}, {Name: "q2"}}
//	target := assignor.Sticky().Assign(members, resources)
//
// There are five assignors, and [Assignor] is the interface of others. [Limit]
// cuts the way to a target into steps of a few moves, and [Check] tells whether
// what an assignor says is an assignment at all.
//
// # Guarantees
//
// Each resource that some member takes goes to exactly one that takes it, all
// others to nobody. To be balanced means: of all assignments that the
// subscriptions allow, one where the most that a member has is the least, then
// the most that the next one has, and so on. If all take the same, the numbers
// differ by one at most.
//
//	assignor      first of all                then                  then
//	sticky        balanced                    fewest moves
//	weighted      proportional to weights     largest remainders    fewest moves
//	zones         balanced                    most in their zone    fewest moves
//	range         balanced                    contiguous ranges
//	round-robin   dealt in order, by turns
//
// These are optima over all assignments, not local ones. A move is a resource
// that a member holds and still takes, and does not get. With equal
// subscriptions it follows for sticky that a member that joins takes its share
// and nobody else gets anything, and that one that leaves gives its own and
// nobody else loses anything. With zones, and with different subscriptions, a
// change may cause a chain of moves between others, if that is what it takes.
//
// Where several assignments are equally good, one of them is taken, by the order
// of keys and names. Round robin and range forget what is held, and may move
// most resources when a member comes or goes.
//
// # Cost
//
// Members and resources are sorted, resources that the same members take are put
// into one class, and how many of each class a member gets is a flow. So the
// time is about linear in the resources if there are few different
// subscriptions; a million resources over two thousand members take a fraction
// of a second. With many, it grows with the patterns times the names that begin
// with what the pattern begins with, and with the members times the classes.
// Memory is about a hundred bytes for each resource, names not counted, and a
// bit for each class and member.
//
// # Failures
//
// Nothing fails and nothing panics. What makes no sense has a meaning that is
// stated where it is declared: a malformed pattern, two members with the same
// key, a weight below zero, a claim on something that is gone. It is for the
// caller to refuse it.
//
// # Concurrency
//
// There is no state. All functions may be called from any number of goroutines.
package assignor
