package heartbeatformat_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/internal/format/heartbeatformat"
)

func TestRecordsAreReadAsWritten(t *testing.T) {
	marks := []heartbeatformat.Mark{{Zxid: 0x2000000a7, Age: 812999 * time.Microsecond}, {Zxid: 0x2000000a1, Age: 1638 * time.Millisecond}}
	data := heartbeatformat.Format(heartbeatformat.Record{Sender: 0x1000a5c3f2b0001, Marks: marks})
	assert.Equal(t, "1 1000a5c3f2b0001 2000000a7:812 2000000a1:1638", string(data))
	got, err := heartbeatformat.Parse(data)
	require.NoError(t, err)
	marks[0].Age = 812 * time.Millisecond
	assert.Equal(t, heartbeatformat.Record{Sender: 0x1000a5c3f2b0001, Marks: marks}, got)

	none, err := heartbeatformat.Parse(heartbeatformat.Format(heartbeatformat.Record{Sender: -1}))
	require.NoError(t, err)
	assert.EqualValues(t, -1, none.Sender)
	assert.Empty(t, none.Marks)
}

func TestRecordsAreBounded(t *testing.T) {
	data := heartbeatformat.Format(heartbeatformat.Record{Marks: make([]heartbeatformat.Mark, 100)})
	got, err := heartbeatformat.Parse(data)
	require.NoError(t, err)
	assert.Len(t, got.Marks, heartbeatformat.MaxMarks)
}

// Data of other programs, and of later versions, proves nothing.
func TestOtherDataIsInvalid(t *testing.T) {
	for _, data := range []string{
		"", " ", "1", "1 ", "2", "2 a 1:1", "1 1:1", "1 g", "1 -1", "1 a 1", "1 a 1:", "1 a :1", "1 a g:1", "1 a 1:-1", "1 a -1:1",
		"1 a  1:1", "1 a 1:1 ", "1 a 1:1\n", "1 a 1:1:1", "1 a 10000000000000000:1", "1 a 1:99999999999",
		"1 a" + strings.Repeat(" 1:1", heartbeatformat.MaxMarks+1), "\x00\xff",
	} {
		_, err := heartbeatformat.Parse([]byte(data))
		require.ErrorIs(t, err, heartbeatformat.ErrInvalid, "%q", data)
	}
}

func TestNewestMarkThatIsOldEnoughCounts(t *testing.T) {
	marks := []heartbeatformat.Mark{{Zxid: 30, Age: 1}, {Zxid: 20, Age: 2}, {Zxid: 10, Age: 3}}
	assert.EqualValues(t, 30, heartbeatformat.NewestBehind(marks, 1))
	assert.EqualValues(t, 20, heartbeatformat.NewestBehind(marks, 2))
	assert.EqualValues(t, 10, heartbeatformat.NewestBehind(marks, 3))
	assert.Zero(t, heartbeatformat.NewestBehind(marks, 4))
}

func FuzzParse(f *testing.F) {
	f.Add([]byte("1 1000a5c3f2b0001 2000000a7:812 2000000a1:1638"))
	f.Fuzz(func(t *testing.T, data []byte) {
		marks, err := heartbeatformat.Parse(data)
		if err != nil {
			return
		}
		again, err := heartbeatformat.Parse(heartbeatformat.Format(marks))
		require.NoError(t, err)
		require.Equal(t, marks, again)
	})
}

func TestNamesAreOfServers(t *testing.T) {
	for _, server := range []uint8{1, 42, 255} {
		assert.True(t, heartbeatformat.IsName(heartbeatformat.Name(server)), server)
	}
	for _, name := range []string{"server-", "server-0", "server-01", "server-256", "server-+1", "server-1a", "1", "servers-1", ""} {
		assert.False(t, heartbeatformat.IsName(name), name)
	}
}
