package historycmd

import (
	"fmt"
	"sync"
	"time"

	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/cli"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/history"
)

// statusLine is the last line of a terminal, which shows how much has been read.
type statusLine struct {
	*app
	// mu guards the terminal's last line; shown tells whether a text stands there.
	mu    sync.Mutex
	shown bool
}

// clearLine goes to the beginning of the line and clears it.
const clearLine = "\r\x1b[K"

// aside prints something else, without the line.
func (l *statusLine) aside(print func() error) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.shown {
		fmt.Fprint(l.Stderr, clearLine)
		l.shown = false
	}
	return print()
}

func (l *statusLine) set(text string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	fmt.Fprint(l.Stderr, clearLine, text)
	l.shown = true
}

// follow shows on a terminal, each second, how much a reader has read, until stop is called.
func (l *statusLine) follow(r *history.Reader) (stop func()) {
	if l.JSON() || !cli.IsTerminal(l.Stderr) {
		return func() {}
	}
	over, done := make(chan struct{}), make(chan struct{})
	// Waited for by stop.
	go func() {
		defer close(done)
		began, tick := time.Now(), time.NewTicker(time.Second)
		defer tick.Stop()
		for {
			select {
			case <-over:
				_ = l.aside(func() error { return nil })
				return
			case <-tick.C:
				read, total := r.Progress()
				l.set(progressText(read, total, time.Since(began)))
			}
		}
	}()
	return func() { close(over); <-done }
}

// progressText says how much has been read, and how long the rest will take.
func progressText(read, total int64, took time.Duration) string {
	const mib = 1 << 20
	text := fmt.Sprintf("zkr: read %d of %d MiB", read/mib, total/mib)
	if read > 0 && read <= total {
		left := time.Duration(float64(took) / float64(read) * float64(total-read))
		text += fmt.Sprintf(" (%d%%), %v left", read*100/total, left.Round(time.Second))
	}
	return text
}
