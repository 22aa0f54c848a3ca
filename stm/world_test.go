package stm_test

import (
	"context"
	"errors"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/internal/world"
	"github.com/zkrecipes/zkrecipes/internal/world/history"
	"github.com/zkrecipes/zkrecipes/stm"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// markers is the folder of the markers in most tests.
const markers = "/markers"

// World is a world with znodes for numbers.
type World struct{ *world.World }

// inWorld runs body in a bubble with a server; so may be nil.
func inWorld(t *testing.T, so *zktest.Options, body func(w *World)) {
	t.Helper()
	world.In(t, so, func(w *world.World) { body(&World{w}) })
}

// createZeros creates znodes with the number 0.
func (w *World) createZeros(paths ...string) {
	w.Helper()
	for _, path := range paths {
		require.NoError(w, w.Server.Create(path, []byte("0")))
	}
}

// numberAt returns the number in a znode.
func (w *World) numberAt(path string) int {
	w.Helper()
	n, err := w.Server.Get(path)
	require.NoError(w, err)
	return number(n.Data)
}

func (w *World) nodeExists(path string) bool {
	_, err := w.Server.Get(path)
	return err == nil
}

// number is a znode's data as a number.
func number(data []byte) int {
	n, _ := strconv.Atoi(string(data))
	return n
}

func text(n int) []byte { return []byte(strconv.Itoa(n)) }

// add adds delta to the number at path within a transaction.
func add(tx *stm.Tx, path string, delta int) error {
	node, err := tx.Get(path)
	if err != nil {
		return err
	}
	return tx.Put(path, text(number(node.Data)+delta))
}

// move subtracts n from one number and adds n to the other.
func move(from, to string, n int) func(*stm.Tx) error {
	return func(tx *stm.Tx) error { return errors.Join(add(tx, from, -n), add(tx, to, n)) }
}

// isCommit accepts the requests for applying transactions.
func isCommit(r zktest.Request) bool { return r.Op == "multi" && !r.OnlyChecks }

// apply applies f, and requires success.
func (w *World) apply(t *stm.Transactor, f func(*stm.Tx) error) {
	w.Helper()
	require.NoError(w, t.Apply(w.Ctx, f))
}

type fate = history.Fate

const never, once, maybe = history.Never, history.Once, history.Maybe

// startApply runs Apply concurrently with the test.
func (w *World) startApply(ctx context.Context, t *stm.Transactor, f func(*stm.Tx) error) <-chan error {
	done := make(chan error, 1)
	// The bubble waits for the goroutine; it ends with ctx at the latest.
	go func() { done <- t.Apply(ctx, f) }()
	return done
}
