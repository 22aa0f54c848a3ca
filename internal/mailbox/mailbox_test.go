package mailbox

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestMailboxKeepsOrderAndNeverBlocks(t *testing.T) {
	b := New[int]()
	for i := range 1000 {
		b.Post(i)
	}
	<-b.Ready()
	got := b.Take()
	require.Len(t, got, 1000)
	require.True(t, slices.IsSorted(got))
	require.Empty(t, b.Take())
	select {
	case <-b.Ready():
		t.Fatal("it is empty")
	default:
	}
}
