package rebalanser

import (
	"context"
	"errors"
	"slices"

	"github.com/zkrecipes/zkrecipes/internal/batches"
	"github.com/zkrecipes/zkrecipes/internal/optimistic"
	"github.com/zkrecipes/zkrecipes/session"
)

// change adds or removes resources.
type change struct {
	names []string
	to    bool // whether they exist afterwards
	op    func(p *memberNode, path string) session.Op
	done  error // the server's error for an operation that was done before
	// tried has the operations sent without an answer: the error done then
	// means that this call did them. changed has the operations that were done.
	tried   map[string]bool
	changed []string
	// before is the zxid of the last change of the resources that this call knows; a try
	// without an answer was sent later. part are the resources that were changed last. unknown:
	// the outcome of a try is unknown, since other clients have changed resources meanwhile.
	before  int64
	part    []string
	unknown bool
}

// errChangedMeanwhile: a change was not answered, and other clients have changed resources since.
var errChangedMeanwhile = errors.New("other clients have changed resources meanwhile")

// apply changes all resources that are not yet in the wanted state. apply can be repeated.
func (ch *change) apply(ctx context.Context, p *memberNode) error {
	names := firstOfEach(ch.names) // named twice, a resource is changed once, and counts once
	var due []string
	err := p.readFresh(ctx, func() (err error) {
		ch.unknown = false
		due, err = ch.findDue(ctx, p, names)
		return err
	})
	if err != nil {
		return err
	}
	for part := range batches.Of(due, batches.MaxOps, batches.MaxTxn, func(n string) int { return len(n) + batches.PerOp }) {
		if err := ch.applyPart(ctx, p, part); err != nil {
			return err
		}
	}
	return nil
}

// firstOfEach are the names without repetitions, in their order.
func firstOfEach(names []string) []string {
	again := make(map[string]bool, len(names))
	out := make([]string, 0, len(names))
	for _, name := range names {
		if !again[name] {
			out = append(out, name)
		}
		again[name] = true
	}
	return out
}

// applyPart changes a few resources in one transaction, less the resources, possibly
// many, that another client changes at the same moment.
func (ch *change) applyPart(ctx context.Context, p *memberNode, part []string) error {
	for len(part) > 0 {
		ops := make([]session.Op, len(part))
		for i, name := range part {
			ops[i] = ch.op(p, p.at.resourcePath(name))
		}
		_, err := p.s.Txn(ctx, ops...)
		at := optimistic.CulpritIndex(err)
		switch {
		case err == nil:
			for _, name := range part {
				delete(ch.tried, name) // or it would count twice, if a later part is repeated
			}
			ch.changed, ch.part = append(ch.changed, part...), part
			return nil
		case at >= 0 && errors.Is(err, ch.done):
			if part, err = ch.findDue(ctx, p, part); err == nil {
				continue
			}
		case errors.Is(err, session.ErrUnknownOutcome):
			for _, name := range part {
				ch.tried[name] = true
			}
		}
		return err
	}
	return nil
}

// noteUnchanged notes that a resource is in the wanted state, though nothing is done about it now.
func (ch *change) noteUnchanged(name string) {
	if ch.tried[name] {
		delete(ch.tried, name)
		ch.changed = append(ch.changed, name)
	}
}

// findDue returns the names that are not yet in the wanted state. It lists the resources if the
// list is not much longer than names, and otherwise reads the Stat of each, as it does after a
// try without an answer.
func (ch *change) findDue(ctx context.Context, p *memberNode, names []string) ([]string, error) {
	const few, perName = 16, 20
	if len(names) > few && len(ch.tried) == 0 {
		folder, is, err := p.s.Exists(ctx, p.at.dirPath(resourcesDir))
		switch {
		case err != nil:
			return nil, err
		case !is:
			return nil, ErrNoGroup
		case int(folder.NumChildren) <= perName*len(names):
			return ch.findDueInList(ctx, p, names)
		}
	}
	paths := []string{p.at.dirPath(resourcesDir)}
	for _, name := range names {
		paths = append(paths, p.at.resourcePath(name))
	}
	var seen []session.Seen
	for part := range batches.OfNames(paths) {
		r := optimistic.Reading{Ctx: ctx, Session: p.s}
		seen = append(seen, r.StatAll(part...)...)
		switch {
		case errors.Is(r.Err, session.ErrNoAuth): // newer servers hide a resource that may not be read
			return ch.findDueInList(ctx, p, names)
		case r.Err != nil:
			return nil, r.Err
		case !seen[0].Exists:
			return nil, ErrNoGroup
		}
	}
	czxids := make(map[string]int64, len(names))
	for i, name := range names {
		czxids[name] = seen[i+1].Stat.Czxid
	}
	ch.noteOwnPart(czxids)
	var due []string
	last := seen[0].Stat.Pzxid
	for _, name := range names {
		due = ch.addDue(due, name, czxids[name] != 0, czxids[name], seen[0].Stat.Pzxid)
		last = max(last, czxids[name])
	}
	ch.before = max(ch.before, last)
	return due, nil
}

// noteOwnPart notes the zxid of the part that was changed last, which its resources tell if they
// were added: unless another client has removed one of them, or all of them and added them again.
func (ch *change) noteOwnPart(czxids map[string]int64) {
	if len(ch.part) == 0 {
		return
	}
	own := czxids[ch.part[0]]
	for _, name := range ch.part {
		own = min(own, czxids[name])
	}
	ch.before = max(ch.before, own)
}

func (ch *change) findDueInList(ctx context.Context, p *memberNode, names []string) (due []string, err error) {
	all, folder, err := p.s.Children(ctx, p.at.dirPath(resourcesDir))
	if errors.Is(err, session.ErrNoNode) {
		err = ErrNoGroup
	}
	if err != nil {
		return nil, err
	}
	slices.Sort(all)
	for _, name := range names {
		_, is := slices.BinarySearch(all, name)
		due = ch.addDue(due, name, is, 0, folder.Pzxid)
	}
	ch.before = max(ch.before, folder.Pzxid)
	return due, nil
}

// addDue adds a name to due, unless it is in the wanted state, or was since a try without an
// answer. czxid is that of the resource, 0 if it does not exist or if that is unknown, and last is
// the zxid of the last change of the resources.
func (ch *change) addDue(due []string, name string, is bool, czxid, last int64) []string {
	switch {
	case is == ch.to, ch.tried[name] && czxid > ch.before: // removed, and added by another client
		ch.noteUnchanged(name)
	case ch.tried[name] && czxid == 0 && last > ch.before:
		ch.unknown = true // perhaps it was changed, and another client has undone that
	default:
		return append(due, name)
	}
	return due
}
