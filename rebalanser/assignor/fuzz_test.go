package assignor_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/rebalanser/assignor"
)

// FuzzAssign: for any group, no function panics, and the result passes Check
// and is an assignment according to the twin. A member is a line of key, zone,
// weight (its length), subscription and held; a resource one of name and zone.
func FuzzAssign(f *testing.F) {
	f.Add("a,x,ww,r*;s1,r1;s1\nb,y,,,r1\nb\n", "r1,x\nr2,y\ns1\nr1,z\n", 1)
	f.Add("a,,,*a;?b;[,1\n,,,\\*\n", "a\n*\n/\nxa", -1)
	f.Add("", "a", 0)
	f.Add("a\nb\nc", "", 3)
	f.Add("é,é,wwwww,é*;[^é],é1\na", "é1,é\n\xff\xfe\nxyz", 2)
	f.Fuzz(func(t *testing.T, memberLines, resourceLines string, moves int) {
		members, resources := parsed(memberLines, resourceLines)
		for _, a := range everyAssignor() {
			got := a.Assign(members, resources)
			require.NoError(t, assignor.Check(members, resources, got), a.Name())
			require.Equal(t, got, a.Assign(members, resources), a.Name())
			twin := newTwin(members, resources)
			for j, i := range twin.owners(members, got) {
				require.Equal(t, len(twin.takers[j]) == 0, i < 0, a.Name())
				require.True(t, i < 0 || slices.Contains(twin.takers[j], i), a.Name())
			}
			step := assignor.Limit(members, got, moves)
			require.NoError(t, assignor.Check(members, resources, step), a.Name())
		}
	})
}

func parsed(memberLines, resourceLines string) (members []assignor.Member, resources []assignor.Resource) {
	field := func(fields []string, n int) string {
		if n < len(fields) {
			return fields[n]
		}
		return ""
	}
	list := func(text string) []string {
		if text == "" {
			return nil
		}
		return strings.Split(text, ";")
	}
	for line := range strings.Lines(memberLines) {
		f := strings.Split(strings.TrimSuffix(line, "\n"), ",")
		members = append(members, assignor.Member{
			Key: f[0], Zone: field(f, 1), Weight: len(field(f, 2)),
			Subscription: list(field(f, 3)), Held: list(field(f, 4)),
		})
	}
	for line := range strings.Lines(resourceLines) {
		f := strings.Split(strings.TrimSuffix(line, "\n"), ",")
		resources = append(resources, assignor.Resource{Name: f[0], Zone: field(f, 1)})
	}
	return members, resources
}
