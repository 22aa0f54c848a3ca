// Package chance is a source of random numbers that a simulation can seed. The library
// draws from the nil Source, which is the generator of package math/rand/v2.
package chance

import (
	"context"
	"math/rand/v2"
	"sync"
)

// Source draws random numbers. The nil Source draws from the global generator. All
// methods may be called from any goroutine.
type Source struct {
	// mu guards r.
	mu sync.Mutex
	r  *rand.Rand
}

// New makes a source that draws the numbers of a seed.
func New(seed uint64) *Source { return &Source{r: rand.New(rand.NewPCG(seed, 0))} }

// Int64N is uniform in [0, n); n must be positive.
func (s *Source) Int64N(n int64) int64 {
	if s == nil {
		return rand.Int64N(n)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.r.Int64N(n)
}

// Float64 is uniform in [0, 1).
func (s *Source) Float64() float64 {
	if s == nil {
		return rand.Float64()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.r.Float64()
}

// Shuffle puts list into a random order.
func Shuffle[T any](s *Source, list []T) {
	for i := len(list) - 1; i > 0; i-- {
		j := s.Int64N(int64(i) + 1)
		list[i], list[j] = list[j], list[i]
	}
}

type key struct{}

// With returns a context by which what is made draws from s.
func With(ctx context.Context, s *Source) context.Context {
	return context.WithValue(ctx, key{}, s)
}

// From is the source of a context, or nil.
func From(ctx context.Context) *Source {
	s, _ := ctx.Value(key{}).(*Source)
	return s
}
