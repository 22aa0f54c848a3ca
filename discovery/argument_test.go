package discovery_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zkrecipes/zkrecipes/discovery"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/zktest"
)

func TestWrongInstancesAreNamedAndNothingIsSent(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		c := w.Client()
		r := registry(c)
		g := w.register(r, instance("one"))
		w.Settle()
		w.ResetStats()
		for field, edit := range map[string]func(*discovery.Instance){
			"Service is empty": func(i *discovery.Instance) { i.Service = "" },
			"ID is empty":      func(i *discovery.Instance) { i.ID = "" },
			"ID \"a/b\"":       func(i *discovery.Instance) { i.ID = "a/b" },
			"ID: ":             func(i *discovery.Instance) { i.ID = ".." },
			"Service \"/\"":    func(i *discovery.Instance) { i.Service = "/" },
			"Type":             func(i *discovery.Instance) { i.Type = 9 },
			"Port":             func(i *discovery.Instance) { i.Port = -1 },
			"SSLPort":          func(i *discovery.Instance) { i.SSLPort = 65536 },
			"Payload":          func(i *discovery.Instance) { i.Payload = json.RawMessage("{") },
			"Address":          func(i *discovery.Instance) { i.Address = "\xff" },
			"URISpec":          func(i *discovery.Instance) { i.URISpec = "{" },
			"URISpec \"":       func(i *discovery.Instance) { i.URISpec = "http://\xff" },
		} {
			i := instance("other")
			edit(&i)
			_, err := r.Register(w.Ctx, i)
			require.ErrorIs(w, err, discovery.ErrInvalidArgument, field)
			require.ErrorContains(w, err, field)
			require.ErrorIs(w, g.Update(w.Ctx, i), discovery.ErrInvalidArgument, field)
			require.ErrorIs(w, g.Move(w.Ctx, i.Service, i), discovery.ErrInvalidArgument, field)
		}
		for _, i := range []discovery.Instance{instance("two"), {Service: "api", ID: "one"}, typed("one", discovery.Static)} {
			require.ErrorIs(w, g.Update(w.Ctx, i), discovery.ErrInvalidArgument, "that is a Move")
		}
		_, err := r.Instances(w.Ctx, "a/b")
		require.ErrorIs(w, err, discovery.ErrInvalidArgument)
		_, err = r.Instance(w.Ctx, service, "")
		require.ErrorIs(w, err, discovery.ErrInvalidArgument)
		for _, err := range r.Watch(w.Ctx, "") {
			require.ErrorIs(w, err, discovery.ErrInvalidArgument)
		}
		require.Zero(w, w.Requests(c))
		w.unregister(g)
	})
}

// TestInvalidURISpecIsReportedOnce, with its field and the reason.
func TestInvalidURISpecIsReportedOnce(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		r := registry(w.Client())
		for spec, says := range map[string]string{
			"{":        `"{" has a { that begins no variable`,
			"a}b":      `"a}b" has a } without {`,
			"x\xff{a}": `"x\xff{a}" is not UTF-8`,
		} {
			i := instance("one")
			i.URISpec = spec
			_, err := r.Register(w.Ctx, i)
			require.ErrorIs(w, err, discovery.ErrInvalidArgument, spec)
			require.ErrorContains(w, err, says)
			for _, once := range []string{"URISpec", discovery.ErrInvalidArgument.Error(), "discovery: ", says} {
				require.Equal(w, 1, strings.Count(err.Error(), once), err)
			}
		}
	})
}

func TestWrongPathsAndOptionsAreNamedByEveryMethod(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		c := w.Client()
		w.ResetStats()
		for why, r := range map[string]*discovery.Registry{
			"path":   discovery.NewRegistry(c, "services", nil),
			"client": discovery.NewRegistry(nil, base, nil),
			"Layout": discovery.NewRegistry(c, base, &discovery.Options{Layout: 7}),
		} {
			_, err := r.Register(w.Ctx, instance("one"))
			require.ErrorIs(w, err, discovery.ErrInvalidArgument)
			require.ErrorContains(w, err, why)
			_, err = r.Services(w.Ctx)
			require.ErrorIs(w, err, discovery.ErrInvalidArgument)
			_, err = r.Instances(w.Ctx, service)
			require.ErrorIs(w, err, discovery.ErrInvalidArgument)
			_, err = r.Instance(w.Ctx, service, "one")
			require.ErrorIs(w, err, discovery.ErrInvalidArgument)
			_, err = r.View(service, nil)
			require.ErrorIs(w, err, discovery.ErrInvalidArgument)
			for _, err := range r.Watch(w.Ctx, service) {
				require.ErrorIs(w, err, discovery.ErrInvalidArgument)
			}
		}
		for why, g := range map[string]*discovery.Group{
			"path":   discovery.NewGroup(c, "/members/", nil),
			"client": discovery.NewGroup(nil, "/members", nil),
			"Layout": discovery.NewGroup(c, "/members", &discovery.Options{Layout: -1}),
		} {
			_, err := g.Join(w.Ctx, "one", nil)
			require.ErrorIs(w, err, discovery.ErrInvalidArgument)
			require.ErrorContains(w, err, why)
			_, err = g.Members(w.Ctx)
			require.ErrorIs(w, err, discovery.ErrInvalidArgument)
			for _, err := range g.Watch(w.Ctx) {
				require.ErrorIs(w, err, discovery.ErrInvalidArgument)
			}
		}
		kazoo := discovery.NewGroup(c, "/members", &discovery.Options{Layout: discovery.Kazoo})
		_, err := kazoo.Join(w.Ctx, "one", []byte("data"))
		require.ErrorIs(w, err, discovery.ErrInvalidArgument)
		_, err = kazoo.Join(w.Ctx, "", nil)
		require.ErrorIs(w, err, discovery.ErrInvalidArgument)
		_, err = discovery.NewGroup(c, "/members", nil).Join(w.Ctx, "a/b", nil)
		require.ErrorIs(w, err, discovery.ErrInvalidArgument)
		require.Zero(w, w.Requests(c))
	})
}

