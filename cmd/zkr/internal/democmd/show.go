package democmd

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/cli"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/exit"
)

// timeline prints events as they happen.
type timeline struct {
	out    io.Writer
	json   bool
	color  bool
	begun  time.Time
	states map[string]byte // of the workers
	tokens map[string]int64
}

// How a worker's state is drawn.
const (
	drawAbsent = ' '
	drawWaits  = '.'
	drawHolds  = '#'
	drawFrozen = '~'
	drawKilled = 'x'
)

// Colors of a terminal.
const (
	plain  = ""
	green  = "32"
	red    = "31"
	yellow = "33"
	faint  = "2"
	bold   = "1"
)

func newTimeline(a *app) *timeline {
	return &timeline{
		out: a.Stdout, json: a.JSON(), begun: time.Now(), states: map[string]byte{}, tokens: map[string]int64{},
		color: cli.IsTerminal(a.Stdout) && a.Getenv("NO_COLOR") == "" && a.Getenv("TERM") != "dumb",
	}
}

func (t *timeline) paint(color, text string) string {
	if !t.color || color == plain {
		return text
	}
	return "\x1b[" + color + "m" + text + "\x1b[0m"
}

func (t *timeline) title(servers string, timeout time.Duration) {
	if t.json {
		return
	}
	fmt.Fprintf(t.out, "One lock, four processes; the server is in this one (%s, in memory).\n"+
		"Sessions last %v.   # holds   . waits   ~ frozen   x killed\n\n", servers, timeout)
	fmt.Fprintln(t.out, t.paint(faint, "  seconds  w1 w2 w3 w4"))
}

// line prints a remark.
func (t *timeline) line(format string, args ...any) {
	if !t.json {
		fmt.Fprintf(t.out, "  %s\n", t.paint(faint, fmt.Sprintf(format, args...)))
	}
}

// event prints an event.
func (t *timeline) event(e Event) {
	e.Elapsed = e.At.Sub(t.begun).Seconds()
	if t.json {
		line, _ := json.Marshal(e)
		fmt.Fprintf(t.out, "%s\n", line)
		return
	}
	color, text := t.recordEvent(e)
	if text == "" {
		return
	}
	var row strings.Builder
	for _, name := range []string{"w1", "w2", "w3", "w4"} {
		state := t.states[name]
		if state == 0 {
			state = drawAbsent
		}
		row.WriteString(" " + t.paint(stateColor(state), string(state)) + " ")
	}
	fmt.Fprintf(t.out, "  %7.3f %s  %s %s\n", e.Elapsed, row.String(), e.Worker, t.paint(color, text))
}

func stateColor(state byte) string {
	switch state {
	case drawHolds:
		return bold + ";" + green
	case drawKilled:
		return red
	case drawFrozen:
		return yellow
	}
	return faint
}

// recordEvent records the changes of an event, and describes the event; "" if the
// event is not worth a line.
func (t *timeline) recordEvent(e Event) (color, text string) {
	set := func(state byte) { t.states[e.Worker] = state }
	switch e.Event {
	case "started":
		return plain, fmt.Sprintf("is process %d", e.PID)
	case "waits":
		set(drawWaits)
		return plain, ""
	case "holds":
		set(drawHolds)
		t.tokens[e.Worker] = e.Token
		return green, fmt.Sprintf("HOLDS the lock with token %d", e.Token)
	case "releases":
		set(drawAbsent)
		return plain, fmt.Sprintf("releases token %d", e.Token)
	case "killed":
		set(drawKilled)
		return red, "is KILLED while it holds the lock; its session must expire first"
	case "frozen":
		set(drawFrozen)
		return yellow, fmt.Sprintf("is FROZEN (SIGSTOP) and still believes in token %d", t.tokens[e.Worker])
	case "woken":
		return yellow, "is WOKEN (SIGCONT) after its session has expired"
	case "lost":
		set(drawWaits)
		return red, fmt.Sprintf("knows that it LOST token %d", e.Token)
	case "refused":
		return red, fmt.Sprintf("writes late with token %d: REFUSED by the server; queues up again", e.Token)
	case "leaves":
		return plain, ""
	}
	return plain, e.Event
}

// printVerdict prints the summary and returns zkr's exit code.
func (t *timeline) printVerdict(v Verdict, failed error) error {
	if failed != nil {
		v.OK = false
		v.Wrong = append(v.Wrong, failed.Error())
	}
	if t.json {
		line, _ := json.Marshal(v)
		fmt.Fprintf(t.out, "%s\n", line)
	} else {
		t.summary(v)
	}
	if !v.OK {
		return &exit.Failure{Code: exit.CodeFailed, Err: fmt.Errorf("the demonstration failed: %d check(s) failed, the first: %s", len(v.Wrong), v.Wrong[0])}
	}
	return nil
}

func (t *timeline) summary(v Verdict) {
	var holders []string
	for _, h := range v.Holders {
		holders = append(holders, fmt.Sprintf("%s (%d)", h.Worker, h.Token))
	}
	grow := "they grow"
	if !v.TokensGrow {
		grow = "THEY DO NOT GROW"
	}
	row := func(what, format string, args ...any) {
		fmt.Fprintf(t.out, "  %-22s %s\n", what, fmt.Sprintf(format, args...))
	}
	fmt.Fprintln(t.out)
	row("holders (tokens)", "%s: %s", strings.Join(holders, "  "), grow)
	row("overlaps", "%d", v.Overlaps)
	row("writes", "%d applied, %d of them by a worker without the lock; late and refused: %d", v.Writes, v.Strays, v.Refused)
	if v.KillToGrant > 0 {
		row("kill to next grant", "%.2f s, of which the session timeout is %.0f s", v.KillToGrant, demoSession.Seconds())
	}
	if v.WakeToTold > 0 {
		row("woken to knowing", "%.1f ms", v.WakeToTold*1000)
	}
	if v.HandOver > 0 {
		row("release to next grant", "%.1f ms", v.HandOver*1000)
	}
	fmt.Fprintln(t.out)
	if v.OK && v.Rounds == 0 {
		fmt.Fprintln(t.out, "  No check has failed so far, but not all scenes were shown.")
		return
	}
	if v.OK {
		fmt.Fprintln(t.out, "  "+t.paint(bold+";"+green, "All checks succeeded.")+" \"zkr demo cluster\" shows an election, on a page where you can kill the leader.")
		return
	}
	for _, wrong := range v.Wrong {
		fmt.Fprintln(t.out, "  "+t.paint(red, "WRONG: "+wrong))
	}
}
