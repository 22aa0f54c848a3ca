package recordcmd

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// size is a flag with a number of bytes.
type size struct{ bytes *int64 }

func newSize(to *int64, value int64) size {
	*to = value
	return size{to}
}

// units are the units of sizes, the largest first.
var units = []struct {
	name  string
	bytes int64
}{{"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}} // read only

func (s size) String() string {
	if s.bytes == nil {
		return ""
	}
	for _, u := range units {
		if *s.bytes != 0 && *s.bytes%u.bytes == 0 {
			return strconv.FormatInt(*s.bytes/u.bytes, 10) + u.name
		}
	}
	return strconv.FormatInt(*s.bytes, 10)
}

// Set reads a number of bytes, or of KiB, MiB or GiB.
func (s size) Set(text string) error {
	factor := int64(1)
	for _, u := range units {
		if digits, is := strings.CutSuffix(text, u.name); is {
			text, factor = digits, u.bytes
			break
		}
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 0 || n > math.MaxInt64/factor {
		return fmt.Errorf("it must be a size, as in 16MiB")
	}
	*s.bytes = n * factor
	return nil
}

// Type names the kind of value in help texts.
func (s size) Type() string { return "size" }
