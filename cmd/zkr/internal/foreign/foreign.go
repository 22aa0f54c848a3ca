// Package foreign reads and shows contenders of other recipes in the path of a list.
package foreign

import (
	"context"
	"errors"
	"fmt"

	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/cli"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/ui/recognize"
	"github.com/zkrecipes/zkrecipes/session"
)

// Surroundings describes the children of a path other than the listed contenders.
type Surroundings struct {
	Missing bool     // the path does not exist
	remarks []string // for people
}

// Inspect reads the surroundings of contenders of kind in path; kind may be "". After an
// error there are no remarks: the list itself is right without them.
func Inspect(ctx context.Context, client *session.Client, kind recognize.Kind, path string) (around Surroundings) {
	s, err := client.Session(ctx)
	if err != nil {
		return around
	}
	names, _, err := s.Children(ctx, path)
	around.Missing = errors.Is(err, session.ErrNoNode)
	if kind == "" || err != nil {
		return around
	}
	looks := map[recognize.Kind]string{
		recognize.Mutex: "lock ls", recognize.Semaphore: "lock ls -n N", recognize.RWLock: "rwlock ls", recognize.Election: "elect ls",
	}
	articles := map[recognize.Kind]string{recognize.Election: "an"}
	readablePath := cli.Readable([]byte(path))
	for _, other := range recognize.Others(kind, names) {
		around.remarks = append(around.remarks, fmt.Sprintf("%s also has contenders of %s %s, which the listed contenders do not exclude: both may hold at the same time; \"zkr %s %s\" lists them",
			readablePath, cli.OrElse(articles[other], "a"), other, looks[other], readablePath))
	}
	if kind == recognize.Election && recognize.Locks(path, names) {
		around.remarks = append(around.remarks, fmt.Sprintf("%s has the znodes of a lock: the holder of the lock is shown as the leader; \"zkr lock ls %s\" shows the lock. Curator's LeaderSelector and Kazoo's Election use the same znodes",
			readablePath, readablePath))
	}
	return around
}

// NoteForeign prints notes about the surroundings of a list.
func (around Surroundings) NoteForeign(a *cli.App) {
	for _, remark := range around.remarks {
		a.Note("%s", remark)
	}
}

// NoteEmptyList notes that a list is empty, and whether the path exists.
func (around Surroundings) NoteEmptyList(a *cli.App, path, format string) error {
	if around.Missing {
		return a.NoteEmpty("no znode %s: no client uses the path now, or the path is misspelled", cli.Readable([]byte(path)))
	}
	return a.NoteEmpty(format, cli.Readable([]byte(path)))
}
