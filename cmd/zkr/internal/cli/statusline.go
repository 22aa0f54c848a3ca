package cli

import (
	"fmt"
	"sync"
)

// StatusLine is the last line of a terminal, on stderr, which shows what goes on and is
// replaced by the next text. The line of an App whose stderr is no terminal shows nothing.
type StatusLine struct {
	app *App
	// mu guards the terminal's last line; shown tells whether a text stands there.
	mu    sync.Mutex
	shown bool
}

// StatusLine makes the line of an App.
func (a *App) StatusLine() *StatusLine { return &StatusLine{app: a} }

// clearLine goes to the beginning of the line and clears it.
const clearLine = "\r\x1b[K"

// Visible reports whether the line is on a terminal.
func (l *StatusLine) Visible() bool { return !l.app.JSON() && IsTerminal(l.app.Stderr) }

// Set shows a text.
func (l *StatusLine) Set(text string) {
	if !l.Visible() {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	fmt.Fprint(l.app.Stderr, clearLine, text)
	l.shown = true
}

// Aside clears the line and prints something else.
func (l *StatusLine) Aside(print func() error) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.shown {
		fmt.Fprint(l.app.Stderr, clearLine)
		l.shown = false
	}
	return print()
}

// Clear clears the line.
func (l *StatusLine) Clear() { _ = l.Aside(func() error { return nil }) }
