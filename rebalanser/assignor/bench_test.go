package assignor_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/rebalanser/assignor"
)

// A million resources and two thousand members, with each assignor.
func BenchmarkMillion(b *testing.B) {
	for _, c := range largeGroups(2000, 1_000_000) {
		for _, a := range everyAssignor() {
			b.Run(a.Name()+"/"+c.name, func(b *testing.B) {
				benchmarkAssign(b, growth{"", a, c.members, c.resources})
			})
		}
	}
}

// The other functions, for a joining member.
func BenchmarkStep(b *testing.B) {
	c := largeGroups(2000, 1_000_000)[4]
	target := assignor.Sticky().Assign(c.members, c.resources)
	b.Run("limit", func(b *testing.B) {
		for b.Loop() {
			assignor.Limit(c.members, target, 100)
		}
	})
	b.Run("check", func(b *testing.B) {
		for b.Loop() {
			require.NoError(b, assignor.Check(c.members, c.resources, target))
		}
	})
}

// Two thousand members with as many subscriptions, a hundred thousand
// resources. In "a third" each member takes a third of the resources, by a
// pattern compared with all names.
func BenchmarkAllSubscriptionsDiffer(b *testing.B) {
	for _, kind := range []string{"names", "prefixes", "a third"} {
		members, resources := group(2000, 100_000)
		odd(members, len(resources), kind)
		b.Run("fresh/"+kind, func(b *testing.B) {
			benchmarkAssign(b, growth{"", assignor.Sticky(), members, resources})
		})
		hold(members, assignor.Sticky().Assign(members, resources))
		b.Run("one leaves/"+kind, func(b *testing.B) {
			benchmarkAssign(b, growth{"", assignor.Sticky(), members[1:], resources})
		})
	}
}
