package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"text/tabwriter"
	"time"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// print writes text to stdout. Somebody who has read enough, as head has, is no
// reason to complain.
func (a *app) print(text []byte) error {
	_, err := a.stdout.Write(text)
	if errors.Is(err, syscall.EPIPE) {
		return quietly(exitSignal + int(syscall.SIGPIPE))
	}
	return err
}

// printf is print for people.
func (a *app) printf(format string, args ...any) error {
	return a.print(fmt.Appendf(nil, format, args...))
}

// line prints v as one line of JSON.
func (a *app) line(v any) error {
	text, err := encode(v)
	if err != nil {
		return err
	}
	return a.print(append(text, '\n'))
}

// encode makes JSON that a terminal cannot mistake for commands: valid UTF-8, whatever
// others have written, in which characters that cannot be seen, or turn the direction
// of writing, are escaped.
func encode(v any) ([]byte, error) {
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	// A json.RawMessage is passed on as it is: even with bytes that are no text.
	text := bytes.ToValidUTF8(bytes.TrimSuffix(out.Bytes(), []byte("\n")), []byte("\ufffd"))
	if !bytes.ContainsFunc(text, unseen) {
		return text, nil
	}
	safe := make([]byte, 0, len(text)+64)
	for _, r := range string(text) {
		if !unseen(r) {
			safe = utf8.AppendRune(safe, r)
			continue
		}
		for _, unit := range utf16.Encode([]rune{r}) {
			safe = fmt.Appendf(safe, `\u%04x`, unit)
		}
	}
	return safe, nil
}

// unseen is a character beyond those that JSON itself escapes which has no shape.
func unseen(r rune) bool { return r == 0x7f || r > 0x7f && !unicode.IsPrint(r) }

// table prints rows below a header, in columns.
func (a *app) table(header string, rows [][]string) error {
	var out bytes.Buffer
	w := tabwriter.NewWriter(&out, 0, 8, 2, ' ', 0)
	fmt.Fprintln(w, strings.ReplaceAll(header, " ", "\t"))
	for _, row := range rows {
		fmt.Fprintln(w, strings.Join(row, "\t"))
	}
	_ = w.Flush() // into memory
	return a.print(out.Bytes())
}

// note remarks something on stderr, in zkr's name.
func (a *app) note(format string, args ...any) { a.beginNote(format, args...)() }

// beginNote is note for one who has no moment to lose; who calls finish has one.
func (a *app) beginNote(format string, args ...any) (finish func()) {
	text := fmt.Sprintf(format, args...)
	return a.aside.say(func() {
		if !a.json() {
			fmt.Fprintf(a.stderr, "zkr: %s\n", text)
			return
		}
		line, _ := encode(struct {
			Note string `json:"note"`
		}{text})
		fmt.Fprintf(a.stderr, "%s\n", line)
	})
}

// empty says that a table would have no rows. It is no output: who counts lines, or
// reads them, has none.
func (a *app) empty(format string, args ...any) error {
	a.note(format, args...)
	return nil
}

// asText is data as text for programs: as it is, if it is text.
func asText(data []byte) string {
	if utf8.Valid(data) {
		return string(data)
	}
	return strconv.QuoteToASCII(string(data))
}

// readable is data as text for people; other clients may write anything.
func readable(data []byte) string {
	if utf8.Valid(data) {
		text := string(data)
		for _, r := range text {
			if !unicode.IsPrint(r) {
				return strconv.QuoteToASCII(text)
			}
		}
		return text
	}
	return strconv.QuoteToASCII(string(data))
}

// brief is readable, cut to so many characters.
func brief(data []byte, most int) string {
	text := readable(data[:min(len(data), 4*most)])
	if utf8.RuneCountInString(text) <= most && len(data) <= 4*most {
		return text
	}
	runes := []rune(text)
	return string(runes[:min(len(runes), most-1)]) + "…"
}

// content is a znode's data in JSON: as text if it is some, or in base64.
type content struct {
	Text   *string `json:"data,omitempty"`
	Base64 []byte  `json:"data_base64,omitempty"`
}

func contentOf(data []byte) content {
	if !utf8.Valid(data) {
		return content{Base64: data}
	}
	text := string(data)
	return content{Text: &text}
}

// sessionID is a session for people and programs; "" for none.
func sessionID(id int64) string {
	if id == 0 {
		return ""
	}
	return fmt.Sprintf("%#x", id)
}

// or is text, or what stands in a table where there is none.
func or(text, none string) string {
	if text == "" {
		return none
	}
	return text
}

// known reports whether a time is one: what servers make themselves, as /zookeeper, has
// none.
func known(t time.Time) bool { return t.UnixMilli() > 0 }

// clock is a time in a table, in local time.
func clock(t time.Time) string {
	if !known(t) {
		return "-"
	}
	return t.Local().Format(time.DateTime)
}

// moment is a time in a line of something that goes on.
func moment(t time.Time) string { return t.Local().Format("2006-01-02 15:04:05.000") }

// age is how long ago something was.
func age(t time.Time) string {
	if !known(t) {
		return "-"
	}
	return time.Since(t).Truncate(time.Second).String()
}

// listenForBrokenPipes makes writes to a pipe that nobody reads fail, instead of
// ending zkr where it stands, with its session left behind.
func listenForBrokenPipes() (stop func()) {
	ch := make(chan os.Signal, 1)
	signal.Notify(ch, syscall.SIGPIPE)
	return func() { signal.Stop(ch) }
}
