package historycmd

import (
	"context"
	"fmt"
	"time"

	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/cli"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/history"
)

// follow shows, each second, how much a reader has read, until stop is called.
func follow(ctx context.Context, line *cli.StatusLine, r *history.Reader) (stop func()) {
	if !line.Visible() {
		return func() {}
	}
	return cli.Background(ctx, func(ctx context.Context) {
		defer line.Clear()
		for began := time.Now(); cli.SleepContext(ctx, time.Second) == nil; {
			read, total := r.Progress()
			line.Set(progressText(read, total, time.Since(began)))
		}
	})
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
