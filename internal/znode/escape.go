package znode

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
)

const (
	// MaxEscaped is the longest escaped name that is not shortened by hashing.
	MaxEscaped = 120
	// hashMark stands before the hash of a name that was too long.
	hashMark = "^"
)

// Escape converts any text to the name of a znode; session.EscapeName has the rules.
func Escape(text string) string {
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
	if len(out) > MaxEscaped {
		sum := sha256.Sum256([]byte(text))
		out = out[:MaxEscaped-2*sha256.Size-len(hashMark)] + hashMark + hex.EncodeToString(sum[:])
	}
	return out
}
