package session

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
)

const (
	// maxEscaped is the longest escaped name that is not shortened by hashing.
	maxEscaped = 120
	// hashMark stands before the hash of a name that was too long.
	hashMark = "^"
)

// EscapeName makes any text the name of a znode, the last element of a path:
// different names of different texts, and the same one always and everywhere.
// Letters and digits of ASCII and "-_:@+=." stay as they are; each other byte, and
// a dot at the beginning, becomes "%" and two hexadecimal digits. What would have
// more than 120 bytes is cut, and ends with "^" and the text's SHA-256. No name has
// other characters than these: "~", "!", "," and others can set names apart. Of ""
// it is "", which is no name.
func EscapeName(text string) string {
	var b strings.Builder
	for i := range len(text) {
		c := text[i]
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9',
			c == '-', c == '_', c == ':', c == '@', c == '+', c == '=', c == '.' && i > 0:
			b.WriteByte(c)
		default:
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	out := b.String()
	if len(out) > maxEscaped {
		sum := sha256.Sum256([]byte(text))
		out = out[:maxEscaped-2*sha256.Size-len(hashMark)] + hashMark + hex.EncodeToString(sum[:])
	}
	return out
}
