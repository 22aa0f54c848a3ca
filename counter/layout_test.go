package counter_test

import (
	"encoding/hex"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/counter"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// golden is the tree of znodes left by the operations.
const golden = "testdata/layout.golden"

// describe is a node in one line.
func describe(n zktest.Node) string {
	kind := "persistent"
	switch {
	case n.EphemeralOwner != 0:
		kind = "ephemeral"
	case n.Container:
		kind = "container"
	case n.TTL:
		kind = "TTL"
	}
	uuid := regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}`)
	line := uuid.ReplaceAllString(n.Path, "<uuid>") + " " + kind
	if len(n.Data) > 0 {
		line += " " + hex.EncodeToString(n.Data)
	}
	return line
}

// The layout is read by other programs and must not change by accident.
func TestLayoutIsTheGoldenOne(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		client := w.Client()
		for format, name := range map[counter.Format]string{
			counter.CuratorLong: "curator-long", counter.CuratorInt: "curator-int", counter.KazooText: "kazoo-text",
		} {
			w.add(counter.New(client, "/golden/"+name, &counter.Options{Format: format}), -741)
		}
		require.NoError(w, counter.New(client, "/golden/set", nil).Set(w.Ctx, 1))
		ok, err := counter.New(client, "/golden/swap-that-fails", nil).CompareAndSwap(w.Ctx, 1, 2)
		require.NoError(w, err)
		require.False(w, ok)
		ok, err = counter.New(client, "/golden/swap-that-fails-int", &counter.Options{Format: counter.CuratorInt}).CompareAndSwap(w.Ctx, 1, 2)
		require.NoError(w, err)
		require.False(w, ok, "made all the same, for a SharedCount to read")
		_, err = counter.New(client, "/golden/read", nil).Get(w.Ctx)
		require.NoError(w, err)
		_, err = counter.NewShared(client, "/golden/shared-seed", 7, nil).Get(w.Ctx)
		require.NoError(w, err)
		require.NoError(w, counter.NewShared(client, "/golden/shared-set", 7, nil).Set(w.Ctx, -741))
		_, err = counter.NewSequence(client, "/golden/sequence", &counter.Options{Block: 10}).Next(w.Ctx)
		require.NoError(w, err)
		var got strings.Builder
		for _, n := range w.Server.Dump() {
			fmt.Fprintln(&got, describe(n))
		}
		if *update {
			require.NoError(w, os.WriteFile(golden, []byte(got.String()), 0o644))
		}
		want, err := os.ReadFile(golden)
		require.NoError(w, err)
		require.Equal(w, string(want), got.String())
	})
}

// The znodes that the operations leave go with the session, except for the numbers.
func TestNothingButNumbersOutlivesTheSession(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		client := w.Client()
		w.add(counter.New(client, path, nil), 1)
		require.Len(w, w.Children(path), 1)
		require.NoError(w, client.Close(w.Ctx))
		require.Empty(w, w.Children(path))
		require.EqualValues(w, 1, w.value())
	})
}
