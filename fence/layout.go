package fence

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"time"
)

// The data of the epoch's znode is the epoch as decimal text, without leading zeros.
// No other library has this znode.

// maxEpoch is the highest epoch. No other library writes epochs.
const maxEpoch = math.MaxInt64

func encodeEpoch(epoch int64) []byte { return strconv.AppendInt(nil, epoch, 10) }

func decodeEpoch(data []byte) (int64, error) {
	epoch, err := strconv.ParseInt(string(data), 10, 64)
	if err != nil || epoch < 1 || string(encodeEpoch(epoch)) != string(data) {
		return 0, fmt.Errorf("%w: the data of the znode must be a decimal number of at least 1, got %.30q", ErrCorruptEpoch, data)
	}
	return epoch, nil
}

// newEpoch returns an epoch above another one, which is less than maxEpoch: the time, as
// Unix time in nanoseconds whose last six digits are random, or above+1 if that is higher.
// Two incarnations of the ensemble must not have the same epoch: they do not, even where
// clocks start at the same time with every boot, because of the random digits.
func newEpoch(above int64) int64 {
	const million = int64(time.Millisecond)
	return max(time.Now().UnixMilli()*million+rand.Int64N(million), above+1)
}
