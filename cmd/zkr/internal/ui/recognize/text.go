package recognize

import (
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// idWidth is how many characters of what somebody says of himself are shown.
const idWidth = 80

// Text is foreign data in one line of text, cut to so many characters: anybody may
// have written anything. Text stays what it is but for characters that cannot be
// seen, or change how others look (control characters, line ends, those that turn
// the direction of writing, marks that pile up): these become \u{...}. Data that is not
// text becomes hexadecimal digits.
func Text(data []byte, most int) string {
	text, _ := printable(data, most, false)
	return text
}

// Lines is Text, but keeps line ends and tabs; data that is not text becomes a dump in
// lines of 16 bytes. It reports whether something was cut off.
func Lines(data []byte, most int) (text string, cut bool) { return printable(data, most, true) }

func printable(data []byte, most int, lines bool) (text string, cut bool) {
	if len(data) <= most && plain(data) {
		return string(data), false
	}
	head := data[:min(len(data), 4*most)] // no character has more than four bytes
	if len(head) < len(data) {
		head = whole(head)
	}
	if !utf8.Valid(head) {
		if lines {
			return dump(data, most)
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

// plain is true for letters, digits and signs of ASCII: most of what there is.
func plain(data []byte) bool {
	for _, c := range data {
		if c < ' ' || c > '~' {
			return false
		}
	}
	return true
}

// whole is text without a character at its end that was cut in two.
func whole(text []byte) []byte {
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

// bytesOf is data that is not text, in one line.
func bytesOf(data []byte, most int) (text string, cut bool) {
	const unit = 2
	room := max(1, most/unit)
	out := "0x" + hex.EncodeToString(data[:min(len(data), room)])
	if cut = len(data) > room; cut {
		out += "… (" + strconv.Itoa(len(data)) + " bytes)"
	}
	return out, cut
}

// dump is data that is not text, in lines: the offset, the bytes, and as letters.
func dump(data []byte, most int) (text string, cut bool) {
	shown := data[:min(len(data), most/4)]
	out := strings.ReplaceAll(hex.Dump(shown), "  |", " |")
	if cut = len(shown) < len(data); cut {
		out += "…\n"
	}
	return out, cut
}
