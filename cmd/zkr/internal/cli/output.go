package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
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

	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/exit"
)

// Print writes text to stdout. A reader that closes the pipe early, such as head,
// causes no error message.
func (a *App) Print(text []byte) error {
	_, err := a.Stdout.Write(text)
	if isBrokenPipe(err) {
		return exit.Silent(exit.CodeSignal + int(syscall.SIGPIPE))
	}
	return err
}

// Printf is print for people.
func (a *App) Printf(format string, args ...any) error {
	return a.Print(fmt.Appendf(nil, format, args...))
}

// PrintJSON prints v as one line of JSON.
func (a *App) PrintJSON(v any) error {
	text, err := Encode(v)
	if err != nil {
		return err
	}
	return a.Print(append(text, '\n'))
}

// PrintAddress prints the URL that this process serves, and what it does there: as text, or
// the URL and the process id as JSON.
func (a *App) PrintAddress(url, what string) error {
	if a.JSON() {
		return a.PrintJSON(struct {
			URL string `json:"url"`
			PID int    `json:"pid"`
		}{url, os.Getpid()})
	}
	return a.Printf("%s  %s (Ctrl-C ends it)\n", url, what)
}

// Encode makes JSON that a terminal cannot mistake for commands: valid UTF-8 for any
// data of other clients, with escapes for characters that are invisible or turn the
// direction of writing.
func Encode(v any) ([]byte, error) {
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	// A json.RawMessage is passed on as it is: even with bytes that are not text.
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

// unseen reports whether r is invisible, and JSON itself does not escape r.
func unseen(r rune) bool { return r == 0x7f || r > 0x7f && !unicode.IsPrint(r) }

// Table prints rows below a header, in columns.
func (a *App) Table(header string, rows [][]string) error {
	var out bytes.Buffer
	Columns(&out, strings.Split(header, " "), rows)
	return a.Print(out.Bytes())
}

// Columns writes rows below a header.
func Columns(out *bytes.Buffer, header []string, rows [][]string) {
	w := tabwriter.NewWriter(out, 0, 8, 2, ' ', 0)
	for _, row := range append([][]string{header}, rows...) {
		fmt.Fprintln(w, strings.Join(row, "\t"))
	}
	_ = w.Flush() // into memory
}

// Note writes a note to stderr.
func (a *App) Note(format string, args ...any) { a.BeginNote(format, args...)() }

// BeginNote writes a note without waiting for the reader; finish waits for a moment.
func (a *App) BeginNote(format string, args ...any) (finish func()) {
	text := fmt.Sprintf(format, args...)
	return a.Async.Enqueue(func() {
		if !a.JSON() {
			fmt.Fprintf(a.Stderr, "zkr: %s\n", text)
			return
		}
		line, _ := Encode(struct {
			Note string `json:"note"`
		}{text})
		fmt.Fprintf(a.Stderr, "%s\n", line)
	})
}

// NoteEmpty notes on stderr that a table has no rows. Nothing goes to stdout, where
// programs count or parse lines.
func (a *App) NoteEmpty(format string, args ...any) error {
	a.Note(format, args...)
	return nil
}

// AsText is data as text for programs: as it is, if it is text.
func AsText(data []byte) string {
	if utf8.Valid(data) {
		return string(data)
	}
	return strconv.QuoteToASCII(string(data))
}

// Readable is data as text for people; other clients may write anything.
func Readable(data []byte) string {
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

// Preview is Readable, cut to width characters.
func Preview(data []byte, most int) string {
	text := Readable(data[:min(len(data), 4*most)])
	if utf8.RuneCountInString(text) <= most && len(data) <= 4*most {
		return text
	}
	runes := []rune(text)
	return string(runes[:min(len(runes), most-1)]) + "…"
}

// Content is a znode's data in JSON: as text if the data is text, or in base64.
type Content struct {
	Text   *string `json:"data,omitempty"`
	Base64 []byte  `json:"data_base64,omitempty"`
}

// ContentOf returns data as text or, if data is not UTF-8, as bytes.
func ContentOf(data []byte) Content {
	if !utf8.Valid(data) {
		return Content{Base64: data}
	}
	text := string(data)
	return Content{Text: &text}
}

// SessionID is a session for people and programs; "" for none.
func SessionID(id int64) string {
	if id == 0 {
		return ""
	}
	return fmt.Sprintf("%#x", id)
}

// OrElse is text, or none if text is empty.
func OrElse(text, none string) string {
	if text == "" {
		return none
	}
	return text
}

// isKnown reports whether a time is known: znodes that servers create themselves, such as
// /zookeeper, have no time.
func isKnown(t time.Time) bool { return t.UnixMilli() > 0 }

// LocalTime is a time in a table, in local time.
func LocalTime(t time.Time) string {
	if !isKnown(t) {
		return "-"
	}
	return t.Local().Format(time.DateTime)
}

// Timestamp is a time in a line of a continuing output.
func Timestamp(t time.Time) string { return t.Local().Format("2006-01-02 15:04:05.000") }

// Age is how long ago something was.
func Age(t time.Time) string {
	if !isKnown(t) {
		return "-"
	}
	return time.Since(t).Truncate(time.Second).String()
}

// IgnoreBrokenPipes makes writes to a pipe without a reader fail. Otherwise SIGPIPE
// would end zkr at once, and leave its session behind.
func IgnoreBrokenPipes() (stop func()) {
	ch := make(chan os.Signal, 1)
	signal.Notify(ch, syscall.SIGPIPE)
	return func() { signal.Stop(ch) }
}

// report tells people, or with JSON programs, what went wrong, and returns the
// exit code.
func report(w io.Writer, asJSON bool, err error) int {
	if err == nil {
		return 0
	}
	f := exit.Classify(err)
	switch {
	case f.Mute:
	case asJSON:
		line, _ := Encode(struct {
			Error string `json:"error"`
			Code  int    `json:"code"`
			Hint  string `json:"hint,omitempty"`
		}{err.Error(), f.Code, f.Hint})
		fmt.Fprintf(w, "%s\n", line)
	default:
		fmt.Fprintf(w, "zkr: %v\n", err)
		if f.Hint != "" {
			fmt.Fprintf(w, "zkr: %s\n", f.Hint)
		}
	}
	return f.Code
}

// PreviewWidth is how many characters of data a line shows.
const PreviewWidth = 48

// Count writes a number with its noun.
func Count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
