package assignor_test

import (
	"errors"
	"fmt"

	"github.com/zkrecipes/zkrecipes/rebalanser/assignor"
)

func show(members []assignor.Member, assignment [][]string) {
	for i, m := range members {
		fmt.Println(m.Key, assignment[i])
	}
}

// queues are the resources of the examples.
func queues(names ...string) []assignor.Resource {
	var out []assignor.Resource
	for _, name := range names {
		out = append(out, assignor.Resource{Name: name})
	}
	return out
}

// A member that joins gets its share, and nothing else moves.
func ExampleSticky() {
	members := []assignor.Member{
		{Key: "ann", Held: []string{"q1", "q3", "q5"}},
		{Key: "bob", Held: []string{"q2", "q4", "q6"}},
		{Key: "eve"},
	}
	show(members, assignor.Sticky().Assign(members, queues("q1", "q2", "q3", "q4", "q5", "q6")))
	// Output:
	// ann [q1 q3]
	// bob [q2 q4]
	// eve [q5 q6]
}

// ann takes only names beginning with a; the others make up for it.
func ExampleMember_subscription() {
	members := []assignor.Member{
		{Key: "ann", Subscription: []string{"a*"}},
		{Key: "bob"},
		{Key: "eve"},
	}
	show(members, assignor.Sticky().Assign(members, queues("a1", "b1", "b2", "b3", "b4")))
	// Output:
	// ann [a1]
	// bob [b1 b2]
	// eve [b3 b4]
}

func ExampleWeighted() {
	members := []assignor.Member{{Key: "large", Weight: 3}, {Key: "small"}}
	show(members, assignor.Weighted().Assign(members, queues("q1", "q2", "q3", "q4")))
	// Output:
	// large [q1 q2 q3]
	// small [q4]
}

// Two resources live in the east and one in the west, but balance comes first.
func ExampleZones() {
	members := []assignor.Member{{Key: "ann", Zone: "east"}, {Key: "bob", Zone: "west"}, {Key: "eve", Zone: "west"}}
	resources := []assignor.Resource{{Name: "q1", Zone: "west"}, {Name: "q2", Zone: "east"}, {Name: "q3", Zone: "east"}}
	show(members, assignor.Zones().Assign(members, resources))
	// Output:
	// ann [q2]
	// bob [q1]
	// eve [q3]
}

func ExampleRange() {
	members := []assignor.Member{{Key: "ann"}, {Key: "bob"}}
	show(members, assignor.Range().Assign(members, queues("q1", "q2", "q3")))
	// Output:
	// ann [q1 q2]
	// bob [q3]
}

func ExampleRoundRobin() {
	members := []assignor.Member{{Key: "ann"}, {Key: "bob"}}
	show(members, assignor.RoundRobin().Assign(members, queues("q1", "q2", "q3")))
	// Output:
	// ann [q1 q3]
	// bob [q2]
}

// A step of one move at a time: q4 is new, so no member gives it up.
func ExampleLimit() {
	members := []assignor.Member{{Key: "ann", Held: []string{"q1", "q2", "q3"}}, {Key: "bob"}}
	target := [][]string{{"q1", "q2"}, {"q3", "q4"}}
	show(members, assignor.Limit(members, target, -1))
	show(members, assignor.Limit(members, target, 1))
	// Output:
	// ann [q1 q2 q3]
	// bob [q4]
	// ann [q1 q2]
	// bob [q3 q4]
}

// first is a custom assignor: the first member gets everything.
type first struct{}

func (first) Name() string { return "first" }

func (first) Assign(members []assignor.Member, resources []assignor.Resource) [][]string {
	out := make([][]string, len(members))
	for _, r := range resources {
		out[0] = append(out[0], r.Name)
	}
	return out
}

func ExampleCheck() {
	members := []assignor.Member{{Key: "ann", Subscription: []string{"a*"}}, {Key: "bob"}}
	resources := queues("a1", "b1")
	err := assignor.Check(members, resources, first{}.Assign(members, resources))
	fmt.Println(errors.Is(err, assignor.ErrInvalid))
	fmt.Println(err)
	// Output:
	// true
	// assignor: invalid assignment: "b1" is assigned to "ann", which does not take it
}
