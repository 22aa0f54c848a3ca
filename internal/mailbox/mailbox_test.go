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

func TestPostsTakenWithOthersLeaveNothingReady(t *testing.T) {
	b := New[int]()
	b.Post(1)
	<-b.Ready()
	b.Post(2)
	require.Equal(t, []int{1, 2}, b.Take())
	select {
	case <-b.Ready():
		t.Fatal("the mailbox is empty")
	default:
	}
	b.Post()
	select {
	case <-b.Ready():
		t.Fatal("nothing was posted")
	default:
	}
	b.Post(3)
	<-b.Ready()
	require.Equal(t, []int{3}, b.Take())
}
