package jobformat_test

import (
	"errors"
	"math"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/internal/format/jobformat"
	"github.com/zkrecipes/zkrecipes/internal/versioned"
	"github.com/zkrecipes/zkrecipes/internal/znode"
	"pgregory.net/rapid"
)

const claim = "01234567-89ab-4cde-8fab-000000000000"

// FuzzParseID: an id is written in one way, and everything else is refused.
func FuzzParseID(f *testing.F) {
	for _, text := range []string{"", "0", "7", "-1", "+1", "007", "2147483647", "2147483648", "1 ", "0x1", "1_0", "٣"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		id, err := jobformat.ParseID(text)
		switch {
		case err != nil && id != 0:
			t.Fatalf("%q: %d, %v", text, id, err)
		case err == nil && (id < 0 || id > math.MaxInt32 || strconv.Itoa(id) != text):
			t.Fatalf("%q: %d", text, id)
		}
	})
}

func FuzzRecords(f *testing.F) {
	f.Add([]byte(`{"format":1,"id":"00000000-0000-4000-8000-000000000000","name":"a"}`))
	f.Add([]byte(`{"format":1,"id":"00000000-0000-4000-8000-000000000000","name":"a","state":"killed"}`))
	f.Add([]byte(`{"state":"running","workers":4,"next":3,"left":1,"joins":3}`))
	f.Add([]byte(`{"id":3,"name":"x","incarnation":1,"claim":"00000000-0000-4000-8000-000000000000"}`))
	f.Add([]byte(`{"state":"running","workers":4,"next":5}`))
	f.Add([]byte("null"))
	f.Fuzz(func(t *testing.T, data []byte) {
		if r, err := jobformat.Decode[jobformat.Job](data); err == nil {
			again, err := jobformat.Decode[jobformat.Job](jobformat.Encode(r))
			require.NoError(t, err)
			require.Equal(t, r.ID, again.ID)
			require.True(t, znode.IsName(jobformat.RunName(r.ID)))
		}
		if s, err := jobformat.Decode[jobformat.Status](data); err == nil {
			again, err := jobformat.Decode[jobformat.Status](jobformat.Encode(s))
			require.NoError(t, err)
			require.Equal(t, s, again)
			require.True(t, s.Left <= s.Next && s.Next <= s.Workers)
		}
		if e, err := jobformat.Decode[jobformat.Ending](data); err == nil {
			require.True(t, e.State.Over())
		}
		if m, err := jobformat.Decode[jobformat.Member](data); err == nil {
			require.True(t, znode.IsName(m.Live()), m.Live())
			require.GreaterOrEqual(t, m.ID, 0)
		}
	})
}

func TestInvalidRecordIsRefused(t *testing.T) {
	for _, bad := range []string{
		"", "null", "7", "{}", `{"format":2,"id":"00000000-0000-4000-8000-000000000000","name":"a"}`,
		`{"format":1,"id":"00000000-0000-4000-8000-00000000000G","name":"a"}`, `{"format":1,"id":"x","name":"a"}`,
	} {
		_, err := jobformat.Decode[jobformat.Job]([]byte(bad))
		require.Error(t, err, bad)
	}
	for _, bad := range []string{
		"{}", `{"state":"paused","workers":1}`, `{"state":"left","workers":1}`, `{"state":"failed","workers":1,"next":1,"left":0,"failed":1}`, `{"state":"running","workers":0}`, `{"state":"running","workers":2,"next":3}`,
		`{"state":"running","workers":2,"next":1,"left":2}`, `{"state":"running","workers":2,"next":1,"left":-1}`,
	} {
		_, err := jobformat.Decode[jobformat.Status]([]byte(bad))
		require.Error(t, err, bad)
	}
	for _, bad := range []string{"{}", `{"id":-1,"name":"x","incarnation":1}`} {
		_, err := jobformat.Decode[jobformat.Member]([]byte(bad))
		require.Error(t, err, bad)
	}
	for _, bad := range []string{"{}", `{"format":1,"id":"` + claim + `","name":"a","state":"running"}`} {
		_, err := jobformat.Decode[jobformat.Ending]([]byte(bad))
		require.Error(t, err, bad)
	}
}

// A newer format is told from garbage, whatever else the record has.
func TestNewerFormatsAreNamed(t *testing.T) {
	newer := []byte(`{"format":2,"state":["running"],"name":7}`)
	for name, err := range map[string]error{
		"job":    second(jobformat.Decode[jobformat.Job](newer)),
		"status": second(jobformat.Decode[jobformat.Status](newer)),
		"member": second(jobformat.MemberOf("7", newer)),
		"ending": second(jobformat.Decode[jobformat.Ending](newer)),
		"format": jobformat.CheckFormat(newer),
	} {
		var e *versioned.FormatError
		require.True(t, errors.As(err, &e), name)
	}
}

func second[T any](_ T, err error) error { return err }

func TestRecordsSayWhoseTheyAre(t *testing.T) {
	m := jobformat.Encode(jobformat.Member{ID: 3, Name: "x", Incarnation: 1, Claim: claim})
	_, err := jobformat.MemberOf("3", m)
	require.NoError(t, err)
	_, err = jobformat.MemberOf("4", m)
	require.ErrorContains(t, err, "member 4 says that it is 3")
	j := jobformat.Encode(jobformat.Job{Format: 1, ID: claim, Name: "a/b"})
	_, err = jobformat.JobOf("a%2Fb", j)
	require.NoError(t, err)
	_, err = jobformat.JobOf("a", j)
	require.ErrorContains(t, err, `a says that it is "a/b"`)
}

func TestIDsAreWrittenInOneWay(t *testing.T) {
	for _, bad := range []string{"", "-1", "+1", "01", "1 ", "x", "99999999999"} {
		_, err := jobformat.ParseID(bad)
		require.Error(t, err, bad)
	}
	id, err := jobformat.ParseID("0")
	require.NoError(t, err)
	require.Zero(t, id)
}

// Jobs, and barriers of other kinds, are told from the rest by how their names begin.
func TestNamesOfJobsAndPlacesAreNoOthers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		e := znode.Escape(rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{".", "..", "/", "~"})).Draw(t, "name"))
		require.True(t, jobformat.IsJob(e))
		require.False(t, strings.HasPrefix(e, jobformat.PhaseMark))
		require.True(t, jobformat.IsEndedName(jobformat.EndedName(e, jobformat.RunName(claim)), e))
	})
	for _, dir := range []string{jobformat.DirJoin, jobformat.DirJanitor, jobformat.DirEnded} {
		require.False(t, jobformat.IsJob(dir))
	}
}

func TestStatesOfWorkers(t *testing.T) {
	for want, m := range map[jobformat.State]jobformat.Member{
		jobformat.Left: {Left: true}, jobformat.Failed: {Left: true, Failure: "x"}, jobformat.Running: {}, jobformat.Dead: {Failure: "of the one before"},
	} {
		require.Equal(t, want, m.State(want != jobformat.Dead))
	}
}
