package rebalanser

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/zkrecipes/zkrecipes/internal/format/shareformat"
	"github.com/zkrecipes/zkrecipes/rebalanser/internal/core"
	"github.com/zkrecipes/zkrecipes/session"
)

// maxListed is how many failures a client shows at most.
const maxListed = 100

// reportFailures reports failing resources: in the state, and in a znode. If a server
// refuses the znode, only the state reports them, and the member gives no resource
// up.
func (m *member) reportFailures(ctx context.Context, e *each) error {
	node, shown := m.at.failuresPath(m.client), false
	for {
		select {
		case <-e.news:
		case <-ctx.Done():
			return nil
		}
		m.box.Post(func() []core.Action { m.showState(); return nil })
		list := e.listFailing()
		if len(list) == 0 && !shown {
			continue
		}
		err := m.s.Retry(ctx, func() error { return m.showFailures(ctx, node, list) })
		if shown = shown || err == nil; err != nil && m.s.Err() != nil {
			return err
		}
	}
}

// showFailures writes the failures into the znode. No other client writes it, so a
// repeated write makes no difference.
func (m *member) showFailures(ctx context.Context, node string, list []Failure) error {
	record := failuresRecord{Format: format, Count: len(list)}
	for _, f := range list[:min(len(list), maxListed)] {
		record.Failures = append(record.Failures, failureRecord{Resource: f.Resource, Err: f.Err, Failures: f.Failures, Since: f.Since, Next: f.Next})
	}
	data := encode(&record)
	_, err := m.s.Set(ctx, node, data, -1)
	for errors.Is(err, session.ErrNoNode) {
		_, err = m.s.Create(ctx, node, data, session.Ephemeral, m.createOptions())
		switch {
		case errors.Is(err, session.ErrNodeExists): // by an attempt that was not answered
			_, err = m.s.Set(ctx, node, data, -1)
		case errors.Is(err, session.ErrNoNode):
			if ensured := m.s.EnsurePath(ctx, m.at.dirPath(failuresDir), session.Container, m.createOptions()); ensured != nil {
				return ensured
			}
		}
	}
	return err
}

// readFailing reads the members' reports about the resources that they retry.
func (v *view) readFailing(ctx context.Context) error {
	names, err := v.p.list(ctx, v.p.at.dirPath(failuresDir))
	if err != nil {
		return err
	}
	err = v.p.readAll(ctx, names, v.p.at.failuresPath, func(name string, seen session.Seen) {
		path := v.p.at.failuresPath(name)
		record, err := decode[failuresRecord](path, seen.Data)
		v.noteUnreadable(path, err)
		for _, f := range record.Failures {
			v.st.Failing = append(v.st.Failing, Failure{f.Resource, name, f.Err, f.Failures, f.Since, f.Next})
		}
	})
	if err != nil {
		return err
	}
	slices.SortFunc(v.st.Failing, func(a, b Failure) int { return strings.Compare(a.Resource, b.Resource) })
	return nil
}

// findUncovered are the resources that no living member takes.
func (v *view) findUncovered() []string {
	var all [][]string
	for _, c := range v.members.known {
		if c.err == nil {
			all = append(all, c.record.Subscription)
		}
	}
	return shareformat.Uncovered(v.all, all)
}
