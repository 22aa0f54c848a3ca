package batchwrite

import (
	"errors"
	"testing"

	"github.com/zkrecipes/zkrecipes/internal/world"
	"github.com/zkrecipes/zkrecipes/session"
)

// TestMain fails if any test leaves a goroutine behind.
func TestMain(m *testing.M) { world.Main(m) }

var errRefused = errors.New("refused")

// step is a change of data that is a single byte, or empty for 0.
type step struct {
	by             int64
	blind, refused bool
}

// plus adds n.
func plus(n int64) step { return step{by: n} }

func (s step) apply(value byte) byte {
	if s.blind {
		return byte(s.by)
	}
	return value + byte(s.by)
}

func (s step) Blind() bool { return s.blind }

func (s step) Effect(now State) (e Effect[int64]) {
	value := byte(0)
	if len(now.Data) > 0 {
		value = now.Data[0]
	}
	if s.refused {
		e.Err = errRefused
		return e
	}
	value = s.apply(value)
	e.Value, e.OK, e.Data = int64(value), true, []byte{value}
	return e
}

// look is a refused change that is called with the state.
type look func(now State)

func (look) Blind() bool { return false }

func (l look) Effect(now State) (e Effect[int64]) {
	l(now)
	e.Err = errRefused
	return e
}

// numbers is a batcher of a byte.
func numbers(client *session.Client, path string) *Batcher[int64] {
	return New(client, path, "a number", Options[int64]{Marker: "test"})
}
