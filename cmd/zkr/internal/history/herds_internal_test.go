package history

import (
	"io"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/txnlog"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/ui/recognize"
)

// script has the transactions of a test.
type script []*txnlog.Txn

func (s *script) Next() (*txnlog.Txn, error) {
	if len(*s) == 0 {
		return nil, io.EOF
	}
	txn := (*s)[0]
	*s = (*s)[1:]
	return txn, nil
}

func (s *script) Progress() (done, total int64) { return 0, 0 }

func (s *script) Close() error { return nil }

// add adds a transaction of a session, at a millisecond.
func (s *script) add(ms int, client int64, changes ...txnlog.Change) *txnlog.Txn {
	txn := &txnlog.Txn{
		Zxid: txnlog.Zxid(len(*s) + 1), Time: began.Add(time.Duration(ms) * time.Millisecond), Session: client, Cxid: int32(len(*s) + 1), Changes: changes,
	}
	if len(changes) > 0 {
		txn.Type = changes[0].Type
	}
	*s = append(*s, txn)
	return txn
}

func (s *script) create(ms int, client int64, path string) {
	s.add(ms, client, txnlog.Change{Type: txnlog.TypeCreate2, Path: path, Owner: txnlog.Owner(client)})
}

func (s *script) remove(ms int, client int64, path string) {
	s.add(ms, client, txnlog.Change{Type: txnlog.TypeDelete, Path: path})
}

func (s *script) fail(ms int, client int64, code int32) {
	s.add(ms, client, txnlog.Change{Type: txnlog.TypeError, Err: code}).Err = code
}

// failing lets twelve clients fail, one in a millisecond.
func failing(ms int, code int32) func(*script) {
	return func(s *script) {
		for i := range 12 {
			s.fail(ms+i, int64(2+i), code)
		}
	}
}

// herdsOf are the herds in a script, below a root.
func herdsOf(t *testing.T, root string, s *script) (out []Herd) {
	t.Helper()
	r := newReader(root, &Options{Herd: func(h Herd) { out = append(out, h) }})
	r.source = s
	_, err := r.Run(t.Context())
	require.NoError(t, err)
	return out
}

// A herd are the clients that fail because another one was faster with a znode that had just
// gone.
func TestHerdIsFound(t *testing.T) {
	for name, c := range map[string]struct {
		root    string
		play    func(s *script)
		clients int
	}{
		"a herd": {"/", failing(120, nodeExists), 12},
		"that goes on with other transactions": {"/", func(s *script) {
			for i := range 12 {
				s.fail(120+10*i, int64(2+i), nodeExists)
				s.create(125+10*i, 99, "/other"+string(rune('a'+i)))
			}
		}, 12},
		"below the root": {"/locks", failing(120, nodeExists), 12},
		"elsewhere":      {"/other", failing(120, nodeExists), 0},
		"too few": {"/", func(s *script) {
			for i := range 30 {
				s.fail(120+i, int64(2+i%9), nodeExists)
			}
		}, 0},
		"other errors": {"/", failing(120, -101), 0},
		"too late":     {"/", failing(1120, nodeExists), 0},
	} {
		t.Run(name, func(t *testing.T) {
			s := &script{}
			s.create(0, 1, "/locks")
			s.create(1, 1, "/locks/naive")
			s.remove(100, 1, "/locks/naive")
			s.create(110, 50, "/locks/naive")
			c.play(s)
			got := herdsOf(t, c.root, s)
			if c.clients == 0 {
				require.Empty(t, got)
				return
			}
			require.Len(t, got, 1)
			require.Equal(t, Herd{Path: "/locks/naive", At: Moment{began.Add(110 * time.Millisecond), 4}, Clients: c.clients, Within: got[0].Within}, got[0])
			require.Less(t, got[0].Within, 200*time.Millisecond)
		})
	}
}

// A znode that is created for the first time, or long after it had gone, has no herd.
func TestCreationWithoutADeletionHasNoHerd(t *testing.T) {
	s := &script{}
	s.create(0, 1, "/a")
	failing(1, nodeExists)(s)
	s.remove(100, 1, "/a")
	s.create(1200, 1, "/a")
	failing(1201, nodeExists)(s)
	require.Empty(t, herdsOf(t, "/", s))
}

// A herd is told of when it has come twice within an hour.
func TestHerdIsToldWhenItComesAgain(t *testing.T) {
	a := newAudit()
	herd := func(path string, minute int) {
		a.Herd(Herd{Path: path, At: Moment{began.Add(time.Duration(minute) * time.Minute), txnlog.Zxid(minute)}, Clients: 20, Within: 30 * time.Millisecond})
	}
	for hour := range 5 {
		herd("/seldom", 61*hour)
	}
	herd("/once", 1)
	require.Empty(t, a.of(HerdOfClients))
	for minute := range 5 {
		herd("/often", minute)
	}
	require.Len(t, a.of(HerdOfClients), 2)
	require.Equal(t, "20 clients tried in vain to create it within 30ms, when it had gone and another client had created it again: all of them are woken up each time, where a recipe with a queue wakes one", a.of(HerdOfClients)[0])
}

// The waits of an hour are summed up.
func TestHourWithTheLongestWaits(t *testing.T) {
	grantAt := func(a *audit, name string, at, waited time.Duration) {
		s := stayOf(name, 1, 0)
		s.Entered.Time = began.Add(at - waited)
		granted := Moment{Time: began.Add(at)}
		s.Granted = &granted
		a.Granted(s)
	}
	a := newAudit()
	_, told := a.LongestWaits()
	require.False(t, told)
	grantAt(a, "web-1", time.Minute, 900*time.Millisecond)
	_, told = a.LongestWaits()
	require.False(t, told, "too short to be noticed")
	grantAt(a, "web-2", 2*time.Hour, 10*time.Second)
	for i := range 20 {
		grantAt(a, "web-3", time.Hour+time.Duration(i)*time.Minute, time.Duration(i)*time.Second/10)
	}
	grantAt(a, "web-4", time.Hour+50*time.Minute, 2*time.Second)
	s, told := a.LongestWaits()
	require.True(t, told)
	require.Equal(t, Suspicion{
		Level: recognize.Hint, Kind: LongestWaits, At: Moment{Time: began.Truncate(time.Hour).Add(time.Hour)}, Path: "/l", Client: "web-4", Session: 1,
		Text: "21 waits ended in the hour of then, after 1s on average; the longest was that of web-4, 2s",
	}, s)
	// Without the earlier hours.
	late := newAudit()
	late.From = began.Add(90 * time.Minute)
	grantAt(late, "web-3", time.Hour, time.Hour)
	grantAt(late, "web-2", 100*time.Minute, 10*time.Second)
	s, told = late.LongestWaits()
	require.True(t, told)
	require.Equal(t, late.From, s.At.Time)
	require.Equal(t, "web-2", s.Client)
}
