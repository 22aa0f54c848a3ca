package history

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/txnlog"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/ui/recognize"
)

// film feeds transactions to a reader without files: one per second.
type film struct {
	*testing.T
	r     *Reader
	zxid  txnlog.Zxid
	ended []*Stay
	found []Suspicion
}

var began = time.Date(2026, 11, 26, 3, 0, 0, 0, time.UTC) // read only

func newFilm(t *testing.T, root string) *film {
	f := &film{T: t}
	audit := NewAuditor(func(s Suspicion) { f.found = append(f.found, s) })
	f.r = newReader(root, &Options{Began: audit.Began, Granted: audit.Granted, Thing: audit.Thing, Ended: func(s *Stay) {
		audit.Ended(s)
		f.ended = append(f.ended, s)
	}})
	return f
}

// tx is a transaction of a session; a closed session is one of the session itself.
func (f *film) tx(session int64, cxid int32, typ txnlog.Type, changes ...txnlog.Change) {
	f.zxid++
	f.r.applyTxn(&txnlog.Txn{
		Zxid: f.zxid, Session: session, Cxid: cxid, Time: began.Add(time.Duration(f.zxid) * time.Second),
		Type: typ, Changes: changes,
	})
}

func (f *film) create(session int64, path string, ephemeral bool) {
	ch := txnlog.Change{Type: txnlog.TypeCreate, Path: path}
	if ephemeral {
		ch.Owner = txnlog.Owner(session)
	}
	f.tx(session, 1, txnlog.TypeCreate, ch)
}

func (f *film) remove(session int64, path string) {
	f.tx(session, 1, txnlog.TypeDelete, txnlog.Change{Type: txnlog.TypeDelete, Path: path})
}

// contend queues up for the lock of zkrecipes' default layout.
func (f *film) contend(session int64, n int) string {
	path := fmt.Sprintf("/l/_c_a1f57cc2-d3b5-4f7c-834f-d58f352ba82%x-lock-%010d", session, n)
	f.create(session, path, true)
	return path
}

func (f *film) outline() string {
	var b strings.Builder
	for _, s := range f.ended {
		waited, _ := s.Waited()
		held, _ := s.Held()
		fmt.Fprintf(&b, "%v %s %v %v %s\n", s.Session, s.As, waited, held, s.How)
	}
	return b.String()
}

func (f *film) kinds() (out []string) {
	for _, s := range f.found {
		out = append(out, s.Kind)
	}
	return out
}

// Servers before 3.6 do not log which znodes a session takes along.
func TestSessionWithoutPathsTakesItsZnodesAlong(t *testing.T) {
	f := newFilm(t, "/l")
	f.create(9, "/l", false)
	f.contend(1, 0)
	f.contend(2, 1)
	f.tx(1, 0, txnlog.TypeCloseSession, txnlog.Change{Type: txnlog.TypeCloseSession})
	f.tx(2, 7, txnlog.TypeCloseSession, txnlog.Change{Type: txnlog.TypeCloseSession})
	require.Equal(t, "0x1 holds 0s 2s session expired\n0x2 holds 1s 1s session closed\n", f.outline())
	require.Equal(t, []string{LostHold}, f.kinds())
	require.Empty(t, f.r.tree.owned)
}

// A failed transaction changes nothing, nor does one outside of the root.
func TestChangesWithoutEffectAreNotReported(t *testing.T) {
	f := newFilm(t, "/l")
	f.create(9, "/l", false)
	path := f.contend(1, 0)
	f.zxid++
	f.r.applyTxn(&txnlog.Txn{Zxid: f.zxid, Session: 2, Time: began, Type: txnlog.TypeError, Err: -101, Changes: []txnlog.Change{{Type: txnlog.TypeError, Err: -101}}})
	f.create(2, "/ll", true)
	require.Len(t, f.r.stays.open, 1)
	require.EqualValues(t, 2, f.r.sum.Changes)
	f.remove(1, path)
	require.Len(t, f.ended, 1)
}

// A transaction may create a znode and change it, or change it twice.
func TestChangesOfOneTransactionAreAppliedInOrder(t *testing.T) {
	f := newFilm(t, "/l")
	set := func(data string, version int32) txnlog.Change {
		return txnlog.Change{Type: txnlog.TypeSetData, Path: "/l/x", Data: []byte(data), Version: version}
	}
	f.tx(1, 1, txnlog.TypeMulti, txnlog.Change{Type: txnlog.TypeCreate, Path: "/l/x"}, set("a", 1), set("b", 2))
	require.Equal(t, "b", string(f.r.tree.nodes["/l/x"].Data))
	f.zxid-- // a snapshot has it, and it is applied again
	f.tx(1, 1, txnlog.TypeMulti, set("a", 1))
	require.Equal(t, "b", string(f.r.tree.nodes["/l/x"].Data))
}

