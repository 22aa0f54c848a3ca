package historycmd

import (
	"bytes"
	"fmt"
	"strconv"
	"time"

	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/cli"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/history"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/txnlog"
)

// batch is how many lines of a table are aligned with each other.
const batch = 1000

// printer prints stays and suspicions as they come.
type printer struct {
	*app
	interval
	status   *cli.StatusLine
	rows     [][]string
	header   []string
	begun    bool // the header was printed
	lines    int
	findings int      // about the files
	gaps     []string // of a recording, and its clock
	serious  int
	err      error // of printing
}

func (p *printer) add(header, row []string, v any) {
	p.lines++
	switch {
	case p.err != nil: // nothing can be printed any more
	case p.JSON():
		p.err = p.PrintJSON(v)
	default:
		p.header, p.rows = header, append(p.rows, row)
		if len(p.rows) == batch {
			_ = p.flush() // keeps its error
		}
	}
}

// flush prints the rows that wait.
func (p *printer) flush() error {
	if p.err != nil || len(p.rows) == 0 {
		return p.err
	}
	var out bytes.Buffer
	cli.Columns(&out, p.header, p.rows)
	text := out.Bytes()
	if p.begun {
		text = text[bytes.IndexByte(text, '\n')+1:]
	}
	p.rows, p.begun = nil, true
	p.err = p.status.Aside(func() error { return p.Print(text) })
	return p.err
}

func (p *printer) stay(s *history.Stay) {
	switch {
	case !p.has(s):
	case p.moment:
		state := *s
		if !s.HasAt(p.from) {
			state.Granted, state.As = nil, waitingFor(s)
		}
		as := asOf(&state)
		if s.IsUncertainAt(p.from) {
			as = "perhaps " + asOf(s)
		}
		p.add([]string{"PATH", "KIND", "WHO", "AS", "SINCE", "FOR", "TOKEN", "SESSION", "THEN"}, []string{
			s.Path, string(s.Kind), s.Client(), as, since(&state), lasted(p.from, &state), token(&state), cli.OrElse(s.Session.String(), "-"), then(s),
		}, s)
	default:
		p.add([]string{"FROM", "TO", "PATH", "WHO", "AS", "WAITED", "HELD", "TOKEN", "END"}, []string{
			cli.Timestamp(beginOf(s)), end(s), s.Path, s.Client(), asOf(s), duration(s.Waited()), duration(s.Held()), token(s), then(s),
		}, s)
	}
}

// beginOf is the grant, or the entry of a client that only waited.
func beginOf(s *history.Stay) time.Time {
	if s.Granted != nil {
		return s.Granted.Time
	}
	return s.Entered.Time
}

func since(s *history.Stay) string {
	if s.Before {
		return "before"
	}
	return cli.Timestamp(beginOf(s))
}

func lasted(at time.Time, s *history.Stay) string {
	if s.Before {
		return "-"
	}
	return duration(at.Sub(beginOf(s)), true)
}

func end(s *history.Stay) string {
	if s.Ended == nil {
		return "-"
	}
	return cli.Timestamp(s.Ended.Time)
}

func asOf(s *history.Stay) string {
	if s.Resource != "" {
		return "owns " + s.Resource
	}
	return s.As
}

// waitingFor is the role of a client before its grant.
func waitingFor(s *history.Stay) string {
	if s.Has() {
		return "waits for"
	}
	return s.As
}

func token(s *history.Stay) string {
	if s.Token == 0 || !s.Has() {
		return "-"
	}
	return strconv.FormatInt(s.Token, 10)
}

func duration(d time.Duration, known bool) string {
	if !known {
		return "-"
	}
	return d.Round(time.Millisecond).String()
}

// then is how a stay ended.
func then(s *history.Stay) string {
	switch {
	case s.Ended == nil:
		return "lasts"
	case s.How == history.Broken:
		return "broken by " + s.BrokenBy + ": " + s.Reason
	case s.EndedAfter != nil:
		return "gone after " + cli.Timestamp(*s.EndedAfter)
	case s.By != 0:
		return "removed by " + s.By.String()
	case !s.Has() && s.How == history.Released:
		return "gave up"
	}
	return string(s.How)
}

func (p *printer) finding(f txnlog.Finding) {
	p.findings++
	p.noteGap(f)
}

// noteGap remembers a gap of a recording within the interval, and that a clock was set back
// before the end of the interval.
func (p *printer) noteGap(f txnlog.Finding) {
	if f.Since.IsZero() || !p.to.IsZero() && f.Since.After(p.to) {
		return
	}
	switch {
	case f.Until.IsZero():
		p.gaps = append(p.gaps, fmt.Sprintf("%s: %v", cli.Timestamp(f.Since), f.Err))
	case !f.Until.Before(p.from):
		p.gaps = append(p.gaps, fmt.Sprintf("nothing was recorded from %s to %s: %v", cli.Timestamp(f.Since), cli.Timestamp(f.Until), f.Err))
	}
}

func (p *printer) suspicion(s history.Suspicion) {
	if !s.At.Time.IsZero() && (s.At.Time.Before(p.from) || !p.to.IsZero() && s.At.Time.After(p.to)) {
		return
	}
	if s.Level.IsSerious() {
		p.serious++
	}
	when := s.At.Zxid.String()
	if !s.At.Time.IsZero() {
		when = cli.Timestamp(s.At.Time)
	}
	p.add([]string{"TIME", "LEVEL", "WHAT", "PATH", "WHY"}, []string{when, string(s.Level), s.Kind, s.Path, s.Text}, s)
}
