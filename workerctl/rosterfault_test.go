package workerctl_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"sync"
	"testing"
	"time"

	"github.com/zkrecipes/zkrecipes/internal/world"
	"github.com/zkrecipes/zkrecipes/workerctl"
	"github.com/zkrecipes/zkrecipes/zktest"
	"github.com/zkrecipes/zkrecipes/zktest/matrix"
)

// A roster under every fault at every one of its requests: it must show the members in
// the end, report how each stands to its reader, and leave no watch behind.

// rosterTrial is a roster on one kind of server.
type rosterTrial struct {
	loaded  bool // the faults hit the changes, not the load
	oneShot bool

	// Of one case.
	srv    *zktest.Server
	roster *workerctl.Roster
	other  *workerctl.Job
	crew   []*workerctl.Worker
}

func (tr *rosterTrial) setup(e *matrix.Env, p *world.Party) (err error) {
	ctx := context.Background()
	tr.srv, tr.crew = e.Server, nil
	if tr.other, err = workerctl.Submit(ctx, p.Other, workerctl.Spec{Name: "words", Workers: 8}, nil); err != nil {
		return err
	}
	for i := range 6 {
		if err := tr.join(ctx, i); err != nil {
			return err
		}
	}
	j, err := workerctl.Attach(ctx, p.Tested, "words", nil)
	if err != nil {
		return err
	}
	tr.roster = j.Roster()
	if !tr.loaded {
		return nil
	}
	return tr.during(ctx, tr.roster.WaitSynced)
}

func (tr *rosterTrial) join(ctx context.Context, i int) error {
	k, err := tr.other.Join(ctx, nth(i))
	if err == nil {
		tr.crew = append(tr.crew, k)
	}
	return err
}

// during runs the roster, and calls do meanwhile.
func (tr *rosterTrial) during(ctx context.Context, do func(ctx context.Context) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	ended := make(chan error, 1)
	// Waited for below; ends with ctx.
	go func() { ended <- tr.roster.Run(ctx) }()
	err := do(ctx)
	cancel()
	if ran := <-ended; !errors.Is(ran, context.Canceled) {
		err = errors.Join(err, ran)
	}
	return err
}

// change makes every kind of change of a worker.
func (tr *rosterTrial) change() error {
	ctx := context.Background()
	paced := func(err error) error { world.Pause(7 * time.Millisecond); return err }
	die := func(i int) error { return tr.srv.Delete(tr.crew[i].Path()) }
	return errors.Join(
		paced(tr.join(ctx, 6)), paced(tr.crew[0].Update(ctx, map[string]string{"a": "b"})), paced(tr.crew[1].Leave(ctx)),
		paced(tr.crew[2].Fail(ctx, "broken")), paced(die(3)), paced(tr.join(ctx, 3)), paced(die(4)), paced(tr.join(ctx, 7)),
		paced(tr.crew[6].Leave(ctx)), paced(tr.crew[8].Leave(ctx)), paced(tr.other.Scale(ctx, 6)), paced(tr.crew[5].Release(ctx)),
	)
}

// same waits until the roster, and a reader of its changes, show the members.
func (tr *rosterTrial) same(ctx context.Context) error {
	if err := tr.roster.WaitSynced(ctx); err != nil {
		return err
	}
	shown := tr.roster.Joined()
	truth, err := tr.other.Members(context.Background())
	if err != nil {
		return err
	}
	if !reflect.DeepEqual(shown, truth) {
		return fmt.Errorf("the roster shows %v, the members are %v", shown, truth)
	}
	var present []workerctl.Member
	for c, err := range tr.roster.Changes(ctx) {
		if err != nil {
			return err
		}
		if present = append(present, c.Member); len(present) == len(truth) {
			break
		}
	}
	if !reflect.DeepEqual(present, truth) {
		return fmt.Errorf("a reader is told of %v, the members are %v", present, truth)
	}
	return nil
}

// op runs the roster with a reader while the workers change.
func (tr *rosterTrial) op(ctx context.Context, _ *world.Party) error {
	tr.srv.Delay(zktest.Link{Client: "tested"}, zktest.Both, 5*time.Millisecond)
	return tr.during(ctx, func(ctx context.Context) error {
		if tr.loaded {
			if err := tr.roster.WaitSynced(ctx); err != nil {
				return err
			}
		}
		reading, end := context.WithCancel(ctx)
		var reader sync.WaitGroup
		var bad error
		book := told{}
		// Waited for below; ends with reading.
		reader.Go(func() {
			for c, err := range tr.roster.Changes(reading) {
				if err == nil {
					bad = errors.Join(bad, book.note(c))
				}
			}
		})
		err := tr.change()
		world.Pause(10 * time.Second) // a dead connection is noticed
		if err == nil {
			err = tr.same(ctx)
		}
		world.Pause(10 * time.Second)
		end()
		reader.Wait()
		if err == nil && ctx.Err() == nil {
			for _, m := range tr.roster.Joined() {
				if k := book[m.ID]; k.State != m.State || k.Incarnation != m.Incarnation {
					bad = errors.Join(bad, fmt.Errorf("the reader was told %v, it is %v", k, m))
				}
			}
		}
		return errors.Join(err, bad)
	})
}

func TestRosterUnderEveryFault(t *testing.T) {
	for _, loaded := range []bool{false, true} {
		for _, oneShot := range []bool{false, true} {
			t.Run(fmt.Sprintf("loaded=%v/oneShot=%v", loaded, oneShot), func(t *testing.T) {
				t.Parallel()
				tr := &rosterTrial{loaded: loaded, oneShot: oneShot}
				trial := world.Trial{
					Name: t.Name(), Setup: tr.setup, Op: tr.op,
					Next: func(ctx context.Context, _ *world.Party) error {
						err := tr.during(ctx, tr.same)
						for _, k := range tr.crew {
							_ = k.Release(ctx) // a hold has a watch
						}
						return err
					},
				}
				c := trial.Case()
				if oneShot {
					c.Options = &zktest.Options{OldServer: true}
				}
				res := matrix.Run(t, c)
				if res.Cases == 0 {
					t.Error("nothing was tried")
				}
				t.Logf("%d requests, %d cases", res.Requests, res.Cases)
			})
		}
	}
}

// Everything of a roster works without persistent watches too.
func TestRosterOnOldServers(t *testing.T) {
	inWorld(t, &zktest.Options{OldServer: true}, func(w *World) {
		w.submit(w.Client(), 5)
		crew := w.crew(3)
		_, told, end := w.watch(w.attach(w.Client()))
		require := func(want ...string) {
			w.Helper()
			if got := told(); !reflect.DeepEqual(got, want) {
				w.Fatalf("told %q, want %q", got, want)
			}
		}
		require("present 0/1", "present 1/1", "present 2/1")
		w.leave(crew[0])
		require("left 0/1")
		if err := w.Server.ExpireSession(crew[1].Session().ID()); err != nil {
			w.Fatal(err)
		}
		require("dead 1/1")
		w.join(w.attach(w.Client()), nth(1))
		require("restarted 1/2")
		if err := crew[2].Update(w.Ctx, map[string]string{"a": "b"}); err != nil {
			w.Fatal(err)
		}
		require("updated 2/1")
		w.join(w.attach(w.Client()), nth(3))
		require("joined 3/1")
		if err := end(); !errors.Is(err, context.Canceled) {
			w.Fatal(err)
		}
	})
}
