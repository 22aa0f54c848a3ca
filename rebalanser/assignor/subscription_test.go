package assignor

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Members with equal patterns, in any order, share a subscription: each pattern
// is compared with all names once, and not once per member.
func TestMembersThatTakeTheSameShareASubscription(t *testing.T) {
	members := []Member{
		{Key: "a", Subscription: []string{"x*", "y"}},
		{Key: "b"},
		{Key: "c", Subscription: []string{"y", "x*", "y"}},
		{Key: "d", Subscription: []string{"x*"}},
		{Key: "e", Subscription: []string{"x*y"}},
		{Key: "f", Subscription: []string{"x*", "y"}},
	}
	require.Equal(t, []subscription{
		{members: []int32{1}},
		{patterns: []string{"x*", "y"}, members: []int32{0, 2, 5}},
		{patterns: []string{"x*"}, members: []int32{3}},
		{patterns: []string{"x*y"}, members: []int32{4}},
	}, subscriptions(members, []int32{0, 1, 2, 3, 4, 5}))
}
