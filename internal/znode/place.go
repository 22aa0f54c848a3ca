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

// Unnumbered is the name of a contender in a queue without its number.
func Unnumbered(name string) string { return name[:max(0, len(name)-Digits)] }

// ownerLength is how long the part of a contender's name is that all names of this contender
// share: of a protected name, "_c_" and half of the UUID.
const ownerLength = 3 + UUIDLength/2

// Renamed is another name of the contender called name, made of a fresh name of the same
// form: no znode of this contender has the name yet, and [OwnerOf] tells that it is the same
// contender's.
func Renamed(name, fresh string) string {
	owner := OwnerOf(name)
	if owner == "" || OwnerOf(fresh) == "" {
		return fresh
	}
	return owner + fresh[ownerLength:]
}

// OwnerOf is the part of a contender's name that its other names share, with or without
// number; "" for a name without an id.
func OwnerOf(name string) string {
	if len(name) <= ownerLength {
		return ""
	}
	if owner := name[:ownerLength]; IsHex(strings.TrimPrefix(owner, protectedPrefix), "-") {
		return owner
	}
	return ""
}
