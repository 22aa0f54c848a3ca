package counter

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"math"
	"math/big"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// Curator 5.4.0 and Kazoo 2.8.0 write these bytes.
func TestFormatsAreThoseOfTheOthers(t *testing.T) {
	for _, tc := range []struct {
		format Format
		value  int64
		hex    string
	}{
		{CuratorLong, -741, "fffffffffffffd1b"}, // seen on the wire
		{CuratorLong, 1, "0000000000000001"},
		{CuratorLong, math.MinInt64, "8000000000000000"},
		{CuratorInt, -741, "fffffd1b"},
		{CuratorInt, math.MaxInt32, "7fffffff"},
		{KazooText, -741, hex.EncodeToString([]byte("-741"))},
		{KazooText, 0, "30"},
	} {
		data, err := hex.DecodeString(tc.hex)
		require.NoError(t, err)
		require.Equal(t, data, tc.format.encode(tc.value))
		got, err := tc.format.decode(data)
		require.NoError(t, err)
		require.Equal(t, tc.value, got)
	}
}

func TestDataThatIsNoNumberIsRefused(t *testing.T) {
	for _, tc := range []struct {
		format Format
		data   string
		want   string
	}{
		{CuratorLong, "1234567", "7 bytes of data instead of 8"},
		{CuratorLong, "123456789", "9 bytes of data instead of 8"},
		{CuratorInt, "12345678", "8 bytes of data instead of 4"},
		{CuratorInt, "123", "3 bytes of data instead of 4"},
		{KazooText, "+1", "2 bytes"},
		{KazooText, "007", "3 bytes"},
		{KazooText, "-0", "2 bytes"},
		{KazooText, " 1", "2 bytes"},
		{KazooText, "1_0", "3 bytes"},
		{KazooText, "1.5", "3 bytes"},
		{KazooText, "9223372036854775808", "19 bytes"},
		{KazooText, "\x00\x00\x00\x00\x00\x00\x00\x01", "8 bytes"},
	} {
		_, err := tc.format.decode([]byte(tc.data))
		require.ErrorIs(t, err, ErrCorrupt, "%q", tc.data)
		require.ErrorContains(t, err, tc.want)
	}
	for _, f := range []Format{CuratorLong, CuratorInt, KazooText} {
		v, err := f.decode(nil)
		require.NoError(t, err)
		require.Zero(t, v)
	}
}

func FuzzDecode(f *testing.F) {
	for _, seed := range []string{"", "0", "-741", "fffffd1b", "\xff\xff\xff\xff\xff\xff\xfd\x1b", "\x00\x00\x00\x05", "+1", "9223372036854775807"} {
		f.Add(0, []byte(seed))
		f.Add(1, []byte(seed))
		f.Add(2, []byte(seed))
	}
	f.Fuzz(func(t *testing.T, which int, data []byte) {
		format := Format(uint(which) % 3)
		v, err := format.decode(data)
		if err != nil {
			require.ErrorIs(t, err, ErrCorrupt)
			require.Less(t, len(err.Error()), 300, "no dump of whatever is there")
			return
		}
		require.NoError(t, format.fits(v))
		if len(data) > 0 {
			require.Equal(t, data, format.encode(v), "there is one way to write a number")
		}
	})
}

// The twin of decode spells every format out.
func decodeTwin(f Format, data []byte) (*big.Int, bool) {
	v := new(big.Int)
	switch {
	case len(data) == 0:
		return v, true
	case f == KazooText:
		digits := strings.TrimPrefix(string(data), "-")
		plain := strings.Trim(digits, "0123456789") == "" && digits != "" && (digits == "0" && len(data) == 1 || digits[0] != '0')
		v, ok := v.SetString(string(data), 10)
		return v, plain && ok && v.IsInt64()
	case len(data) != map[Format]int{CuratorLong: 8, CuratorInt: 4}[f]:
		return v, false
	}
	v.SetBytes(data)
	if data[0]&0x80 != 0 {
		v.Sub(v, new(big.Int).Lsh(big.NewInt(1), uint(8*len(data))))
	}
	return v, true
}

func TestDecodeIsItsTwin(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		f := rapid.SampledFrom([]Format{CuratorLong, CuratorInt, KazooText}).Draw(r, "format")
		data := rapid.OneOf(
			rapid.SliceOfN(rapid.Byte(), 0, 9),
			rapid.Map(rapid.StringMatching(`-?[0-9]{0,20}`), func(s string) []byte { return []byte(s) }),
			rapid.Map(rapid.Int64(), func(v int64) []byte { return binary.BigEndian.AppendUint64(nil, uint64(v)) }),
		).Draw(r, "data")
		want, ok := decodeTwin(f, data)
		got, err := f.decode(bytes.Clone(data))
		if (err == nil) != ok {
			r.Fatalf("%v of %q: %v, twin %v", f, data, err, ok)
		}
		if ok && want.Int64() != got {
			r.Fatalf("%d, twin %v", got, want)
		}
	})
}

func TestSumsThatDoNotFitAreRefused(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		f := rapid.SampledFrom([]Format{CuratorLong, CuratorInt, KazooText}).Draw(r, "format")
		edge := rapid.OneOf(rapid.Int64(), rapid.SampledFrom([]int64{
			0, 1, -1, math.MaxInt64, math.MinInt64, math.MaxInt32, math.MinInt32, math.MaxInt32 - 1, math.MinInt32 + 1,
		}))
		a, b := edge.Draw(r, "a"), edge.Draw(r, "b")
		want := new(big.Int).Add(big.NewInt(a), big.NewInt(b))
		fits := want.IsInt64() && (f != CuratorInt || want.Int64() == int64(int32(want.Int64())))
		got, err := f.add(a, b)
		if (err == nil) != fits || fits && got != want.Int64() {
			r.Fatalf("%d%+d = %d, %v", a, b, got, err)
		}
	})
}
