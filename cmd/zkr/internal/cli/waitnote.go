package cli

import (
	"context"
	"time"
)

// firstNote is how long a wait lasts before zkr says what it waits for; on a terminal the
// text is renewed every nextNote.
const firstNote, nextNote = time.Second, 5 * time.Second

// NoteWait says what a command waits for, until stop is called: on a terminal in one line
// that is renewed, otherwise once. tell returns the text, and "" if the wait is about to end.
// Its error is left to the wait itself.
func (a *App) NoteWait(ctx context.Context, tell func(context.Context) (string, error)) (stop func()) {
	return Background(ctx, func(ctx context.Context) {
		line := a.StatusLine()
		defer line.Clear()
		for pause := firstNote; SleepContext(ctx, pause) == nil; pause = nextNote {
			switch text, err := tell(ctx); {
			case err != nil || text == "":
			case line.Visible():
				line.Set("zkr: " + text)
			case ctx.Err() == nil:
				a.Note("%s", text)
				return
			}
		}
	})
}
