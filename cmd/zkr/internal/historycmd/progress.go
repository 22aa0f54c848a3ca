package historycmd

import (
	"fmt"
	"time"

	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/cli"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/history"
)

// follow shows, each second, how much a reader has read, until stop is called.
func follow(line *cli.StatusLine, r *history.Reader) (stop func()) {
	if !line.Visible() {
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
				line.Clear()
				return
			case <-tick.C:
				read, total := r.Progress()
				line.Set(progressText(read, total, time.Since(began)))
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
