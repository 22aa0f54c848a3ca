package locktable_test

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/internal/world"
	"github.com/zkrecipes/zkrecipes/lock/locktable"
	"github.com/zkrecipes/zkrecipes/session"
)

func TestMisuseOfNilAndZeroValuesIsReported(t *testing.T) {
	world.Misuse{
		Invalid: locktable.ErrInvalidArgument,
		Zero: map[string]any{
			"Acquirer": new(locktable.Acquirer), "Held": new(locktable.Held), "Owner": new(locktable.Owner),
			"Table": new(locktable.Table), "Watch": new(locktable.Watch),
		},
		NoClient: map[string]any{"New": locktable.New(nil, "/l", nil)},
	}.Check(t)
}

func TestInvalidArgumentsAreRefusedBeforeARequest(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		c := w.Client()
		one, two := w.join(c, nil), w.join(c, nil)
		held, others := w.try(one, "a"), w.try(two, "b")
		w.Settle()
		table := func(path string, o *locktable.Options) error {
			_, err := locktable.New(c, path, o).Join(w.Ctx)
			return err
		}
		try := func(names ...string) error { _, err := one.TryLock(w.Ctx, names...); return err }
		wait := func(names ...string) error { _, err := one.Lock(w.Ctx, names...); return err }
		a := one.Acquirer(func([]*locktable.Held) {}, func([]string) {})
		own := func(hold *session.Hold) error { _, err := locktable.New(c, dir, nil).OwnedBy(hold); return err }
		hold, err := w.Session(c).Hold(w.Ctx, held[0].Owner().Path(), nil)
		require.NoError(w, err)
		defer hold.End(nil)
		_, _, noKeep := one.Remove(w.Ctx, nil)
		_, _, twice := one.Observe(w.Ctx, "a", "a")
		var none context.Context
		elsewhere := func() error {
			_, err := locktable.New(c, "/elsewhere", nil).OwnedBy(hold)
			return err
		}
		w.Settle()
		w.ResetStats()
		for text, err := range map[string]error{
			"relative":                table("x", nil),
			"the path is the root":    table("/", nil),
			"Owners":                  table("/x", &locktable.Options{Owners: "y"}),
			"must be another folder":  table("/x", &locktable.Options{Owners: "/x"}),
			`""`:                      try(""),
			`"a/b"`:                   try("x", "a/b"),
			`".."`:                    wait(".."),
			"twice":                   try("x", "y", "x"),
			`"y" is given twice`:      wait("y", "y"),
			`the name "a" is given`:   twice,
			"cannot be the name of a": a.Want("x", "\x00"),
			"name of a lock":          a.Drop("/"),
			"nil or zero":             one.Unlock(w.Ctx, held[0], nil),
			"or zero":                 one.Unlock(w.Ctx, new(locktable.Held)),
			"another owner":           one.Unlock(w.Ctx, held[0], others[0]),
			`lock "a" is given twice`: one.Unlock(w.Ctx, held[0], held[0]),
			"the hold is nil":         own(nil),
			"not the znode of an":     elsewhere(),
			"which locks to keep":     noKeep,
			"context is nil":          held[0].Unlock(none),
		} {
			require.ErrorIs(w, err, locktable.ErrInvalidArgument, text)
			require.ErrorContains(w, err, text)
			require.True(w, strings.HasPrefix(err.Error(), "locktable: "), err)
		}
		require.Zero(w, w.Requests(c))
		require.NoError(w, held[0].Context().Err())
		require.Panics(w, func() { one.Acquirer(nil, nil) })
		require.NoError(w, one.Release(w.Ctx))
		require.NoError(w, two.Release(w.Ctx))
	})
}
