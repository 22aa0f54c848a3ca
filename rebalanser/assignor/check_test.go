package assignor_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/rebalanser/assignor"
	"pgregory.net/rapid"
)

func TestCheckNamesWhatIsWrong(t *testing.T) {
	type lists = [][]string
	members := []assignor.Member{{Key: "b", Subscription: []string{"x*"}}, {Key: "a", Subscription: []string{"[xy]*"}}}
	resources := []assignor.Resource{{Name: "z1"}, {Name: "y1"}, {Name: "x2"}, {Name: "x1"}}
	for _, c := range []struct {
		name       string
		assignment lists
		want       string
	}{
		{"right", lists{{"x1", "x2"}, {"y1"}}, ""},
		{"too few lists", lists{{"x1", "x2"}}, "1 lists for 2 members"},
		{"too many lists", lists{{"x1", "x2"}, {"y1"}, nil}, "3 lists for 2 members"},
		{"not sorted", lists{{"x2", "x1"}, {"y1"}}, `the list of "b" is not sorted: "x2" comes before "x1"`},
		{"no resource", lists{{"x1", "x2"}, {"y1", "y2"}}, `"y2", assigned to "a", is not a resource`},
		{"twice", lists{{"x1", "x2"}, {"x1", "y1"}}, `"x1" is assigned to "a" and to "b"`},
		{"twice to the same", lists{{"x1", "x1", "x2"}, {"y1"}}, `"x1" is assigned to "b" and to "b"`},
		{"not subscribed", lists{{"x1", "x2", "y1"}, nil}, `"y1" is assigned to "b", which does not take it`},
		{"taken by no member", lists{{"x1", "x2"}, {"y1", "z1"}}, `"z1" is assigned to "a", which does not take it`},
		{"left out", lists{{"x1"}, {"y1"}}, `"x2" is assigned to no member`},
		{"two things", lists{{"x1"}, nil}, "\"x2\" is assigned to no member\n\"y1\" is assigned to no member"},
		{"many things", lists{{"1", "2", "3", "4", "5", "6"}, nil}, "and 4 more"},
	} {
		t.Run(c.name, func(t *testing.T) {
			err := assignor.Check(members, resources, c.assignment)
			if c.want == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorIs(t, err, assignor.ErrInvalid)
			require.ErrorContains(t, err, c.want)
		})
	}
	require.NoError(t, assignor.Check(nil, resources, nil), "no member exists to take the resource")
	require.NoError(t, assignor.Check(members, nil, lists{nil, {}}))
	require.ErrorContains(t, assignor.Check(members, nil, lists{{"x1"}, nil}), "is not a resource")
}

// Any change makes a valid assignment invalid.
func TestCheckFindsEveryChange(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		members, resources := drawn(t, 6, 20, true)
		got := rapid.SampledFrom(everyAssignor()).Draw(t, "assignor").Assign(members, resources)
		require.NoError(t, assignor.Check(members, resources, got))
		i := rapid.IntRange(0, len(got)-1).Draw(t, "member")
		list := slices.Clone(got[i])
		switch rapid.SampledFrom([]string{"drop", "add", "twice", "rename"}).Draw(t, "change") {
		case "drop":
			if len(list) == 0 {
				return
			}
			at := rapid.IntRange(0, len(list)-1).Draw(t, "at")
			list = slices.Delete(list, at, at+1)
		case "add":
			if len(resources) == 0 {
				return
			}
			list = append(list, rapid.SampledFrom(resources).Draw(t, "resource").Name)
			slices.Sort(list)
		case "twice":
			if len(list) == 0 {
				return
			}
			list = append(list, list[len(list)-1])
		case "rename":
			if len(list) == 0 {
				return
			}
			list[0] = ""
		}
		got[i] = list
		require.ErrorIs(t, assignor.Check(members, resources, got), assignor.ErrInvalid)
	})
}
