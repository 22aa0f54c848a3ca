package main

import (
	"context"
	"fmt"

	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/ui/recognize"
	"github.com/zkrecipes/zkrecipes/session"
)

// unheeded are remarks on contenders in path that those of kind, which are listed, do
// not heed. The list is right without them: an error is none of it.
func unheeded(ctx context.Context, client *session.Client, kind recognize.Kind, path string) (out []string) {
	s, err := client.Session(ctx)
	if err != nil {
		return nil
	}
	names, _, err := s.Children(ctx, path)
	if err != nil {
		return nil
	}
	looks := map[recognize.Kind]string{
		recognize.Mutex: "lock ls", recognize.Semaphore: "lock ls -n N", recognize.RWLock: "rwlock ls", recognize.Election: "elect ls",
	}
	articles := map[recognize.Kind]string{recognize.Election: "an"}
	for _, other := range recognize.Others(kind, names) {
		out = append(out, fmt.Sprintf("contenders of %s %s are in %s, too, and do not heed these, nor these them: both may hold at once; \"zkr %s %s\" shows those",
			or(articles[other], "a"), other, readable([]byte(path)), looks[other], readable([]byte(path))))
	}
	return out
}
