package ui

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/ui/recognize"
)

func TestResourcesAreOwnedMovingOrUnowned(t *testing.T) {
	one := recognize.ShareMember{ID: "one", Cells: map[string]recognize.Cell{"a": recognize.Owns, "b": recognize.Leaves}}
	two := recognize.ShareMember{ID: "two", Cells: map[string]recognize.Cell{"b": recognize.Comes, "d": recognize.Comes}}
	group := &recognize.Thing{Path: "/g", Shares: &recognize.ShareState{
		Members: []recognize.ShareMember{one, two}, Resources: []string{"a", "b", "c", "d"}, Unowned: []string{"c"},
		Moves: []recognize.ShareMove{{Resource: "b", From: "one", To: "two"}, {Resource: "d", To: "two"}},
	}}
	all := resourceLines(group)
	told := map[string][]string{}
	for _, r := range all {
		told[r.Name] = []string{r.State, r.OwnerID(), r.Next, r.Path}
	}
	require.Equal(t, map[string][]string{
		"a": {"owned", "one", "", "/g/resources/a"}, "b": {"moving", "one", "two", "/g/resources/b"},
		"c": {"unowned", "", "", "/g/resources/c"}, "d": {"moving", "", "two", "/g/resources/d"},
	}, told)
	names := func(o order) (out []string) {
		slices.SortFunc(all, func(a, b *resourceLine) int { return a.compareTo(b, o) })
		for _, r := range all {
			out = append(out, r.Name)
		}
		return out
	}
	require.Equal(t, []string{"c", "b", "d", "a"}, names(order{}), "what needs attention comes first")
	require.Equal(t, []string{"d", "c", "b", "a"}, names(order{By: sortName}))
	require.Equal(t, []string{"c", "d", "a", "b"}, names(order{By: sortOwner, Up: true}))
}
