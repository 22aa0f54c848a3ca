package node_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/internal/world"
	"github.com/zkrecipes/zkrecipes/node"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/zktest/apache"
)

// On Apache's server, znodes of every mode are created, written, created again after a
// deletion, and released; TTL znodes are refreshed while they are kept, and expire later.
// The machine may be slow: a znode that is to stay has a TTL of minutes.
func TestKeptZnodesOnApache(t *testing.T) {
	t.Parallel()
	cluster := apache.Require(t, &apache.Options{Heap: 96, ContainerInterval: 500 * time.Millisecond})
	root := "/kept-" + session.NewID()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	c := world.Connect(t, cluster.Connect(), session.Options{Timeout: 30 * time.Second})
	s, err := c.Session(ctx)
	require.NoError(t, err)
	require.NoError(t, s.EnsurePath(ctx, root, session.Persistent, nil))
	withTTL := true
	for _, mode := range modes {
		o := &node.Options{}
		if expires(mode) {
			o.TTL = 10 * time.Minute
		}
		k, err := node.New(c, root+"/"+name(mode), mode, o).Keep(ctx, []byte("a"))
		if cluster.Mode() == apache.Given && expires(mode) && errors.Is(err, session.ErrUnsupported) {
			t.Logf("%s: %v", name(mode), err) // the servers' settings are not the test's
			withTTL = false
			continue
		}
		require.NoError(t, err, name(mode))
		require.NoError(t, k.SetData(ctx, []byte("b")))
		_, err = s.Set(ctx, k.Path(), []byte("foreign"), -1)
		require.NoError(t, err)
		require.NoError(t, k.SetData(ctx, []byte("b")))
		data, stat, err := s.Get(ctx, k.Path())
		require.NoError(t, err)
		require.Equal(t, "b", string(data))
		require.Equal(t, k.Token(), stat.Czxid)
		was := k.Token()
		_, err = s.DeleteAll(ctx, k.Path(), nil)
		require.NoError(t, err)
		state, err := await(ctx, k.States, func(s node.State) bool { return s.Exists && s.Token > was })
		require.NoError(t, err)
		data, stat, err = s.Get(ctx, state.Path)
		require.NoError(t, err)
		require.Equal(t, "b", string(data))
		require.Equal(t, state.Token, stat.Czxid)
		require.NoError(t, k.Release(ctx))
		_, exists, err := s.Exists(ctx, state.Path)
		require.NoError(t, err)
		require.Equal(t, expires(mode), exists, name(mode))
		if exists {
			_, err := s.DeleteAll(ctx, state.Path, nil)
			require.NoError(t, err)
		}
	}
	if !withTTL {
		return
	}
	for _, mode := range expiring {
		k, err := node.New(c, root+"/"+name(mode), mode, &node.Options{TTL: 2 * time.Second}).Keep(ctx, nil)
		require.NoError(t, err)
		for first := int64(0); ; {
			// Between an expiry, if the machine was slow, and the next refresh there is none.
			stat, exists, err := s.Exists(ctx, k.Path()+"/touch")
			require.NoError(t, err)
			if exists && first > 0 && stat.Mzxid > first {
				break
			}
			if exists && first == 0 {
				first = stat.Mzxid
			}
			world.SleepContext(ctx, 100*time.Millisecond)
		}
		require.NoError(t, k.Release(ctx))
	}
	for {
		names, _, err := s.Children(ctx, root)
		require.NoError(t, err, "the znodes do not expire")
		if len(names) == 0 {
			break
		}
		world.SleepContext(ctx, 100*time.Millisecond)
	}
}

// Apache's servers refuse TTL znodes by default.
func TestOnApacheServersWithoutTTLZnodesAreNamed(t *testing.T) {
	t.Parallel()
	cluster := apache.Require(t, &apache.Options{Heap: 96, NoExtendedTypes: true})
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	c := world.Connect(t, cluster.Connect(), session.Options{})
	_, err := node.New(c, "/kept-"+session.NewID(), session.PersistentTTL, &node.Options{TTL: time.Minute}).Keep(ctx, nil)
	require.ErrorIs(t, err, session.ErrUnsupported)
	require.ErrorContains(t, err, "-Dzookeeper.extendedTypesEnabled=true")
}
