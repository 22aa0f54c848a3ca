package assignor

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// drawnProblem is a small problem, with all features of a network.
func drawnProblem(t *rapid.T, members, resources int) *problem {
	zone := rapid.SampledFrom([]string{"", "x", "y"})
	pattern := rapid.SampledFrom([]string{"*", "a*", "b*", "*0", "*1", "*[23]"})
	var r []Resource
	for j := range rapid.IntRange(1, resources).Draw(t, "resources") {
		r = append(r, Resource{Name: fmt.Sprintf("%c%d", 'a'+j%2, j), Zone: zone.Draw(t, "zone")})
	}
	var m []Member
	for i := range rapid.IntRange(1, members).Draw(t, "members") {
		m = append(m, Member{
			Key: fmt.Sprint(i), Zone: zone.Draw(t, "home"),
			Subscription: rapid.SliceOfN(pattern, 0, 2).Draw(t, "subscription"),
		})
		for j := range r {
			if rapid.IntRange(0, len(m)).Draw(t, "held") == 0 {
				m[i].Held = append(m[i].Held, r[j].Name)
			}
		}
	}
	p := newProblem(m, r, true, nil)
	p.hold()
	return p
}

// drawnQuota is any quota, possibly without places for all resources.
func drawnQuota(t *rapid.T, p *problem) *quota {
	q := &quota{
		member: make([]int32, len(p.members)), class: make([]int32, len(p.size)),
		room: make([]int64, len(p.members)), pool: make([]int32, len(p.members)),
		spare: []int64{int64(rapid.IntRange(0, 2).Draw(t, "spare")), int64(rapid.IntRange(0, 2).Draw(t, "spare"))},
	}
	for i := range q.room {
		q.member[i] = int32(rapid.IntRange(0, 1).Draw(t, "part"))
		q.room[i] = int64(rapid.IntRange(0, 3).Draw(t, "room"))
		q.pool[i] = int32(rapid.IntRange(-1, 1).Draw(t, "pool"))
	}
	for c := range q.class {
		q.class[c] = int32(rapid.IntRange(0, 1).Draw(t, "part"))
	}
	return q
}

// network makes the network of a problem, as flow does.
func (p *problem) network(q *quota) *network {
	f := newNetwork(p.classes, q)
	copy(f.left, p.size)
	p.cells(f)
	f.moved, f.remote, f.zoneOf = 1, 4*int64(len(p.members)+1), p.zoneOf
	return f
}

// sound checks the invariants of a network: resources are neither lost nor
// invented, no member exceeds its quota, and no arc with free capacity is
// cheaper than its prices.
func (f *network) sound(t require.TestingT, q *quota) {
	left, load := slices.Clone(f.left), make([]int64, f.members)
	for at := range f.cells {
		x := &f.cells[at]
		require.GreaterOrEqual(t, x.flow, int64(0))
		require.True(t, x.flow == 0 || f.takes(x.class, x.member) && q.class[x.class] == q.member[x.member])
		left[x.class] += x.flow
		load[x.member] += x.flow
	}
	require.Equal(t, f.size, left)
	spare := slices.Clone(f.spare)
	for i, n := range load {
		if f.extra[i] {
			spare[f.pool[i]]++
			n--
		}
		require.Equal(t, q.room[i], f.room[i]+n, "member %d", i)
	}
	require.Equal(t, q.spare, spare)
	for at := range f.cells {
		x := &f.cells[at]
		if units, saved := f.back(x); units > 0 {
			require.LessOrEqual(t, f.price[f.classNode(x.class)], f.price[x.member]-saved)
		}
		if x.flow < x.held && q.class[x.class] == q.member[x.member] {
			require.LessOrEqual(t, f.price[x.member], f.price[f.classNode(x.class)]+f.remoteCost(x.class, x.member))
		}
	}
	for c := range f.left {
		for i := range f.members {
			if f.takes(int32(c), i) && q.class[c] == q.member[i] {
				require.LessOrEqual(t, f.price[i], f.price[f.classNode(int32(c))]+f.moved+f.remoteCost(int32(c), i))
			}
		}
	}
	for i := range f.members {
		if f.room[i] > 0 {
			require.LessOrEqual(t, f.sink, f.price[i])
		}
	}
}

// bestFlow tries all ways to give out resources under a quota: the largest
// number of placed resources, and their lowest cost.
func bestFlow(p *problem, f *network, q *quota) (most int, least int64) {
	load, spare := make([]int64, len(p.members)), slices.Clone(q.spare)
	least = math.MaxInt64
	var give func(j, placed int, cost int64)
	give = func(j, placed int, cost int64) {
		if j == len(p.names) {
			if placed > most || placed == most && cost < least {
				most, least = placed, cost
			}
			return
		}
		give(j+1, placed, cost)
		c := p.of[j]
		for i := range f.members {
			if !f.takes(c, i) || q.class[c] != q.member[i] {
				continue
			}
			pool := q.pool[i]
			extra := load[i] == q.room[i]
			if load[i] > q.room[i] || extra && (pool < 0 || spare[pool] == 0) {
				continue
			}
			price := f.remoteCost(c, i)
			if p.holder[j] != i {
				price += f.moved
			}
			load[i]++
			if extra {
				spare[pool]--
			}
			give(j+1, placed+1, cost+price)
			load[i]--
			if extra {
				spare[pool]++
			}
		}
	}
	give(0, 0, 0)
	return most, least
}