func TestContextIsLookedAtBeforeAnythingIsSent(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		c := w.Client()
		r, group := registry(c), discovery.NewGroup(c, "/members", nil)
		g := w.register(r, instance("one"))
		m, err := group.Join(w.Ctx, "one", nil)
		require.NoError(w, err)
		w.Settle()
		w.ResetStats()
		ctx, cancel := context.WithCancel(w.Ctx)
		cancel()
		_, err = r.Register(ctx, instance("two"))
		require.ErrorIs(w, err, context.Canceled)
		_, err = group.Join(ctx, "two", nil)
		require.ErrorIs(w, err, context.Canceled)
		_, err = r.Services(ctx)
		require.ErrorIs(w, err, context.Canceled)
		_, err = r.Instances(ctx, service)
		require.ErrorIs(w, err, context.Canceled)
		_, err = r.Instance(ctx, service, "one")
		require.ErrorIs(w, err, context.Canceled)
		_, err = group.Members(ctx)
		require.ErrorIs(w, err, context.Canceled)
		require.ErrorIs(w, g.Update(ctx, g.Instance()), context.Canceled)
		require.ErrorIs(w, g.Move(ctx, "api", g.Instance()), context.Canceled)
		require.ErrorIs(w, m.Update(ctx, nil), context.Canceled)
		for _, err := range g.States(ctx) {
			require.ErrorIs(w, err, context.Canceled)
		}
		for _, err := range r.Watch(ctx, service) {
			require.ErrorIs(w, err, context.Canceled)
		}
		w.Settle()
		require.Zero(w, w.Requests(c))
		// A confirmation that arrives before the calls look at ctx would be reported.
		w.Server.Delay(zktest.Link{}, zktest.ToClient, time.Millisecond)
		require.ErrorIs(w, g.Unregister(ctx), context.Canceled)
		require.ErrorIs(w, m.Leave(ctx), context.Canceled)
		w.Pass(time.Second)
		require.Empty(w, w.Children(dir), "it goes on in the background")
		require.Empty(w, w.Children("/members"))
	})
}

// A refusal by the server is told, leaves what was before, and nothing is tried
// over and over.
func TestRefusedUpdateLeavesWhatWasBefore(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		c := w.Client()
		g := w.register(registry(c), instance("one"))
		big := instance("one")
		big.Payload = json.RawMessage(`"` + string(make2MiB()) + `"`)
		require.ErrorIs(w, g.Update(w.Ctx, big), session.ErrTooLarge)
		require.ErrorIs(w, g.Move(w.Ctx, "api", big), session.ErrTooLarge)
		w.Settle() // it is registered under another context
		require.Nil(w, g.Instance().Payload)
		require.True(w, g.State().Registered)
		require.NoError(w, g.Context().Err())
		w.Expire(c)
		w.Pass(10 * time.Second)
		s := w.stateIs(g, registered)
		require.Equal(w, dir+"/one", s.Path)
		big.ID = "two"
		_, err := registry(c).Register(w.Ctx, big)
		require.ErrorIs(w, err, session.ErrTooLarge)
		w.unregister(g)
	})
}

// The former registration waits for nothing either, if the refusal comes after the
// loss of the session.
func TestRefusedUpdateGivesWayAtOnce(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		c := w.Client()
		g := w.register(registry(c), instance("one"))
		w.Server.BlackHole(zktest.Link{Client: "c1"}, zktest.Both)
		w.Expire(c)
		w.Server.CutAll()
		big := instance("one")
		big.Payload = json.RawMessage(`"` + string(make2MiB()) + `"`)
		refused := make(chan error, 1)
		// Waited for below; ends with the update.
		go func() { refused <- g.Update(w.Ctx, big) }()
		w.Settle()
		w.Server.Heal()
		require.ErrorIs(w, <-refused, session.ErrTooLarge)
		w.Settle()
		require.True(w, g.State().Registered)
		require.Nil(w, g.Instance().Payload)
		w.unregister(g)
	})
}

func make2MiB() []byte {
	out := make([]byte, 2<<20)
	for n := range out {
		out[n] = 'x'
	}
	return out
}
