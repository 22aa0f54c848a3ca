//go:build unix

package rebalancecmd

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/zkrecipes/zkrecipes/rebalanser"
)

// TestChangesOfAGroup are the differences between two statuses.
func TestChangesOfAGroup(t *testing.T) {
	member := func(client, instance string, owns ...string) rebalanser.Member {
		m := rebalanser.Member{Client: client, ID: "id-" + client, Instance: instance, Owned: map[string]time.Time{}}
		for _, name := range owns {
			m.Owned[name] = time.Unix(1, 0)
		}
		return m
	}
	gone := func(m rebalanser.Member) rebalanser.Member { m.Gone = true; return m }
	base := rebalanser.Status{Coordinator: "x", Members: []rebalanser.Member{member("x", "", "a", "b"), member("y", "i")}}
	for name, c := range map[string]struct {
		now  rebalanser.Status
		want []string
	}{
		"nothing": {base, nil},
		"a resource is on its way": {
			rebalanser.Status{Coordinator: "x", Members: base.Members, Waiting: []rebalanser.Wait{{Resource: "b", For: "y", On: "x"}}},
			[]string{"moving b  for i, from id-x"},
		},
		"it is there": {
			rebalanser.Status{Coordinator: "x", Members: []rebalanser.Member{member("x", "", "a"), member("y", "i", "b")}},
			[]string{"owned b  by i  was id-x's"},
		},
		"the coordinator has died": {
			rebalanser.Status{Coordinator: "x", Members: []rebalanser.Member{member("y", "i"), gone(member("x", "", "a", "b"))}, Unowned: []string{"a", "b"}},
			[]string{"left id-x", "coordinator none", "unowned a  was id-x's", "unowned b  was id-x's"},
		},
		"another member coordinates, and a static member is gone": {
			rebalanser.Status{Coordinator: "z", Members: []rebalanser.Member{member("z", ""), gone(member("y", "i"))}, Unowned: []string{"a"},
				Waiting: []rebalanser.Wait{{Resource: "a", For: "y"}}},
			[]string{"left id-x", "left i", "joined id-z", "coordinator id-z", "removed b", "unowned a  was id-x's", "moving a  for i"},
		},
		"it is paused, and a move without a member is not shown": {
			rebalanser.Status{Coordinator: "x", Members: base.Members, Paused: true, PausedBy: "m\x1b", Waiting: []rebalanser.Wait{{Resource: "b", For: "q"}}},
			[]string{`paused by "m\x1b"`},
		},
	} {
		old, now := statusOf("/g", base), statusOf("/g", c.now)
		var got []string
		for _, e := range changes(&old, &now) {
			got = append(got, e.Event+" "+e.text)
		}
		assert.Equal(t, c.want, got, name)
	}
}
