//go:build unix

package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/exit"
	"pgregory.net/rapid"
)

func TestReportSaysWhatAndWhatToDo(t *testing.T) {
	var out bytes.Buffer
	err := &exit.Failure{Code: exit.CodeBusy, Err: errors.New(`it is "taken"`), Hint: "wait"}
	require.Equal(t, exit.CodeBusy, report(&out, false, err))
	assert.Equal(t, "zkr: it is \"taken\"\nzkr: wait\n", out.String())

	out.Reset()
	require.Equal(t, exit.CodeBusy, report(&out, true, err))
	var got map[string]any
	require.NoError(t, json.Unmarshal(out.Bytes(), &got))
	assert.Equal(t, map[string]any{"error": `it is "taken"`, "code": 75.0, "hint": "wait"}, got)

	out.Reset()
	require.Equal(t, 0, report(&out, false, nil))
	require.Equal(t, 3, report(&out, true, exit.Silent(3)))
	assert.Empty(t, out.String())
}

// TestNothingForeignReachesTheTerminal: whatever stands in ZooKeeper, in tables
// and in JSON.
func TestNothingForeignReachesTheTerminal(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		data := rapid.SliceOf(rapid.Byte()).Draw(t, "data")
		if rapid.Bool().Draw(t, "text") {
			data = []byte(rapid.String().Draw(t, "text"))
		}
		for _, text := range []string{Readable(data), Preview(data, 10)} {
			for _, r := range text {
				if !unicode.IsPrint(r) {
					t.Fatalf("%q becomes %q", data, text)
				}
			}
		}
		out, err := Encode(ContentOf(data))
		require.NoError(t, err)
		for _, r := range string(out) {
			if unicode.IsControl(r) {
				t.Fatalf("%q becomes %q", data, out)
			}
		}
		var back Content
		require.NoError(t, json.Unmarshal(out, &back))
		switch {
		case back.Text != nil:
			require.True(t, utf8.Valid(data))
			require.Equal(t, string(data), *back.Text)
		default:
			require.True(t, bytes.Equal(data, back.Base64), "%q and %q", data, back.Base64)
		}
	})
}

func TestBriefIsCutByCharacters(t *testing.T) {
	for data, want := range map[string]string{
		"": "", "short": "short", "exactly 10": "exactly 10", "more than 10": "more than…",
		"größer als zehn": "größer al…", "\x00\x01\x02\x03\x04\x05\x06\x07\x08": `"\x00\x01…`,
	} {
		assert.Equal(t, want, Preview([]byte(data), 10))
	}
	long := bytes.Repeat([]byte("x"), 1<<20)
	assert.Equal(t, "xxxxxxxxx…", Preview(long, 10))
}

func TestBytesThatAreNotTextAreBase64(t *testing.T) {
	out, err := Encode(ContentOf([]byte("\xff\x00")))
	require.NoError(t, err)
	assert.JSONEq(t, `{"data_base64":"/wA="}`, string(out))
	out, err = Encode(ContentOf(nil))
	require.NoError(t, err)
	assert.JSONEq(t, `{"data":""}`, string(out), "empty data is there")
	out, err = Encode(ContentOf([]byte("<a&b> \u009b \u2028")))
	require.NoError(t, err)
	assert.Equal(t, `{"data":"<a&b> \u009b \u2028"}`, string(out), "written as escapes")
}
