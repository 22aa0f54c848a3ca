package znode

import (
	"bytes"
	"fmt"
	"strings"
)

// PlaceName is the name of a place in the waiting room of a queue, whose number is the
// version of the room's data. The numbers wrap around after 2^32 places.
func PlaceName(n int32) string { return fmt.Sprintf("place-%010d", uint32(n)) }

// PlaceData is the data of the place of a contender: the name that the contender will have
// in the queue, without its number, a line feed, and the contender's own data.
func PlaceData(name string, own []byte) []byte { return append([]byte(name+"\n"), own...) }

// ParsePlace reads the data of a place; false unless the name in it ends with one of the
// markers. The Entry has no number.
func ParsePlace(data []byte, markers ...string) (e Entry, own []byte, ok bool) {
	name, own, ok := bytes.Cut(data, []byte("\n"))
	if !ok {
		return Entry{}, nil, false
	}
	for _, m := range markers {
		if strings.HasSuffix(string(name), m) {
			return Entry{Name: string(name), Marker: m}, own, true
		}
	}
	return Entry{}, nil, false
}

// Unnumbered is the name of a contender in a queue without its number: the name in its
// place, if it came from the waiting room.
func Unnumbered(name string) string { return name[:max(0, len(name)-Digits)] }
