package recognize

import (
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// idWidth bounds the shown characters of a client's own name.
const idWidth = 80

// Text is foreign data in one line of text, cut to most characters, because the
// data may be malicious. Characters that are invisible, or change the
// appearance of others (control characters, line ends, changes of direction,
// piled-up marks), become \u{...}. Data other than text becomes hexadecimal
// digits.
func Text(data []byte, most int) string {
	text, _ := printableText(data, most, false)
	return text
}

// Lines is Text, but keeps line ends and tabs; data other than text becomes a
// dump in lines of 16 bytes. cut reports whether the data was truncated.
func Lines(data []byte, most int) (text string, cut bool) { return printableText(data, most, true) }

func printableText(data []byte, most int, lines bool) (text string, cut bool) {
	if len(data) <= most && isPlainText(data) {
		return string(data), false
	}
	head := data[:min(len(data), 4*most)] // no character has more than four bytes
	if len(head) < len(data) {
		head = trimPartialRune(head)
	}
	if !utf8.Valid(head) {
		if lines {
			return hexDump(data, most)
		}
		return bytesOf(data, most)
	}
	var b strings.Builder
	n, marks := 0, 0
	for _, r := range string(head) {
		if n == most {
			b.WriteString("…")
			return b.String(), true
		}
		n++
		if unicode.Is(unicode.Mn, r) || unicode.Is(unicode.Me, r) {
			marks++
		} else {
			marks = 0
		}
		switch {
		case lines && (r == '\n' || r == '\t'):
			b.WriteRune(r)
		case r == '\n':
			b.WriteString(`\n`)
		case !unicode.IsPrint(r) || marks > 2:
			fmt.Fprintf(&b, `\u{%x}`, r)
		default:
			b.WriteRune(r)
		}
	}
	if cut = len(head) < len(data); cut {
		b.WriteString("…")
	}
	return b.String(), cut
}

// isPlainText is true for letters, digits and signs of ASCII, the most frequent case.
func isPlainText(data []byte) bool {
	for _, c := range data {
		if c < ' ' || c > '~' {
			return false
		}
	}
	return true
}

// trimPartialRune removes a truncated character at the end of text.
func trimPartialRune(text []byte) []byte {
	for i := 1; i < utf8.UTFMax && i <= len(text); i++ {
		if c := text[len(text)-i]; utf8.RuneStart(c) {
			if !utf8.FullRune(text[len(text)-i:]) {
				return text[:len(text)-i]
			}
			break
		}
	}
	return text
}

// bytesOf formats data other than text in one line.
func bytesOf(data []byte, most int) (text string, cut bool) {
	const unit = 2
	room := max(1, most/unit)
	out := "0x" + hex.EncodeToString(data[:min(len(data), room)])
	if cut = len(data) > room; cut {
		out += "… (" + strconv.Itoa(len(data)) + " bytes)"
	}
	return out, cut
}

// hexDump formats data other than text in lines: offset, bytes, and letters.
func hexDump(data []byte, most int) (text string, cut bool) {
	shown := data[:min(len(data), most/4)]
	out := strings.ReplaceAll(hex.Dump(shown), "  |", " |")
	if cut = len(shown) < len(data); cut {
		out += "…\n"
	}
	return out, cut
}
