package heartbeat_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/session/internal/heartbeat"
)

func TestRecordsAreReadAsWritten(t *testing.T) {
	marks := []heartbeat.Mark{{Zxid: 0x2000000a7, Age: 812999 * time.Microsecond}, {Zxid: 0x2000000a1, Age: 1638 * time.Millisecond}}
	data := heartbeat.Format(heartbeat.Record{Sender: 0x1000a5c3f2b0001, Marks: marks})
	assert.Equal(t, "1 1000a5c3f2b0001 2000000a7:812 2000000a1:1638", string(data))
	got, err := heartbeat.Parse(data)
	require.NoError(t, err)
	marks[0].Age = 812 * time.Millisecond
	assert.Equal(t, heartbeat.Record{Sender: 0x1000a5c3f2b0001, Marks: marks}, got)

	none, err := heartbeat.Parse(heartbeat.Format(heartbeat.Record{Sender: -1}))
	require.NoError(t, err)
	assert.EqualValues(t, -1, none.Sender)
	assert.Empty(t, none.Marks)
}

func TestRecordsAreBounded(t *testing.T) {
	data := heartbeat.Format(heartbeat.Record{Marks: make([]heartbeat.Mark, 100)})
	got, err := heartbeat.Parse(data)
	require.NoError(t, err)
	assert.Len(t, got.Marks, heartbeat.MaxMarks)
}

// Data of other programs, and of later versions, proves nothing.
func TestOtherDataIsInvalid(t *testing.T) {
	for _, data := range []string{
		"", " ", "1", "1 ", "2", "2 a 1:1", "1 1:1", "1 g", "1 -1", "1 a 1", "1 a 1:", "1 a :1", "1 a g:1", "1 a 1:-1", "1 a -1:1",
		"1 a  1:1", "1 a 1:1 ", "1 a 1:1\n", "1 a 1:1:1", "1 a 10000000000000000:1", "1 a 1:99999999999",
		"1 a" + strings.Repeat(" 1:1", heartbeat.MaxMarks+1), "\x00\xff",
	} {
		_, err := heartbeat.Parse([]byte(data))
		require.ErrorIs(t, err, heartbeat.ErrInvalid, "%q", data)
	}
}

func TestNewestMarkThatIsOldEnoughCounts(t *testing.T) {
	marks := []heartbeat.Mark{{Zxid: 30, Age: 1}, {Zxid: 20, Age: 2}, {Zxid: 10, Age: 3}}
	assert.EqualValues(t, 30, heartbeat.NewestBehind(marks, 1))
	assert.EqualValues(t, 20, heartbeat.NewestBehind(marks, 2))
	assert.EqualValues(t, 10, heartbeat.NewestBehind(marks, 3))
	assert.Zero(t, heartbeat.NewestBehind(marks, 4))
}

func FuzzParse(f *testing.F) {
	f.Add([]byte("1 1000a5c3f2b0001 2000000a7:812 2000000a1:1638"))
	f.Fuzz(func(t *testing.T, data []byte) {
		marks, err := heartbeat.Parse(data)
		if err != nil {
			return
		}
		again, err := heartbeat.Parse(heartbeat.Format(marks))
		require.NoError(t, err)
		require.Equal(t, marks, again)
	})
}
