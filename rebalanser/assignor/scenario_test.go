package assignor_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/rebalanser/assignor"
)

// The original rebalancer's test scenarios, as far as they concern assignments:
// after each step the number of each member's resources ("-": absent), and the
// members concerned by the step. The original stops and starts everything; here
// members with unchanged resources are not concerned.
func TestScenarios(t *testing.T) {
	type step struct {
		members string // the present members
		has     string // how many they have
		hear    string // those whose resources change
	}
	for _, c := range []struct {
		name      string
		resources int
		steps     []step
	}{
		{"S1 a single client gets all", 5, []step{{"1", "5", "1"}}},
		{"S2 equal split", 6, []step{{"123", "222", "123"}}},
		{"S3 stop one by one", 6, []step{{"123", "222", "123"}, {"23", "33", "23"}, {"3", "6", "3"}}},
		{"S4 start one by one", 6, []step{{"1", "6", "1"}, {"12", "33", "12"}, {"123", "222", "123"}}},
		{"S5 spare clients are silent", 1, []step{{"1", "1", "1"}, {"12", "10", ""}, {"123", "100", ""}, {"13", "10", ""}}},
		{"S6 removing a spare is silent", 2, []step{{"1", "2", "1"}, {"12", "11", "12"}, {"123", "110", ""}, {"12", "11", ""}}},
		{"S7 removing an owner moves it", 2, []step{{"1", "2", "1"}, {"12", "11", "12"}, {"123", "110", ""}, {"13", "11", "3"}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, resources := group(0, c.resources)
			held := map[string][]string{}
			for n, s := range c.steps {
				var members []assignor.Member
				for _, key := range s.members {
					members = append(members, assignor.Member{Key: string(key), Held: held[string(key)]})
				}
				got := assignor.Sticky().Assign(members, resources)
				has, hear := "", ""
				for i, m := range members {
					has += fmt.Sprint(len(got[i]))
					if !slices.Equal(m.Held, got[i]) {
						hear += m.Key
					}
				}
				require.Equal(t, s, step{s.members, has, hear}, "step %d", n)
				clear(held)
				for i, m := range members {
					held[m.Key] = got[i]
				}
			}
		})
	}
}

// R22: each assignor gives equal members equal shares.
func TestEveryAssignorGivesEqualShares(t *testing.T) {
	for n := 1; n <= 7; n++ {
		for r := range 20 {
			members, resources := group(n, r)
			for _, a := range everyAssignor() {
				for i, list := range a.Assign(members, resources) {
					require.Contains(t, []int{r / n, (r + n - 1) / n}, len(list), "%s: %d of %d: member %d", a.Name(), n, r, i)
				}
			}
		}
	}
}
