// Package foreign reads and shows what else stands in the path of a list of contenders.
package foreign

import (
	"context"
	"errors"
	"fmt"

	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/cli"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/ui/recognize"
	"github.com/zkrecipes/zkrecipes/session"
)

// Surroundings describes the rest of a path beside the listed contenders.
type Surroundings struct {
	Missing bool     // there is no such znode
	remarks []string // for people
}

// Inspect reads what else is in the path of contenders of kind in path; kind may be "". The
// list is right without them, so an error leaves them out.
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
		around.remarks = append(around.remarks, fmt.Sprintf("contenders of %s %s are in %s, too, and do not heed these, nor these them: both may hold at once; \"zkr %s %s\" shows those",
			cli.OrElse(articles[other], "a"), other, readablePath, looks[other], readablePath))
	}
	if kind == recognize.Election && recognize.Locks(path, names) {
		around.remarks = append(around.remarks, fmt.Sprintf("the znodes in %s are those of a lock: its holder is shown as the leader; \"zkr lock ls %s\" shows the lock. Curator's LeaderSelector and Kazoo's Election use the same znodes",
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

// NoteNobody notes that a list is empty, and whether the path exists.
func (around Surroundings) NoteNobody(a *cli.App, path, format string) error {
	if around.Missing {
		return a.NoteEmpty("there is no znode %s: nobody uses it now, or the path is misspelled", cli.Readable([]byte(path)))
	}
	return a.NoteEmpty(format, cli.Readable([]byte(path)))
}
