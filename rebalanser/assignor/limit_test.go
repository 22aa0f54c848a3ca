package assignor_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/rebalanser/assignor"
	"pgregory.net/rapid"
)

// taken counts the resources moved to another member although their holder
// could keep them.
func taken(members []assignor.Member, resources []assignor.Resource, assignment [][]string) int {
	twin := newTwin(members, resources)
	return twin.moves(twin.owners(members, assignment))
}

func TestEachStepMovesNoMoreThanTheLimitAndTheLastArrives(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		members, resources := drawn(t, 8, 40, true)
		limit := rapid.IntRange(1, 5).Draw(t, "limit")
		again := rapid.Bool().Draw(t, "assign again after each step")
		for _, a := range everyAssignor() {
			now := slices.Clone(members)
			target := a.Assign(now, resources)
			steps := (taken(now, resources, target) + limit - 1) / limit
			for range max(1, steps) {
				if again {
					target = a.Assign(now, resources)
				}
				due := taken(now, resources, target)
				step := assignor.Limit(now, target, limit)
				require.NoError(t, assignor.Check(now, resources, step), a.Name())
				require.Equal(t, min(due, limit), taken(now, resources, step), a.Name())
				hold(now, step)
			}
			require.Equal(t, target, assignor.Limit(now, target, limit), a.Name())
			for i := range now {
				require.Equal(t, target[i], now[i].Held, "%s: %s has not arrived", a.Name(), now[i].Key)
			}
		}
	})
}

func TestTheOrderOfMembersDoesNotMatterForAStep(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		members, resources := drawn(t, 8, 40, true)
		target := assignor.Sticky().Assign(members, resources)
		step := assignor.Limit(members, target, 3)
		slices.Reverse(members)
		slices.Reverse(target)
		slices.Reverse(step)
		require.Equal(t, step, assignor.Limit(members, target, 3))
	})
}

func TestAStep(t *testing.T) {
	type lists = [][]string
	m := func(key string, held ...string) assignor.Member { return assignor.Member{Key: key, Held: held} }
	three := []assignor.Member{m("a", "1", "2", "3", "4", "5", "6"), m("b", "7", "8"), m("c")}
	for _, c := range []struct {
		name    string
		members []assignor.Member
		target  lists
		moves   int
		want    lists
	}{
		{"no limit", three, lists{{"1", "2", "3"}, {"4", "7", "8"}, {"5", "6"}}, 0, lists{{"1", "2", "3"}, {"4", "7", "8"}, {"5", "6"}}},
		{"the widest gap first", three, lists{{"1", "2", "3"}, {"4", "7", "8"}, {"5", "6"}}, 1, lists{{"1", "2", "3", "4", "6"}, {"7", "8"}, {"5"}}},
		{"and the next", three, lists{{"1", "2", "3"}, {"4", "7", "8"}, {"5", "6"}}, 2, lists{{"1", "2", "3", "6"}, {"4", "7", "8"}, {"5"}}},
		{"none at all", three, lists{{"1", "2", "3"}, {"4", "7", "8"}, {"5", "6"}}, -1, lists{{"1", "2", "3", "4", "5", "6"}, {"7", "8"}, nil}},
		{"free resources are given at once", three, lists{{"1", "2", "3"}, {"4", "7", "8", "9"}, {"5", "6", "90"}}, -1, lists{{"1", "2", "3", "4", "5", "6"}, {"7", "8", "9"}, {"90"}}},
		{"what is gone is taken", three, lists{{"1"}, {"8"}, {"7"}}, -1, lists{{"1"}, {"7", "8"}, nil}},
		{"what is not taken any more goes at once", []assignor.Member{
			{Key: "a", Held: []string{"x1", "y1", "y2"}, Subscription: []string{"y*"}}, m("b"),
		}, lists{{"y1"}, {"x1", "y2"}}, -1, lists{{"y1", "y2"}, {"x1"}}},
		{"the first of two that claim it has it", []assignor.Member{m("a", "1"), m("b", "1"), m("c")}, lists{nil, nil, {"1"}}, -1, lists{{"1"}, nil, nil}},
		{"a target that gives twice", []assignor.Member{m("b"), m("a")}, lists{{"1", "1"}, {"1", "2"}}, 0, lists{nil, {"1", "2"}}},
		{"a target for fewer members", []assignor.Member{m("a", "1"), m("b", "2")}, lists{{"1"}}, 0, lists{{"1"}, nil}},
		{"a target for more members", []assignor.Member{m("a", "1")}, lists{{"1"}, {"2"}}, 0, lists{{"1"}}},
		{"no members", nil, nil, 0, lists{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			require.Equal(t, c.want, assignor.Limit(c.members, c.target, c.moves))
		})
	}
}

// A limit is about moves, not about the number of resources.
func TestALimitThatIsNotReachedChangesNothing(t *testing.T) {
	members, resources := group(10, 1000)
	hold(members, assignor.Sticky().Assign(members, resources))
	members = append(members, assignor.Member{Key: "joins"})
	target := assignor.Sticky().Assign(members, resources)
	require.Equal(t, 90, taken(members, resources, target))
	require.Equal(t, target, assignor.Limit(members, target, 90))
	step := assignor.Limit(members, target, 20)
	require.Len(t, step[10], 20)
	for i := range 10 {
		require.Len(t, step[i], 98, fmt.Sprint("each gives two: ", i))
	}
}
