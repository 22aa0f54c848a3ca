package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/zkrecipes/zkrecipes/examples/internal/osproc"
	"github.com/zkrecipes/zkrecipes/rebalanser"
	"github.com/zkrecipes/zkrecipes/session"
)

// consume is the life of a consumer: it works on the partitions that it is given, until
// stdin ends.
func consume(ctx context.Context, c settings, log io.Writer) error {
	ctx, cancel := osproc.UntilStdinEnds(ctx)
	defer cancel()
	client, err := session.Connect(ctx, c.servers, &session.Options{Timeout: c.session})
	if err != nil {
		return err
	}
	defer client.Close(context.WithoutCancel(ctx))
	handler := rebalanser.Each(func(ctx context.Context, r *rebalanser.Resource) error {
		o := &owner{settings: c, r: r, store: c.store(client, r.Name()), log: log}
		return o.run(ctx)
	})
	err = rebalanser.New(client, c.root+"/group", handler, &rebalanser.Options{ID: c.name}).Run(ctx)
	if ctx.Err() != nil && errors.Is(err, session.ErrLost) {
		return nil // nothing is owned, which is all that was wanted
	}
	return err
}

// owner is a consumer as the owner of one partition.
type owner struct {
	settings
	r     *rebalanser.Resource
	store *store
	log   io.Writer

	head    head
	version int32
	state   map[string]progress
}

func (o *owner) logf(format string, args ...any) {
	fmt.Fprintf(o.log, "%s "+format+"\n", append([]any{o.r.Name()}, args...)...)
}

// run goes on where the owner before has committed last. ctx ends when the partition is
// to be given up; it is owned until run returns, or until its own context ends.
func (o *owner) run(ctx context.Context) (err error) {
	hold := o.r.Context()
	if o.head, o.version, err = o.store.head(hold); err != nil {
		return o.endReason(err)
	}
	last, err := o.store.load(o.head.Batch)
	if err != nil {
		return err
	}
	o.state = last.State
	o.logf("owned from offset %d on, token %d", o.head.Offset, o.r.Token())
	for ctx.Err() == nil {
		records, _, err := read(logFile(o.dir, o.r.Name()), o.head.Offset, o.batch)
		switch {
		case err != nil:
			return err
		case len(records) == 0:
			sleepContext(ctx, 50*time.Millisecond)
		default:
			err = o.process(ctx, records)
		}
		if err != nil {
			return o.endReason(err)
		}
	}
	return o.endReason(context.Cause(ctx))
}

// process works on records and commits what was done, which may be some of them only:
// when the partition is to be given up others wait.
func (o *owner) process(ctx context.Context, records []record) error {
	w := newBatch(o.head, o.state, o.r.Token())
	for i, r := range records {
		if i > 0 && ctx.Err() != nil {
			break
		}
		sleepContext(o.r.Context(), o.pace)
		w.add(r)
	}
	next := head{w.offset, w.name(o.head.Offset)}
	if err := o.store.save(next.Batch, w.batch); err != nil {
		return err
	}
	// Its context does not bound the commit, as it should elsewhere: so there are late
	// ones, and the guard alone has to refuse them.
	if err := o.store.commit(context.WithoutCancel(ctx), o.r, next, o.version); err != nil {
		return err
	}
	o.head, o.version, o.state = next, o.version+1, w.State
	return nil
}

// endReason returns the reason for the end of the ownership. A loss is not an
// error of the consumer.
func (o *owner) endReason(err error) error {
	hold := o.r.Context()
	switch {
	case errors.Is(err, errRefused):
		o.logf("commit refused: it has another owner")
		if sleepContext(hold, 2*o.session); hold.Err() == nil {
			return err // the session should have heard of that
		}
		return context.Cause(hold)
	case hold.Err() != nil:
		o.logf("lost at offset %d", o.head.Offset)
		return context.Cause(hold)
	case errors.Is(err, rebalanser.ErrRevoked):
		o.logf("given up at offset %d", o.head.Offset)
		return nil
	}
	return err
}

// sleepContext waits for d, or for the end of ctx.
func sleepContext(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}
