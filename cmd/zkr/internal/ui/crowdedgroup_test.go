package ui_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/ui"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/ui/recognize"
	"github.com/zkrecipes/zkrecipes/internal/format/shareformat"
	"github.com/zkrecipes/zkrecipes/internal/format/tableformat"
)

const crowdedMembers, crowdedResources = 60, 600

// crowdedGroup puts a rebalancer with 60 members and 600 resources on the stage.
func (s *stage) crowdedGroup(group string) {
	s.Helper()
	s.put(group, string(shareformat.Encode(&shareformat.Group{Format: shareformat.Format, Mode: shareformat.ModeResource})))
	for i := range crowdedMembers {
		client := fmt.Sprintf("_c_00000000-0000-4000-8000-%012d-latch-%010d", i, i)
		member := shareformat.Member{Format: shareformat.Format, Mode: shareformat.ModeResource, ID: fmt.Sprintf("consumer-%03d.eu-west-1.example.org", i), Assignor: "sticky"}
		if i == 0 {
			s.put(group+"/clients", "")
		}
		s.ephemeral("members", group+"/clients/"+client, string(shareformat.Encode(&member)))
		shard := shareformat.Shard{Format: shareformat.Format, Client: client, Generation: 3, Epoch: 1}
		for k := i; k < crowdedResources; k += crowdedMembers {
			name := fmt.Sprintf("orders-of-customers-in-europe-%03d", k)
			s.put(group+"/resources/"+name, "")
			s.put(group+"/barriers/"+name, string((&tableformat.Lock{Format: tableformat.Format, Client: client}).Encode()))
			shard.Resources = append(shard.Resources, name)
		}
		slices.Sort(shard.Resources)
		shard.Count = len(shard.Resources)
		s.put(group+"/assignments/"+client, string(shareformat.Encode(&shard)))
	}
}

// A page of crowded groups is as small as the other pages of cards; the page of one has more.
func TestCardsOfCrowdedGroupsFitOnAPage(t *testing.T) {
	s := newStage(t)
	const groups = 12
	for i := range groups {
		s.crowdedGroup(fmt.Sprintf("/groups/orders-%02d", i))
	}
	m, base := s.dashboard("/")
	s.shows(m, func(v *ui.View) bool {
		all := v.Kinds(recognize.Rebalancer)
		return len(all) == groups && !slices.ContainsFunc(all, func(t *recognize.Thing) bool {
			return len(t.Shares.Members) != crowdedMembers || len(t.Shares.Resources) != crowdedResources || len(t.Shares.Unowned) > 0
		})
	})
	for _, query := range []string{"/rebalancers", "/rebalancers?page=2", "/rebalancers?path=/groups/orders-00", "/rebalancers?path=/groups/orders-00&page=6", "/?q=orders", "/", "/sessions"} {
		code, text, _ := get(t, base+query)
		require.Equal(t, 200, code)
		t.Logf("%s: %d bytes", query, len(text))
		assert.Less(t, len(text), 300_000, query)
	}
	_, text, _ := get(t, base+"/rebalancers")
	has(t, text, `<a href="/rebalancers?path=%2Fgroups%2Forders-00">600 resources</a>`, "the list")
	has(t, text, "48 more members", "the card")
	_, text, _ = get(t, base+"/rebalancers?path=/groups/orders-00&q=customers-in-europe-599")
	assert.Equal(t, []string{"orders-of-customers-in-europe-599"}, lines(text))
	has(t, text, "consumer-059.eu-west-1.example.org", "the owner")
}
