package history

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/txnlog"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/ui/recognize"
)

// stayOf is a holder's stay at /l, at a second of the film.
func stayOf(name string, session int64, second int) *Stay {
	return &Stay{
		Path: "/l", Kind: recognize.Mutex, Name: name, Session: recognize.SessionID(session),
		Entered: Moment{began.Add(time.Duration(second) * time.Second), txnlog.Zxid(second)},
	}
}

// audit is an auditor that is told of stays.
type audit struct {
	*Auditor
	found []Suspicion
}

func newAudit() *audit {
	a := &audit{}
	a.Auditor = NewAuditor(func(s Suspicion) { a.found = append(a.found, s) })
	return a
}

// grant tells of a stay that is granted at once, and end of its end.
func (a *audit) grant(s *Stay) *Stay {
	a.Began(s)
	at := s.Entered
	s.Granted = &at
	a.Granted(s)
	return s
}

func (a *audit) end(s *Stay, second int, how How) {
	s.Ended, s.How = &Moment{began.Add(time.Duration(second) * time.Second), txnlog.Zxid(second)}, how
	a.Ended(s)
}

// of are the texts of one kind.
func (a *audit) of(kind string) (out []string) {
	for _, s := range a.found {
		if s.Kind == kind {
			out = append(out, s.Text)
		}
	}
	return out
}

// A client that comes back after another one was granted its lock could have believed in it.
func TestTwoClientsCouldHaveBelieved(t *testing.T) {
	for name, tc := range map[string]struct {
		how   How
		back  *Stay
		other bool // another client was granted the lock meanwhile
		want  int
	}{
		"back after the next grant":    {Expired, stayOf("web-1", 9, 22), true, 1},
		"back before any grant":        {Expired, stayOf("web-1", 9, 22), false, 0},
		"another client comes":         {Expired, stayOf("web-3", 9, 22), true, 0},
		"the same session, once more":  {Expired, stayOf("web-1", 1, 22), true, 0},
		"released before":              {Released, stayOf("web-1", 9, 22), true, 0},
		"back when it is long past":    {Expired, stayOf("web-1", 9, 4000), true, 0},
		"a stranger without a session": {Expired, stayOf("web-1", 0, 22), true, 0},
	} {
		t.Run(name, func(t *testing.T) {
			a := newAudit()
			one := a.grant(stayOf("web-1", 1, 1))
			a.end(one, 10, tc.how)
			if tc.other {
				a.grant(stayOf("web-2", 2, 12))
			}
			a.Began(tc.back)
			require.Len(t, a.of(TwoBelievers), tc.want)
			if tc.want > 0 {
				require.Equal(t, []string{
					"web-1 was back 12s after its session had expired, and web-2 had it since 2s after that: web-1 could have believed in its hold until then, unless it gave up by itself in time",
				}, a.of(TwoBelievers))
				a.Began(stayOf("web-1", 10, 30))
				require.Len(t, a.of(TwoBelievers), 1, "it is said once")
			}
		})
	}
}

// The first client that was granted the lock is named, whichever came later; a client without
// a name cannot be followed.
func TestTheNextHolderIsNamed(t *testing.T) {
	a := newAudit()
	a.end(a.grant(stayOf("web-1", 1, 1)), 10, Expired)
	a.end(a.grant(stayOf("web-2", 2, 11)), 12, Released)
	a.grant(stayOf("web-3", 3, 13))
	a.Began(stayOf("web-1", 4, 20))
	require.Len(t, a.of(TwoBelievers), 1)
	require.Contains(t, a.of(TwoBelievers)[0], "and web-2 had it since 1s after that")

	a = newAudit()
	a.end(a.grant(stayOf("", 1, 1)), 10, Expired)
	a.grant(stayOf("web-2", 2, 11))
	a.Began(stayOf("", 4, 20))
	require.Empty(t, a.of(TwoBelievers))
}

func TestClientsThatLoseOneSessionAfterTheOther(t *testing.T) {
	lose := func(n int, every time.Duration) *audit {
		a := newAudit()
		for i := range n {
			second := int(every/time.Second) * i
			s := stayOf("web-1", int64(i+1), second)
			a.Began(s) // it only waits
			a.end(s, second+1, Expired)
		}
		a.Began(stayOf("web-1", 99, int(every/time.Second)*n))
		return a
	}
	require.Equal(t, []string{"web-1 has lost 5 sessions within 4m59s"}, lose(5, time.Minute).of(Reconnecting))
	require.Empty(t, lose(4, time.Minute).of(Reconnecting))
	require.Empty(t, lose(20, 3*time.Minute).of(Reconnecting))
	require.Len(t, lose(10, time.Minute).of(Reconnecting), 2)
}

// The clients that are away are forgotten after an hour: the memory does not grow.
func TestAbsentClientsAreForgotten(t *testing.T) {
	a := newAudit()
	for i := range 6 * manyAbsent {
		s := a.grant(stayOf(fmt.Sprint("web-", i/2), int64(i+1), 2*i)) // each name comes back once
		a.end(s, 2*i+1, Expired)
	}
	require.LessOrEqual(t, len(a.former.absent), manyAbsent)
	require.LessOrEqual(t, len(a.former.losses), manyAbsent)
	require.Len(t, a.former.lost, 1)
	require.Len(t, a.former.lost[key(stayOf("", 0, 0))], 1, "the next holder of each but the last is known")
}
