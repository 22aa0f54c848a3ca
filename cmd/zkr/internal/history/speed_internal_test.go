package history

import (
	"fmt"
	"io"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/txnlog"
)

// turns are the transactions of locks with queues: of one lock after the other, the holder
// leaves, and enters again at the end.
type turns struct {
	locks, waiters, n int

	txn  txnlog.Txn
	zxid int
}

// folders is the number of transactions until the locks exist.
func (s *turns) folders() int { return 2 + s.locks }

// enters is the number of transactions until all wait.
func (s *turns) enters() int { return s.folders() + s.locks*s.waiters }

// folder is the path that a transaction creates.
func (s *turns) folder(n int) string {
	switch n {
	case 0:
		return "/app"
	case 1:
		return "/app/locks"
	}
	return fmt.Sprintf("/app/locks/l%05d", n-2)
}

func (s *turns) Next() (*txnlog.Txn, error) {
	if s.zxid >= s.n {
		return nil, io.EOF
	}
	ch := txnlog.Change{Type: txnlog.TypeCreate2}
	if s.zxid < s.folders() {
		ch.Path = s.folder(s.zxid)
		return s.txnOf(ch, 0, 0), nil
	}
	i, turn := (s.zxid-s.folders())%s.locks, (s.zxid-s.folders())/s.locks
	if s.zxid >= s.enters() {
		after := s.zxid - s.enters()
		i, turn = after/2%s.locks, after/2/s.locks
		if after%2 == 0 {
			ch.Type = txnlog.TypeDelete
		} else {
			turn += s.waiters
		}
	}
	who := 1 + i*s.waiters + turn%s.waiters
	ch.Path = fmt.Sprintf("/app/locks/l%05d/_c_%08x-0000-4000-8000-%012d-lock-%010d", i, who, 0, turn)
	if ch.Type.Creates() {
		ch.Data, ch.Owner = fmt.Appendf(nil, "host-%d:4242", who), txnlog.Owner(who)
	}
	return s.txnOf(ch, who, turn), nil
}

// txnOf is the next transaction.
func (s *turns) txnOf(ch txnlog.Change, who, turn int) *txnlog.Txn {
	s.zxid++
	s.txn = txnlog.Txn{
		Zxid: txnlog.Zxid(s.zxid), Session: int64(who), Cxid: int32(turn), Type: ch.Type, Changes: []txnlog.Change{ch},
		Time: time.UnixMilli(1_700_000_000_000 + int64(s.zxid)),
	}
	return &s.txn
}

func (s *turns) Progress() (done, total int64) { return int64(s.zxid), int64(s.n) }

func (s *turns) Close() error { return nil }

// tell reads the turns.
func (s *turns) tell(b testing.TB, o *Options) Summary {
	r := newReader("/", o)
	r.source = s
	sum, err := r.Run(b.Context())
	require.NoError(b, err)
	require.EqualValues(b, s.n, sum.Transactions)
	return sum
}

// BenchmarkTurns says how long a transaction takes, without the reading of files.
func BenchmarkTurns(b *testing.B) {
	for _, c := range []struct{ locks, waiters int }{{1, 1}, {1, 8}, {1, 64}, {100, 3}, {2000, 3}, {20_000, 3}} {
		b.Run(fmt.Sprintf("locks=%d/waiters=%d", c.locks, c.waiters), func(b *testing.B) {
			s := &turns{locks: c.locks, waiters: c.waiters}
			s.n = s.enters() + b.N
			s.tell(b, nil)
		})
	}
}
