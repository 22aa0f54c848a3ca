package discovery_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/discovery"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// N13: members are ephemeral children, in the order of their joins; a member that
// dies disappears.
func TestMembersAreTheLiveClientsThatJoined_N13(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		ca, cb := w.Client(), w.Client()
		a, b := discovery.NewGroup(ca, "/members", nil), discovery.NewGroup(cb, "/members", nil)
		list, err := a.Members(w.Ctx)
		require.NoError(w, err)
		require.Empty(w, list)
		z, err := a.Join(w.Ctx, "z", []byte("1"))
		require.NoError(w, err)
		x, err := b.Join(w.Ctx, "x", nil)
		require.NoError(w, err)
		require.Equal(w, "x", x.ID())
		list, err = a.Members(w.Ctx)
		require.NoError(w, err)
		require.Len(w, list, 2)
		require.Equal(w, discovery.Member{
			ID: "z", Data: []byte("1"), Path: "/members/z", Token: z.State().Token, Session: w.ID(ca), Since: list[0].Since,
		}, list[0])
		require.Equal(w, "x", list[1].ID)
		require.Empty(w, list[1].Data)
		require.NoError(w, z.Update(w.Ctx, []byte("2")))
		require.Equal(w, []byte("2"), w.node("/members/z").Data)
		_, err = b.Join(w.Ctx, "z", nil)
		require.ErrorIs(w, err, discovery.ErrConflict)
		require.NoError(w, cb.Close(w.Ctx))
		require.Equal(w, []string{"z"}, w.Children("/members"))
		require.ErrorIs(w, w.stateIs(x, unregistered).Err, session.ErrClosed)
		ctx := z.Context()
		require.NoError(w, ctx.Err())
		require.NoError(w, z.Leave(w.Ctx))
		require.Error(w, ctx.Err())
		require.ErrorIs(w, z.Update(w.Ctx, nil), discovery.ErrUnregistered)
		require.Empty(w, w.Children("/members"))
	})
}

// CH51, CH58, CH53: a member stays one over lost sessions, with its newest data.
func TestMemberComesBackInTheNextSession_CH51_CH53_CH58(t *testing.T) {
	for name, layout := range map[string]discovery.Layout{"Curator": discovery.Curator, "Kazoo": discovery.Kazoo, "KazooShallow": discovery.KazooShallow} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, nil, func(w *World) {
				c := w.Client()
				g := discovery.NewGroup(c, "/members", &discovery.Options{Layout: layout})
				m, err := g.Join(w.Ctx, "one", nil)
				require.NoError(w, err)
				first := w.Children("/members")
				for range 3 {
					if layout == discovery.Curator {
						require.NoError(w, m.Update(w.Ctx, []byte("new")))
					} else {
						require.ErrorIs(w, m.Update(w.Ctx, []byte("new")), discovery.ErrInvalidArgument)
						require.NoError(w, m.Update(w.Ctx, nil))
					}
					w.Expire(c)
					w.Pass(10 * time.Second)
					w.stateIs(m, registered)
					require.Equal(w, first, w.Children("/members"), "names stay")
				}
				list, err := g.Members(w.Ctx)
				require.NoError(w, err)
				require.Len(w, list, 1)
				require.Equal(w, "one", list[0].ID)
				if layout == discovery.Curator {
					require.Equal(w, []byte("new"), list[0].Data)
				}
				require.NoError(w, m.Leave(w.Ctx))
				require.Empty(w, w.Children("/members"))
			})
		})
	}
}

// Kazoo's members and ours see each other; children that are not members are left
// out.
func TestKazoosMembersAreRead(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		c := w.Client()
		for _, path := range []string{"/party", "/shallow"} {
			require.NoError(w, w.Server.Create(path, nil))
		}
		const hex = "0123456789abcdef0123456789abcdef"
		require.NoError(w, w.Server.Create("/party/"+hex+"__party__", []byte("one")))
		require.NoError(w, w.Server.Create("/party/config", []byte("two")))
		require.NoError(w, w.Server.Create("/shallow/"+hex+"-a-b", nil))
		require.NoError(w, w.Server.Create("/shallow/config", nil))
		for path, layout := range map[string]discovery.Layout{"/party": discovery.Kazoo, "/shallow": discovery.KazooShallow} {
			g := discovery.NewGroup(c, path, &discovery.Options{Layout: layout})
			list, err := g.Members(w.Ctx)
			require.NoError(w, err)
			require.Len(w, list, 1)
			require.Equal(w, map[string]string{"/party": "one", "/shallow": "a-b"}[path], list[0].ID)
			require.Zero(w, list[0].Session)
			// Names are unique: several may have one id.
			a, err := g.Join(w.Ctx, "same", nil)
			require.NoError(w, err)
			b, err := g.Join(w.Ctx, "same", nil)
			require.NoError(w, err)
			list, err = g.Members(w.Ctx)
			require.NoError(w, err)
			require.Len(w, list, 3)
			require.NoError(w, a.Leave(w.Ctx))
			require.NoError(w, b.Leave(w.Ctx))
		}
	})
}

// Two memberships of one process whose answers are lost at the same time are told
// apart, though their data is the same: by which took the node first.
func TestTwinMembersOfOneProcessConflict_CL19(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		g := discovery.NewGroup(w.Client(), "/members", nil)
		first, err := g.Join(w.Ctx, "one", nil)
		require.NoError(w, err)
		w.Server.OnRequest(w.first(1, "create", zktest.Action{Do: zktest.DropReplyCut}))
		_, err = g.Join(w.Ctx, "one", nil)
		require.ErrorIs(w, err, discovery.ErrConflict)
		w.Settle()
		require.True(w, first.State().Registered)
		require.Equal(w, []string{"one"}, w.Children("/members"))
		require.NoError(w, first.Leave(w.Ctx))
	})
}
