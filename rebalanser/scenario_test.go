package rebalanser_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/rebalanser"
)

// The scenarios of the original's tests. In the original every change stops and
// starts everything; here only moving resources are touched, so the events are
// those of the cooperative protocol. R17, X13.

// together makes members of a new group wait for each other.
var together = rebalanser.Options{InitialDelay: 2 * time.Second} // read only

// count is how many resources a call was about, by its sign.
func count(calls []string, sign string) (n int) {
	for _, c := range calls {
		if strings.HasPrefix(c, sign) {
			n += len(strings.Split(c[1:], ","))
		}
	}
	return n
}

// quiet requires that no handler was called.
func quiet(t require.TestingT, nodes ...*node) {
	for _, n := range nodes {
		require.Empty(t, n.takeCalls(), n.memberID)
	}
}

func TestSingleClientGetsAll_S1(t *testing.T) {
	inBoth(t, func(w *World) {
		w.stock(5)
		c := w.start(1, rebalanser.Options{})
		w.Pass(10 * time.Second)
		require.Equal(w, []string{"+r00,r01,r02,r03,r04"}, c[0].takeCalls())
		c[0].stop()
		require.Equal(w, []string{"-r00,r01,r02,r03,r04"}, c[0].takeCalls())
	})
}

func TestEqualSplit_S2(t *testing.T) {
	inBoth(t, func(w *World) {
		w.stock(6)
		c := w.start(3, together)
		w.Pass(15 * time.Second)
		for _, n := range c {
			calls := n.takeCalls()
			require.Len(w, calls, 1, n.memberID)
			require.Equal(w, 2, count(calls, "+"), n.memberID)
		}
		w.shared(6, c...)
	})
}

func TestStopOneByOne_S3(t *testing.T) {
	inBoth(t, func(w *World) {
		w.stock(6)
		c := w.start(3, together)
		w.Pass(15 * time.Second)
		w.shared(6, c...)
		for _, n := range c {
			n.takeCalls()
		}
		c[0].stop()
		w.Pass(15 * time.Second)
		require.Equal(w, 2, count(c[0].takeCalls(), "-"))
		for _, n := range c[1:] {
			calls := n.takeCalls()
			require.Len(w, calls, 1, n.memberID)
			require.Equal(w, 1, count(calls, "+"), n.memberID)
		}
		w.shared(6, c[1:]...)
		c[1].stop()
		w.Pass(15 * time.Second)
		quiet(w, c[0])
		require.Equal(w, 3, count(c[1].takeCalls(), "-"))
		calls := c[2].takeCalls()
		require.Len(w, calls, 1)
		require.Equal(w, 3, count(calls, "+"))
		w.shared(6, c[2])
	})
}

func TestStartOneByOne_S4(t *testing.T) {
	inBoth(t, func(w *World) {
		w.stock(6)
		c1, c2, c3 := w.node("c1", rebalanser.Options{}), w.node("c2", rebalanser.Options{}), w.node("c3", rebalanser.Options{})
		c1.run()
		w.Pass(15 * time.Second)
		require.Equal(w, 6, count(c1.takeCalls(), "+"))
		quiet(w, c2, c3)
		c2.run()
		w.Pass(15 * time.Second)
		a, b := c1.takeCalls(), c2.takeCalls()
		require.Len(w, a, 1)
		require.Equal(w, 3, count(a, "-"))
		require.Len(w, b, 1)
		require.Equal(w, 3, count(b, "+"))
		quiet(w, c3)
		c3.run()
		w.Pass(15 * time.Second)
		a, b = c1.takeCalls(), c2.takeCalls()
		require.Equal(w, []int{1, 1}, []int{count(a, "-"), len(a)})
		require.Equal(w, []int{1, 1}, []int{count(b, "-"), len(b)})
		require.Equal(w, 2, count(c3.takeCalls(), "+"))
		w.shared(6, c1, c2, c3)
	})
}

func TestSpareClientsAreSilent_S5(t *testing.T) {
	inBoth(t, func(w *World) {
		w.stock(1)
		c1 := w.node("c1", rebalanser.Options{}).run()
		w.Pass(10 * time.Second)
		require.Equal(w, []string{"+r00"}, c1.takeCalls())
		c2 := w.node("c2", rebalanser.Options{}).run()
		w.Pass(10 * time.Second)
		c3 := w.node("c3", rebalanser.Options{}).run()
		w.Pass(10 * time.Second)
		c2.stop()
		w.Pass(10 * time.Second)
		quiet(w, c1, c2, c3)
	})
}

func TestRemovingSpareIsSilent_S6(t *testing.T) {
	inBoth(t, func(w *World) {
		w.stock(2)
		c1, c2, c3 := w.pairAndSpare()
		c3.stop()
		w.Pass(10 * time.Second)
		quiet(w, c1, c2, c3)
	})
}

func TestRemovingOwnerMovesWhatItHad_S7(t *testing.T) {
	inBoth(t, func(w *World) {
		w.stock(2)
		c1, c2, c3 := w.pairAndSpare()
		c2.stop()
		w.Pass(10 * time.Second)
		require.Equal(w, 1, count(c2.takeCalls(), "-"))
		require.Equal(w, 1, count(c3.takeCalls(), "+"))
		quiet(w, c1)
	})
}

// pairAndSpare starts three members one by one for two resources.
func (w *World) pairAndSpare() (c1, c2, c3 *node) {
	w.Helper()
	c1 = w.node("c1", rebalanser.Options{}).run()
	w.Pass(10 * time.Second)
	require.Equal(w, []string{"+r00,r01"}, c1.takeCalls())
	c2 = w.node("c2", rebalanser.Options{}).run()
	w.Pass(10 * time.Second)
	require.Equal(w, 1, count(c1.takeCalls(), "-"))
	require.Equal(w, 1, count(c2.takeCalls(), "+"))
	c3 = w.node("c3", rebalanser.Options{}).run()
	w.Pass(10 * time.Second)
	quiet(w, c1, c2, c3)
	return c1, c2, c3
}
