package assignor_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/internal/world"
	"github.com/zkrecipes/zkrecipes/rebalanser/assignor"
)

// growth is a large group and the assignor that has to cope with it.
type growth struct {
	name      string
	assignor  assignor.Assignor
	members   []assignor.Member
	resources []assignor.Resource
}

// growthShapes are groups of n members and r resources that are hard for an assignor, each in
// its own way: nothing is in order, all shares differ, or all zones are full.
func growthShapes(n, r int) []growth {
	fresh, resources := group(n, r)
	mixed := shuffled(resources)

	strewn := slices.Clone(fresh) // each holds what chance gave it, in no order
	rng := rand.New(rand.NewPCG(5, 6))
	for _, res := range mixed {
		m := &strewn[rng.IntN(n)]
		m.Held = append(m.Held, res.Name)
	}
	balanced := slices.Clone(fresh)
	hold(balanced, assignor.Sticky().Assign(fresh, mixed))
	for i := range balanced {
		balanced[i].Held = shuffled(balanced[i].Held)
	}
	zoned, placed := inZones(strewn, mixed, 10)
	return []growth{
		{"sticky/balanced, in no order", assignor.Sticky(), shuffled(balanced), mixed},
		{"sticky/strewn, in no order", assignor.Sticky(), shuffled(strewn), mixed},
		{"weighted/fresh", assignor.Weighted(), weighted(fresh), resources},
		{"weighted/strewn, in no order", assignor.Weighted(), weighted(strewn), mixed},
		{"zones/strewn, in no order", assignor.Zones(), zoned, placed},
		{"sticky/strewn, a glob each", assignor.Sticky(), withGlobs(strewn, "suffix"), mixed},
		{"weighted/strewn, a glob each", assignor.Weighted(), withGlobs(weighted(strewn), "suffix"), mixed},
		{"zones/strewn, a glob each", assignor.Zones(), withGlobs(zoned, "suffix"), placed},
	}
}

// weighted gives the members weights, most of which differ.
func weighted(members []assignor.Member) []assignor.Member {
	members = slices.Clone(members)
	rng := rand.New(rand.NewPCG(7, 8))
	for i := range members {
		members[i].Weight = 1 + rng.IntN(1_000_000)
	}
	return members
}

// inZones puts members and resources into n zones, the zones of the resources by chance.
func inZones(members []assignor.Member, resources []assignor.Resource, n int) ([]assignor.Member, []assignor.Resource) {
	members, resources = slices.Clone(members), slices.Clone(resources)
	rng := rand.New(rand.NewPCG(9, 10))
	for i := range members {
		members[i].Zone = fmt.Sprint("zone ", i%n)
	}
	for j := range resources {
		resources[j].Zone = fmt.Sprint("zone ", rng.IntN(n))
	}
	return members, resources
}

// globKinds are the kinds of [withGlobs].
var globKinds = []string{"suffix", "infix", "alternatives", "gaps", "equal", "many each", "letters"} // read only

// withGlobs gives each member globs.
func withGlobs(members []assignor.Member, kind string) []assignor.Member {
	members = slices.Clone(members)
	rng := rand.New(rand.NewPCG(11, 12))
	for i := range members {
		var s []string
		switch kind {
		case "suffix": // a thousandth of the names
			s = []string{fmt.Sprintf("*%03d", i%1000)}
		case "infix": // somewhere in the name
			s = []string{fmt.Sprintf("*%03d*", i%1000)}
		case "alternatives":
			s = []string{fmt.Sprintf("*[%d%d]%02d?", i%10, (i+1)%10, i/10%100)}
		case "gaps":
			s = []string{fmt.Sprintf("*%d*%d*%d*%d", i%10, i/10%10, i/100%10, i/1000%10)}
		case "equal": // each of a hundred members
			s = []string{fmt.Sprintf("*%d*%d", i%5, i/5%4)}
		case "many each":
			for range 20 {
				s = append(s, fmt.Sprintf("*%03d?", rng.IntN(1000)))
			}
		case "letters": // beyond ASCII
			s = []string{fmt.Sprintf("*ü*%03d", i%1000)}
		}
		members[i].Subscription = s
	}
	return members
}

func shuffled[T any](in []T) []T {
	out := slices.Clone(in)
	rng := rand.New(rand.NewPCG(13, 14))
	rng.Shuffle(len(out), func(i, j int) { out[i], out[j] = out[j], out[i] })
	return out
}

// The hard shapes of a million resources and two thousand members.
func BenchmarkGrowth(b *testing.B) {
	for _, c := range growthShapes(2000, 1_000_000) {
		b.Run(c.name, func(b *testing.B) { benchmarkAssign(b, c) })
	}
}

// Two thousand members with globs, a hundred thousand resources.
func BenchmarkGlobs(b *testing.B) {
	for _, kind := range globKinds {
		members, resources := group(2000, 100_000)
		if kind == "letters" {
			for j := range resources {
				resources[j].Name = fmt.Sprintf("grüße-%07d", j)
			}
		}
		c := growth{kind, assignor.Sticky(), withGlobs(members, kind), shuffled(resources)}
		b.Run(c.name+"/fresh", func(b *testing.B) { benchmarkAssign(b, c) })
		hold(c.members, c.assignor.Assign(c.members, c.resources))
		c.members = c.members[1:]
		b.Run(c.name+"/one leaves", func(b *testing.B) { benchmarkAssign(b, c) })
	}
}

// benchmarkAssign also reports the processor time, which another program on the machine
// changes less than the time on the clock.
func benchmarkAssign(b *testing.B, c growth) {
	b.ReportAllocs()
	began := world.ProcessorTime()
	for b.Loop() {
		c.assignor.Assign(c.members, c.resources)
	}
	b.ReportMetric(float64((world.ProcessorTime()-began).Milliseconds())/float64(b.N), "cpu-ms/op")
}

// The bound is generous, and in processor time; the benchmarks have the real times. Old
// ways of matching took a minute for some of these.
func TestHardShapesOfLargeGroupsTakeAMoment(t *testing.T) {
	n, r, globbed, most := 1000, 250_000, 50_000, 2*time.Second
	switch {
	case world.Seeds(0) > 0: // a soak
		n, r, globbed, most = 2000, 1_000_000, 100_000, 5*time.Second
	case raced || testing.Short():
		n, r, globbed = 200, 20_000, 5000
	}
	shapes := growthShapes(n, r)
	for _, kind := range globKinds {
		members, resources := group(n, globbed)
		shapes = append(shapes, growth{kind, assignor.Sticky(), withGlobs(members, kind), shuffled(resources)})
	}
	for _, c := range shapes {
		began := world.ProcessorTime()
		got := c.assignor.Assign(c.members, c.resources)
		took := world.ProcessorTime() - began
		t.Logf("%s: %v", c.name, took.Round(time.Millisecond))
		require.Less(t, took, most, c.name)
		require.NoError(t, assignor.Check(c.members, c.resources, got), c.name)
	}
}
