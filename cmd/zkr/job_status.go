package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"

	"github.com/zkrecipes/zkrecipes/cache"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/workerctl"
)

// jobStatus is what a job's znode "state" says (docs/workerctl.md).
type jobStatus struct {
	State   workerctl.State `json:"state"`
	Workers int             `json:"workers"`
	Joined  int             `json:"next"`
	Left    int             `json:"left"`
}

// text is the status for people.
func (s jobStatus) text() string {
	return fmt.Sprintf("%d of %s joined, %d left", s.Joined, count(s.Workers, "worker"), s.Left)
}

// statusPath is where a job's status is.
func statusPath(job *workerctl.Job) string {
	return job.Path() + "/" + strings.ReplaceAll(job.ID(), "-", "")[:16] + "/state"
}

// followStatus tells how the job stands, and each change, until tell has heard
// enough. Whoever ends a job removes it next, and nothing is left that says how it
// has ended: a reader has as long as the requests take that this needs, ten or
// more. If it was too slow the error wraps workerctl.ErrOver.
func followStatus(ctx context.Context, client *session.Client, job *workerctl.Job, tell func(jobStatus) (enough bool, err error)) error {
	path := statusPath(job)
	view := cache.NewValue(client, path, func(n session.Node) (s jobStatus, err error) {
		if err := json.Unmarshal(n.Data, &s); err != nil {
			return s, fmt.Errorf("%s: %w", path, workerctl.ErrRecord)
		}
		return s, nil
	}, nil)
	ctx, cancel := context.WithCancel(ctx)
	var keeper sync.WaitGroup
	defer keeper.Wait()
	defer cancel()
	// Waited for above; ends with ctx, or when the view cannot go on, of which
	// the events then tell.
	keeper.Go(func() { _ = view.Run(ctx) })
	for e, err := range view.Events(ctx) {
		if err != nil {
			return err
		}
		entry, there := e.New, e.Kind != cache.EventRemoved
		if e.Kind == cache.EventSnapshot {
			entry, there = e.Snapshot.Lookup(path)
		}
		if !there {
			return fmt.Errorf("%s was removed before it could be seen how it ended: %w", job.Path(), workerctl.ErrOver)
		}
		if entry.Err != nil {
			return entry.Err
		}
		if enough, err := tell(entry.Value); enough || err != nil {
			return err
		}
	}
	return context.Cause(ctx)
}
