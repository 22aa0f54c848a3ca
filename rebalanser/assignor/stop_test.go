package assignor

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

// stoppable is an assignor of this package.
type stoppable interface {
	ContextAssignor
	assign(members []Member, resources []Resource, stop stopper) ([][]string, bool)
}

// stopGroup has many classes, blocks, remainders and moves.
func stopGroup(members, resources int) ([]Member, []Resource) {
	ms, rs := make([]Member, members), make([]Resource, resources)
	for j := range rs {
		rs[j] = Resource{Name: fmt.Sprintf("%05d", j*7919%resources), Zone: fmt.Sprint(j % 3)}
	}
	for i := range ms {
		ms[i] = Member{Key: fmt.Sprint(i), Zone: fmt.Sprint(i % 4), Weight: 1 + i*i%11}
		if i%5 > 0 {
			ms[i].Subscription = []string{fmt.Sprintf("*%d*%d", i%10, i/10%10), fmt.Sprintf("0%d*", i%3)}
		}
		for j := i; j < len(rs); j += 2 * members {
			ms[i].Held = append(ms[i].Held, rs[j].Name)
		}
	}
	return ms, rs
}

// Each place where a computation asks whether it has to stop is tried: there is no result
// then, and without a reason to stop the result is that of Assign.
func TestAssignorStopsWhereverItAsks(t *testing.T) {
	members, resources := stopGroup(90, 2500)
	for _, a := range all() {
		a := a.(stoppable)
		asked := 0
		got, done := a.assign(members, resources, func() bool { asked++; return false })
		require.True(t, done, a.Name())
		require.Equal(t, a.Assign(members, resources), got, a.Name())
		require.GreaterOrEqual(t, asked, 4, a.Name())
		for at := range asked {
			n := 0
			_, done := a.assign(members, resources, func() bool { n++; return n > at })
			require.False(t, done, "%s, question %d of %d", a.Name(), at, asked)
			require.LessOrEqual(t, n-at, 12, "%s goes on after question %d of %d", a.Name(), at, asked)
		}
	}
}

func TestAssignContextReturnsTheCauseOfTheEnd(t *testing.T) {
	members, resources := stopGroup(5, 20)
	why := errors.New("why")
	for _, a := range all() {
		a := a.(ContextAssignor)
		ctx, cancel := context.WithCancelCause(t.Context())
		got, err := a.AssignContext(ctx, members, resources)
		require.NoError(t, err)
		require.Equal(t, a.Assign(members, resources), got)
		cancel(why)
		_, err = a.AssignContext(ctx, members, resources)
		require.ErrorIs(t, err, why)
	}
}
