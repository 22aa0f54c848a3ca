package shareformat_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/internal/format/shareformat"
	"github.com/zkrecipes/zkrecipes/internal/versioned"
)

func TestNamesOfStoppedNodesAreRead(t *testing.T) {
	for name, ok := range map[string]bool{"a.1": true, "a": false, "a.": false, "a.x": false, "a.1.2": false, "": false} {
		_, _, got := shareformat.ParseStopped(name)
		require.Equal(t, ok, got, name)
	}
	client, generation, _ := shareformat.ParseStopped("_c_x-latch-0000000001.42")
	require.Equal(t, "_c_x-latch-0000000001", client)
	require.EqualValues(t, 42, generation)
	for name, is := range map[string]bool{
		"_c_x-latch-0000000001": true, "latch-0000000000": true, "_c_x-lock-0000000001": false, "x": false, "": false,
		"_c_x-latch-2147483647": false, "_c_x-latch--000000001": false, // they do not tell the order of arrival
	} {
		require.Equal(t, is, shareformat.IsClient(name), name)
	}
}

// FuzzParseStopped: an acknowledgment has one name, which tells whose it is.
func FuzzParseStopped(f *testing.F) {
	for _, name := range []string{"", ".", "a.", ".1", "a.1", "a.b.1", "a.+1", "a.-1", "a.007", "_c_x-latch-0000000001.42", "a.99999999999999999999"} {
		f.Add(name)
	}
	f.Fuzz(func(t *testing.T, name string) {
		client, generation, ok := shareformat.ParseStopped(name)
		if !ok {
			return
		}
		again := shareformat.StoppedName(client, generation)
		if again != name || client == "" || generation < 0 {
			t.Fatalf("%q: client %q, generation %d, which is %q", name, client, generation, again)
		}
	})
}

// Any data of a znode is read as a valid record, or refused; a newer format is named.
func FuzzDecode(f *testing.F) {
	for _, seed := range []string{
		"", "{}", "[]", "null", `{"format":1,"mode":"resource","id":"x","instance":"i","subscription":["*"]}`,
		`{"client":"c","generation":1,"count":2,"resources":["a","b"]}`, `{"generation":3,"state":"stop"}`,
		`{"generation":-3,"state":"confirmed"}`, `{"epoch":9e99}`, `{"epoch":9223372036854775807}`,
		`{"more":1}`, `{"format":2}`, `{"format":"1"}`, `{"paused":true} {}`, `{"count":1,"failures":[{"since":"never"}]}`,
		`{"count":1,"resources":["a/b"]}`, `{"count":3,"chunks":2,"resources":["a"]}`,
		`{"format":2,"generation":3,"base":2,"baseEpoch":1,"chunks":1,"count":1,"resources":["a"],"removed":["b"],"sum":"x"}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if m, err := shareformat.DecodeMember(shareformat.ModeResource, data); err == nil {
			again, err := shareformat.DecodeMember(shareformat.ModeResource, shareformat.Encode(&m))
			require.NoError(t, err)
			require.Equal(t, m, again)
			require.True(t, m.Instance == "" || shareformat.ValidInstance(m.Instance) == nil)
		}
		decodes[shareformat.Group](t, data)
		decodes[shareformat.Epoch](t, data)
		decodes[shareformat.Status](t, data)
		decodes[shareformat.Config](t, data)
		decodes[shareformat.Failures](t, data)
		if s := decodes[shareformat.Shard](t, data); s != nil && s.CheckResources(s.Resources) == nil {
			require.True(t, s.Generation >= 0 && s.Chunks >= 0 && (s.IsDelta() || s.Chunks <= s.Count))
			for _, name := range s.Resources {
				require.True(t, name != "" && name != ".." && !strings.Contains(name, "/"), name)
			}
		}
	})
}

// decodes reads a record; nil if it is refused.
func decodes[T shareformat.Group | shareformat.Epoch | shareformat.Status | shareformat.Config | shareformat.Shard | shareformat.Failures](t *testing.T, data []byte) *T {
	r, err := shareformat.Decode[T](data)
	var newer *versioned.FormatError
	newest := shareformat.Format
	if _, is := any(r).(shareformat.Shard); is {
		newest = shareformat.FormatDelta
	}
	if found := versioned.Check(data, newest); errors.As(found, &newer) {
		require.Equal(t, found, err)
	}
	if err != nil {
		return nil
	}
	return &r
}