// Some libraries use a name again: the second znode is another stay.
func TestZnodeThatIsMadeAgainIsAnotherStay(t *testing.T) {
	f := newFilm(t, "/l")
	f.create(9, "/l", false)
	path := f.contend(1, 0)
	again := txnlog.Change{Type: txnlog.TypeCreate, Path: path, Owner: 1}
	f.tx(1, 1, txnlog.TypeMulti, txnlog.Change{Type: txnlog.TypeDelete, Path: path}, again)
	require.Equal(t, "0x1 holds 0s 1s released\n", f.outline())
	require.Len(t, f.r.stays.open, 1)
}

func TestTokenThatGoesBackIsSuspicious(t *testing.T) {
	f := newFilm(t, "/l")
	f.create(9, "/l", false)
	f.zxid = 1000
	f.remove(1, f.contend(1, 0))
	f.zxid = 10 // as after the ensemble was made again, with the old files beside
	f.remove(2, f.contend(2, 1))
	require.Equal(t, []string{TokenWentBack}, f.kinds())
	require.Contains(t, f.found[0].Text, "the token 11 is not greater than 1001")
}

func TestLeadersThatChangeOftenAreSuspicious(t *testing.T) {
	f := newFilm(t, "/e")
	f.create(9, "/e", false)
	lead := func(n int) {
		path := fmt.Sprintf("/e/_c_a1f57cc2-d3b5-4f7c-834f-d58f352ba82%x-latch-%010d", n, n)
		f.create(int64(n), path, true)
		f.remove(int64(n), path)
	}
	for n := 1; n < flapGrants; n++ {
		lead(n)
	}
	require.Empty(t, f.kinds())
	f.zxid += 100 // so long after them, one more is nothing
	lead(flapGrants)
	require.Empty(t, f.kinds())
	for n := 1; n < flapGrants; n++ {
		lead(flapGrants + n)
	}
	require.Equal(t, []string{Flapping}, f.kinds(), "%v", f.ended)
}

// A contender that no session will remove is told once while it exists.
func TestDefectIsToldOnce(t *testing.T) {
	f := newFilm(t, "/l")
	f.create(9, "/l", false)
	path := "/l/_c_a1f57cc2-d3b5-4f7c-834f-d58f352ba820-lock-0000000000"
	f.create(9, path, false)
	f.contend(1, 1)
	f.contend(2, 2)
	require.Equal(t, []string{Defect}, f.kinds())
	f.remove(9, path)
	f.create(9, strings.Replace(path, "0000000000", "0000000003", 1), false)
	require.Equal(t, []string{Defect, Defect}, f.kinds())
}

// A snapshot has a part of the transactions that follow it; applied again, they
// change nothing until all of it are known.
func TestTransactionsThatASnapshotHasAreAppliedAgain(t *testing.T) {
	f := newFilm(t, "/l")
	f.create(9, "/l", false)
	first := f.contend(1, 0)
	second := f.contend(2, 1)
	f.remove(1, first)
	later := newFilm(t, "/l")
	later.r.start.exact = 4
	for _, path := range []string{"/l", second} { // what the snapshot has: without first, with second
		later.r.tree.put(f.r.tree.nodes[path])
	}
	later.zxid = 1
	later.contend(1, 0)
	later.contend(2, 1)
	later.remove(1, first)
	require.Empty(t, later.ended)
	require.Empty(t, later.r.stays.open)
	later.remove(2, second)
	require.Equal(t, "0x2 holds 0s 0s released\n", later.outline())
	require.True(t, later.ended[0].Before)
	require.Equal(t, txnlog.Zxid(3), later.ended[0].Entered.Zxid)
}

// Znodes may be recognized as another thing when more of them are known: the clients have
// released nothing.
func TestThingThatIsRecognizedAsAnotherEndsNoHold(t *testing.T) {
	f := newFilm(t, "/")
	f.create(1, "/a/x", true)
	mutex := &recognize.Thing{Path: "/a", Kind: recognize.Mutex, Queue: []*recognize.Contender{{Path: "/a/x", Session: 1, Holds: true}}}
	group := &recognize.Thing{Path: "/", Kind: recognize.Group, Members: []recognize.Member{{Path: "/a/x", Session: 1}}}
	y, at := &f.r.stays, Moment{began, 7}
	txn := &txnlog.Txn{Zxid: 7, Session: 2, Type: txnlog.TypeCreate}
	y.step(recognize.Delta{Come: []*recognize.Thing{mutex}}, f.r.tree, at, txn)
	y.step(recognize.Delta{Gone: []*recognize.Thing{mutex}, Come: []*recognize.Thing{group}}, f.r.tree, at, txn)
	require.Equal(t, Replaced, f.ended[len(f.ended)-1].How)
	require.Empty(t, f.found)
	require.Equal(t, "is in", y.open[place{"/", "/a/x", ""}].As)
}
