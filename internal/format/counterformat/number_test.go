package counterformat_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/internal/format/counterformat"
	"pgregory.net/rapid"
)

var forms = []counterformat.Form{counterformat.Long, counterformat.Int, counterformat.Text} // read only

// A form decodes its own encoding, and no form has more bytes than MaxSize.
func TestNumbersSurviveEncoding(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		f := rapid.SampledFrom(forms).Draw(r, "form")
		edges := rapid.SampledFrom([]int64{0, -1, math.MinInt32, math.MaxInt32, math.MinInt64, math.MaxInt64})
		v := rapid.OneOf(rapid.Int64(), rapid.Int64Range(math.MinInt32, math.MaxInt32), edges).Draw(r, "number")
		if !f.Fits(v) {
			if f != counterformat.Int {
				r.Fatalf("%d does not fit the form %d", v, f)
			}
			return
		}
		if v > f.Max() {
			r.Fatalf("%d is more than %d", v, f.Max())
		}
		data := f.Encode(v)
		if got, err := f.Decode(data); err != nil || got != v {
			r.Fatalf("%d is read as %d, %v", v, got, err)
		}
		if len(data) > counterformat.MaxSize {
			r.Fatalf("%q has %d bytes", data, len(data))
		}
		if f != counterformat.Text && counterformat.BinaryForm(len(data)) != f {
			r.Fatalf("%d bytes are of another form than %d", len(data), f)
		}
	})
}

func TestLongestNumberHasMaxSize(t *testing.T) {
	require.Len(t, counterformat.Text.Encode(math.MinInt64), counterformat.MaxSize)
}

func TestDataThatIsNoNumberIsRefused(t *testing.T) {
	for _, text := range []string{"+1", "007", "-0", " 1", "1.5", "9223372036854775808"} {
		_, err := counterformat.Text.Decode([]byte(text))
		require.ErrorContains(t, err, "not a decimal number of 64 bits", "%q", text)
	}
	for _, size := range []int{1, counterformat.IntSize, 7, 9} {
		_, err := counterformat.Long.Decode(make([]byte, size))
		require.ErrorContains(t, err, "bytes of data instead of 8")
	}
	_, err := counterformat.Int.Decode(make([]byte, counterformat.LongSize))
	require.EqualError(t, err, "8 bytes of data instead of 4")
	for _, f := range forms {
		v, err := f.Decode(nil)
		require.NoError(t, err, "no data means 0")
		require.Zero(t, v)
	}
}
