package discovery_test

import (
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/discovery"
	"github.com/zkrecipes/zkrecipes/internal/world"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// CH60: foreign data is listed with an error, and affects no other instance,
// when the service is read and when it is watched.
func TestForeignDataDisturbsNoOther_CH60(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		c := w.Client()
		r := registry(c)
		g := w.register(r, instance("one"))
		for name, data := range map[string]string{
			"empty": "", "text": "10.0.0.1:80", "broken": `{"name":"web",`, "typed": `{"name":"web","id":7}`,
			"noid": `{"name":"web"}`, "java": `{"name":"web","id":"java","address":null,"port":99,"sslPort":null,"payload":null,"registrationTimeUTC":0,"serviceType":"PERMANENT","uriSpec":null,"enabled":true}`,
		} {
			require.NoError(w, w.Server.Create(dir+"/"+name, []byte(data)))
		}
		s := w.Session(c)
		_, err := s.Create(w.Ctx, dir+"/secret", []byte("{}"), session.Ephemeral, &session.CreateOptions{ACL: session.WorldACL(zk.PermDelete | zk.PermAdmin)})
		require.NoError(w, err)

		check := func(list []discovery.Instance, err error) {
			require.NoError(w, err)
			require.Len(w, list, 8)
			for _, i := range list {
				require.Equal(w, service, i.Service)
				require.NotEmpty(w, i.ID)
				require.Equal(w, dir+"/"+i.ID, i.Path)
				switch i.ID {
				case "one":
					require.NoError(w, i.Err)
				case "java":
					require.NoError(w, i.Err)
					require.Equal(w, 99, i.Port)
					require.Equal(w, discovery.Permanent, i.Type)
				case "secret":
					require.ErrorIs(w, i.Err, session.ErrNoAuth)
				default:
					require.ErrorIs(w, i.Err, discovery.ErrMalformed, i.ID)
					require.NotZero(w, i.Token)
				}
			}
		}
		check(r.Instances(w.Ctx, service))
		for list, err := range r.Watch(w.Ctx, service) {
			check(list, err)
			break
		}
		bad, err := r.Instance(w.Ctx, service, "text")
		require.NoError(w, err)
		require.ErrorIs(w, bad.Err, discovery.ErrMalformed)
		_, err = r.Instance(w.Ctx, service, "secret")
		require.ErrorIs(w, err, session.ErrNoAuth)
		w.unregister(g)
	})
}

// The registry accepts parents with empty data, such as containers and znodes of
// other programs (CH60), and a service that is not a container.
func TestServiceThatOthersMadeIsUsedAsItIs_CH60(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		require.NoError(w, w.Server.Create(base, []byte("ours")))
		require.NoError(w, w.Server.Create(dir, nil))
		r := registry(w.Client())
		g := w.register(r, instance("one"))
		require.Equal(w, []byte("ours"), w.node(base).Data)
		require.False(w, w.node(dir).Container)
		require.Equal(w, []string{"one"}, w.ids(r, service))
		w.unregister(g)
	})
}

// A parent that may have no children, or none of ours, refuses at once.
func TestRefusedRegistrationSaysWhy(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		c := w.Client()
		s := w.Session(c)
		_, err := s.Create(w.Ctx, "/short", nil, session.Ephemeral, nil)
		require.NoError(w, err)
		_, err = discovery.NewRegistry(c, "/short", nil).Register(w.Ctx, instance("one"))
		require.ErrorIs(w, err, session.ErrNoChildrenForEphemerals)
		_, err = s.Create(w.Ctx, "/closed", nil, session.Persistent, &session.CreateOptions{ACL: session.WorldACL(zk.PermRead)})
		require.NoError(w, err)
		_, err = discovery.NewGroup(c, "/closed", nil).Join(w.Ctx, "one", nil)
		require.ErrorIs(w, err, session.ErrNoAuth)
		_, err = discovery.NewRegistry(c, base, &discovery.Options{ACL: []session.ACL{{Scheme: "nonsense"}}}).Register(w.Ctx, instance("one"))
		require.ErrorIs(w, err, session.ErrInvalidACL)
	})
}

// A name whose node outlives sessions is a conflict for an instance that does not.
func TestPersistentNodeUnderTheNameIsAConflict(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		r := registry(w.Client())
		static := w.register(r, typed("one", discovery.Static))
		_, err := r.Register(w.Ctx, typed("one", discovery.Dynamic))
		require.ErrorIs(w, err, discovery.ErrConflict)
		w.unregister(static)
		dynamic := w.register(r, typed("one", discovery.Dynamic))
		_, err = r.Register(w.Ctx, typed("one", discovery.Static))
		require.ErrorIs(w, err, discovery.ErrConflict)
		w.unregister(dynamic)
	})
}

// A client that may create and delete in a directory, and not read it, is registered
// once, whatever answers get lost, and leaves nothing behind.
func TestDirectoryThatMayOnlyBeWrittenIsNoObstacle(t *testing.T) {
	for _, typ := range []discovery.Type{discovery.Dynamic, discovery.Static} {
		for _, fault := range []zktest.Fault{zktest.DropReplyCut, zktest.CutBefore} {
			inWorld(t, nil, func(w *World) {
				c := w.Client()
				require.NoError(w, w.Server.Create(base, nil))
				_, err := w.Session(c).Create(w.Ctx, dir, nil, session.Persistent, &session.CreateOptions{ACL: session.WorldACL(zk.PermCreate | zk.PermDelete)})
				require.NoError(w, err)
				w.Server.OnRequest(w.first(1, "create", zktest.Action{Do: fault}))
				g := w.register(registry(c), typed("one", typ))
				require.Equal(w, []string{"one"}, w.Children(dir))
				w.Server.OnRequest(w.first(1, "delete", zktest.Action{Do: fault}))
				w.unregister(g)
				if !world.Has(world.Resumes) {
					w.Pass(time.Minute) // what a lost session has left cannot be found
				}
				require.Empty(w, w.Children(dir))
			})
		}
	}
}
