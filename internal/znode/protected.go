package znode

import (
	"crypto/rand"
	"encoding/hex"
	"strings"
)

// protectedPrefix begins the names of protected znodes, which identify their
// creator, as in Curator and go-zookeeper: "_c_", an id, "-" and the name that the
// recipe chooses.
const protectedPrefix = "_c_"

// Lengths of ids: a UUID with dashes, as Curator and this library have it; and 32 digits,
// as go-zookeeper and Kazoo have it.
const (
	UUIDLength = 36
	HexLength  = 32
)

// NewID returns a random (version 4) UUID in lower case.
func NewID() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails
	b[6] = b[6]&0x0f | 0x40
	b[8] = b[8]&0x3f | 0x80
	out := make([]byte, 0, UUIDLength)
	for i, part := range [][]byte{b[:4], b[4:6], b[6:8], b[8:10], b[10:]} {
		if i > 0 {
			out = append(out, '-')
		}
		out = hex.AppendEncode(out, part)
	}
	return string(out)
}

// Protected is a new name in Curator's form: "_c_", a UUID, "-" and base.
func Protected(base string) string { return protectedPrefix + NewID() + "-" + base }

// Hex is a new name in Kazoo's form: 32 hexadecimal digits and marker.
func Hex(marker string) string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:]) + marker
}

// Protection splits a protected name, "_c_<id>-<base>", whose id is a UUID, or 32 digits
// as go-zookeeper writes it. ok is false for other names.
func Protection(name string) (id, base string, ok bool) {
	rest, ok := strings.CutPrefix(name, protectedPrefix)
	for _, size := range []int{UUIDLength, HexLength} {
		if ok && len(rest) > size && rest[size] == '-' && IsHex(rest[:size], "-") && (size == UUIDLength) == (rest[8] == '-') {
			return rest[:size], rest[size+1:], true
		}
	}
	return "", "", false
}

// IsHex reports whether text has hexadecimal digits in lower case alone, besides those of
// more. It may be empty.
func IsHex(text, more string) bool { return strings.Trim(text, "0123456789abcdef"+more) == "" }

// IsUUID reports whether text is a UUID in lower case, with dashes.
func IsUUID(text string) bool {
	if len(text) != UUIDLength {
		return false
	}
	for i := range len(text) {
		c, dash := text[i], i == 8 || i == 13 || i == 18 || i == 23
		if dash != (c == '-') || !dash && (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return true
}
