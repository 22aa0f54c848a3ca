//go:build unix

package interop_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/discovery"
)

// TestGroupIsShared: GroupMember, Kazoo's Party and ShallowParty, each with ours
// in one group. All list the same, also after some of both were killed.
func TestGroupIsShared(t *testing.T) {
	t.Parallel()
	for layout, kind := range map[string]string{"curator": curator, "kazoo": kazoo, "shallow": kazoo} {
		t.Run(layout, func(t *testing.T) {
			t.Parallel()
			ctx, c, path := t.Context(), connect(t), fresh("group")
			they, theirVictim, ourVictim := start(t, kind, timeout), start(t, kind, brief), start(t, ours, brief)
			group := discovery.NewGroup(c, path, &discovery.Options{Layout: layouts()[layout]})
			data := func(as string) string {
				if kind == kazoo {
					return "" // its members have none
				}
				return "data of " + as
			}
			join := func(p *peer, as string) {
				p.do(t, ask{"do": "group.join", "path": path, "as": as, "layout": layout, "data": data(as), "value": data(as)})
			}
			// all waits until every client lists these members.
			all := func(want ...string) {
				awaitTrue(t, "our list", func() bool {
					members, err := group.Members(ctx)
					require.NoError(t, err)
					ids := make([]string, 0, len(members))
					for _, m := range members {
						ids = append(ids, m.ID)
						if layout == "curator" {
							require.Equal(t, data(m.ID), string(m.Data))
						}
					}
					slices.Sort(ids)
					return slices.Equal(ids, want)
				})
				awaitTrue(t, "their list", func() bool {
					raw := they.do(t, ask{"do": "group.members", "as": "a"})
					if kind == kazoo {
						return slices.Equal(decodeAnswer[[]string](t, raw), want)
					}
					members := decodeAnswer[map[string]string](t, raw)
					for _, id := range want {
						if members[id] != data(id) {
							return false
						}
					}
					return len(members) == len(want)
				})
			}
			join(they, "a")
			all("a")
			var mineIs []byte
			if text := data("b"); text != "" {
				mineIs = []byte(text)
			}
			mine, err := group.Join(ctx, "b", mineIs)
			require.NoError(t, err)
			join(theirVictim, "c")
			join(ourVictim, "d")
			all("a", "b", "c", "d")
			theirVictim.kill(t)
			ourVictim.kill(t)
			all("a", "b")
			require.NoError(t, mine.Leave(ctx))
			all("a")
			// A watch sees them come and go.
			var seen []int
			for members, err := range group.Watch(ctx) {
				require.NoError(t, err)
				if seen = append(seen, len(members)); len(members) == 0 {
					break
				}
				they.do(t, ask{"do": "group.leave", "as": "a"})
			}
			require.Equal(t, []int{1, 0}, seen)
		})
	}
}