func TestAFlowPlacesTheMostForTheLeast(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawnProblem(t, 3, 6)
		q := drawnQuota(t, p)
		f := p.network(q)
		f.sound(t, q)
		f.sendUnits()
		for f.reprice() {
			f.sound(t, q)
			f.sendUnits()
			f.sound(t, q)
		}
		var cost int64
		var placed int64
		for at := range f.cells {
			x := &f.cells[at]
			placed += x.flow
			cost += x.flow*f.remoteCost(x.class, x.member) + max(0, x.flow-x.held)*f.moved
		}
		most, least := bestFlow(p, f, q)
		require.Equal(t, int64(most), placed)
		require.Equal(t, least, cost)
	})
}

func TestLargeFlowsAreSound(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawnProblem(t, 12, 60)
		q := divide(p.classes, p.weights(false)).balanced()
		f := p.network(q)
		f.findCheapestFlow()
		f.sound(t, q)
		require.Zero(t, slices.Max(f.left), "every accepted resource has a place")
		require.Zero(t, slices.Max(f.room), "and the quota is met")
		require.Zero(t, slices.Max(f.spare))
	})
}

// The blocks of a division are fair: each block's members share its resources,
// no member outside with less accepts any of them, and no part of a block could
// have more for itself.
func TestADivisionIsFair(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawnProblem(t, 7, 30)
		weight := make([]int64, len(p.members))
		for i := range weight {
			weight[i] = int64(rapid.IntRange(1, 5).Draw(t, "weight"))
		}
		d := divide(p.classes, weight)
		more := func(a, b int32) int { // compares the shares per weight
			return int(d.total[a]*d.weight[b] - d.total[b]*d.weight[a])
		}
		for c, b := range d.class {
			for i := range int32(len(weight)) {
				if p.size[c] > 0 && p.takes(int32(c), i) {
					require.GreaterOrEqual(t, more(d.member[i], b), 0, "class %d could go to member %d with less", c, i)
				}
			}
		}
		for set := 1; set < 1<<len(weight); set++ {
			var own, w int64 // of the members in set, if in the same block
			block, same := int32(-1), true
			in := func(i int32) bool { return set>>i&1 != 0 }
			for i, b := range d.member {
				if in(int32(i)) {
					same = same && (block < 0 || block == b)
					block, w = b, w+weight[i]
				}
			}
			for c, b := range d.class {
				alone := b == block
				for i := range int32(len(weight)) {
					alone = alone && (in(i) || !p.takes(int32(c), i) || d.member[i] != block)
				}
				if alone {
					own += p.size[c]
				}
			}
			if same {
				require.LessOrEqual(t, own*d.weight[block], d.total[block]*w, "members %b of block %d", set, block)
			}
		}
	})
}

func TestAClassHasTheSameTakersAndZone(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawnProblem(t, 70, 30) // more than a word of members
		kind := map[string]int32{}
		for j, name := range p.names {
			c := p.of[j]
			key := fmt.Sprint(p.zone[c], "|")
			for i, at := range p.order {
				takes := p.members[at].takes(name)
				require.Equal(t, takes, p.takes(c, int32(i)))
				if takes {
					key += fmt.Sprint(" ", i)
				}
			}
			before, ok := kind[key]
			require.True(t, !ok || before == c, "two classes of the same kind")
			kind[key] = c
		}
		var size int64
		for c, n := range p.size {
			require.True(t, n > 0 || isEmpty(p.row(int32(c))) || p.count0(int32(c)))
			size += n
		}
		require.LessOrEqual(t, size, int64(len(p.names)))
	})
}

// count0 reports whether no resource is in class c.
func (p *problem) count0(c int32) bool { return !slices.Contains(p.of, c) }

// More subscriptions than are told apart at a time.
func TestSubscriptionsInSeveralBatches(t *testing.T) {
	const n = 3*batch + 5
	var members []Member
	var resources []Resource
	for i := range n {
		name := fmt.Sprintf("r%03d", i)
		members = append(members, Member{Key: name, Subscription: []string{name, "x"}})
		resources = append(resources, Resource{Name: name})
	}
	members = append(members, Member{Key: "z", Subscription: []string{"r*"}})
	p := newProblem(members, append(resources, Resource{Name: "x"}, Resource{Name: "y"}), false, nil)
	require.Len(t, p.size, n+2)
	for j := range n {
		require.True(t, p.takes(p.of[j], int32(j)))
		require.True(t, p.takes(p.of[j], n))
		require.False(t, p.takes(p.of[j], int32((j+1)%n)))
		require.Equal(t, int64(1), p.size[p.of[j]])
	}
	x, y := p.of[n], p.of[n+1]
	require.False(t, p.takes(x, n))
	require.True(t, p.takes(x, 0) && p.takes(x, n-1))
	require.Zero(t, p.size[y], "no member accepts the class")
}

func TestWeightsFit(t *testing.T) {
	p := &problem{members: make([]Member, 2000), order: make([]int32, 2000), names: make([]string, 1_000_000)}
	for i := range p.order {
		p.order[i] = int32(i)
		p.members[i].Weight = math.MaxInt
	}
	p.members[0].Weight, p.members[1].Weight, p.members[2].Weight = math.MaxInt/2+1, 1, math.MinInt
	weights := p.weights(true)
	sum := int64(0)
	for _, w := range weights {
		require.Positive(t, w)
		sum += w
	}
	require.LessOrEqual(t, sum, int64(1)<<62/1_000_000)
	require.Equal(t, []int64{weights[3]/2 + 1, 1, 1}, weights[:3])
	require.Equal(t, slices.Repeat([]int64{1}, 2000), p.weights(false))
}
