package session

import "github.com/zkrecipes/zkrecipes/internal/znode"

// EscapeName converts any text to the name of a znode, the last element of a
// path. Different texts have different names, and a text always has the same
// name. Letters and digits of ASCII and "-_:@+=." stay as they are; each other
// byte, and a dot at the beginning, becomes "%" and two hexadecimal digits. A
// name of more than 120 bytes is cut, and ends with "^" and the text's SHA-256.
// No name has other characters: "~", "!", "," and others can separate names. The
// result for "" is "", which is not a valid name.
func EscapeName(text string) string { return znode.Escape(text) }
