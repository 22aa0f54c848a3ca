package grpcresolver_test

import (
	"context"
	"net"
	"strconv"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/discovery"
	"github.com/zkrecipes/zkrecipes/discovery/grpcresolver"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/zktest"
	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/resolver"
	"google.golang.org/grpc/status"
)

// TestMain fails if any test leaves a goroutine behind.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const service = "health"

// world is a ZooKeeper server, a registry, and gRPC servers.
type world struct {
	*testing.T
	zk       *zktest.Server
	client   *session.Client
	registry *discovery.Registry
}

func newWorld(t *testing.T) *world {
	t.Helper()
	srv, err := zktest.Start(nil)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, srv.Close()) })
	w := &world{T: t, zk: srv}
	w.client = w.connect()
	w.registry = discovery.NewRegistry(w.client, "/services", nil)
	return w
}

func (w *world) connect() *session.Client {
	w.Helper()
	c, err := session.Connect(w.Context(), w.zk.Addr(), nil)
	require.NoError(w, err)
	w.Cleanup(func() { _ = c.Close(context.Background()) })
	return c
}

// serve starts a gRPC server, and returns what is to be registered.
func (w *world) serve(id string) discovery.Instance {
	w.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(w, err)
	s := grpc.NewServer()
	healthpb.RegisterHealthServer(s, health.NewServer())
	over := make(chan error, 1)
	// Waited for by the clean-up; ends with Stop.
	go func() { over <- s.Serve(l) }()
	w.Cleanup(func() { s.Stop(); require.NoError(w, <-over) })
	return discovery.Instance{Service: service, ID: id, Address: "127.0.0.1", Port: l.Addr().(*net.TCPAddr).Port}
}

func (w *world) register(r *discovery.Registry, i discovery.Instance) *discovery.Registration {
	w.Helper()
	g, err := r.Register(w.Context(), i)
	require.NoError(w, err)
	return g
}

// dial makes a connection that goes round all addresses.
func (w *world) dial(target string, o *grpcresolver.Options) *grpc.ClientConn {
	w.Helper()
	return w.dialWith(target, grpcresolver.NewBuilder(w.Context(), w.registry, o))
}

func (w *world) dialWith(target string, b resolver.Builder) *grpc.ClientConn {
	w.Helper()
	conn, err := grpc.NewClient(target,
		grpc.WithResolvers(b),
		grpc.WithDefaultServiceConfig(`{"loadBalancingConfig":[{"round_robin":{}}]}`),
		grpc.WithTransportCredentials(insecure.NewCredentials()))
	require.NoError(w, err)
	w.Cleanup(func() { _ = conn.Close() })
	return conn
}

// call calls once, and returns the port of the server that answered.
func (w *world) call(conn *grpc.ClientConn) (int, error) {
	ctx, cancel := context.WithTimeout(w.Context(), 30*time.Second)
	defer cancel()
	var p peer.Peer
	_, err := healthpb.NewHealthClient(conn).Check(ctx, &healthpb.HealthCheckRequest{}, grpc.Peer(&p))
	if err != nil {
		return 0, err
	}
	_, port, err := net.SplitHostPort(p.Addr.String())
	require.NoError(w, err)
	n, err := strconv.Atoi(port)
	require.NoError(w, err)
	return n, nil
}

// answers waits until exactly these instances answer.
func (w *world) answers(conn *grpc.ClientConn, want ...discovery.Instance) {
	w.Helper()
	ports := map[int]bool{}
	for _, i := range want {
		ports[i.Port] = true
	}
	require.Eventually(w, func() bool {
		seen := map[int]bool{}
		for range 4 * len(want) {
			port, err := w.call(conn)
			if err != nil || !ports[port] {
				return false
			}
			seen[port] = true
		}
		return len(seen) == len(want)
	}, time.Minute, 10*time.Millisecond)
}

// D8, D9: a client's calls go to the registered instances, as instances come and go.
func TestCallsGoToRegisteredInstances_D8_D9(t *testing.T) {
	w := newWorld(t)
	a, b := w.serve("a"), w.serve("b")
	ga := w.register(w.registry, a)
	conn := w.dial("zk:///"+service, nil)
	w.answers(conn, a)
	gb := w.register(w.registry, b)
	w.answers(conn, a, b)
	off := b
	off.Disabled = true
	require.NoError(t, gb.Update(t.Context(), off))
	w.answers(conn, a)
	require.NoError(t, gb.Update(t.Context(), b))
	w.answers(conn, a, b)
	require.NoError(t, ga.Unregister(t.Context()))
	w.answers(conn, b)
}

// A process that dies is replaced by the next as soon as the servers notice.
func TestFailover(t *testing.T) {
	w := newWorld(t)
	a, b := w.serve("a"), w.serve("b")
	dies := w.connect()
	w.register(discovery.NewRegistry(dies, "/services", nil), a)
	conn := w.dial("zk:///"+service, nil)
	w.answers(conn, a)
	require.NoError(t, dies.Close(t.Context()))
	require.Eventually(t, func() bool { _, err := w.call(conn); return status.Code(err) == codes.Unavailable }, time.Minute, 10*time.Millisecond)
	w.register(w.registry, b)
	w.answers(conn, b)
}

// While ZooKeeper is away calls go where they went.
func TestCallsGoOnWhileZooKeeperIsAway(t *testing.T) {
	w := newWorld(t)
	a := w.serve("a")
	w.register(w.registry, a)
	conn := w.dial("zk:///"+service, nil)
	w.answers(conn, a)
	require.NoError(t, w.zk.Stop(1))
	for range 20 {
		port, err := w.call(conn)
		require.NoError(t, err)
		require.Equal(t, a.Port, port)
	}
	require.NoError(t, w.zk.Restart(1))
}

func TestFilterAndAddressAreTheUsers(t *testing.T) {
	w := newWorld(t)
	a, b := w.serve("a"), w.serve("b")
	port := b.Port
	b.Address, b.Port, b.SSLPort, b.Payload = "no such host", 0, 0, []byte(strconv.Itoa(port))
	w.register(w.registry, a)
	w.register(w.registry, b)
	conn := w.dial("zk:///"+service, &grpcresolver.Options{
		Filter:  func(i discovery.Instance) bool { return i.ID == "b" },
		Address: func(i discovery.Instance) string { return "127.0.0.1:" + string(i.Payload) },
	})
	b.Port = port
	w.answers(conn, b)
}

// The default address is the port, or the one for TLS; an instance without either, or
// without a host, has no address. Children that are no instances are left out.
func TestInstancesWithoutAnAddressAreLeftOut(t *testing.T) {
	w := newWorld(t)
	a := w.serve("a")
	a.Port, a.SSLPort = 0, a.Port
	w.register(w.registry, a)
	w.register(w.registry, discovery.Instance{Service: service, ID: "nowhere", Port: 1})
	w.register(w.registry, discovery.Instance{Service: service, ID: "portless", Address: "127.0.0.1"})
	require.NoError(t, w.zk.Create("/services/"+service+"/bad", []byte("?")))
	a.Port = a.SSLPort
	w.answers(w.dial("zk:///"+service, nil), a)
}

// A refused read is retried.
func TestServiceThatMayNotBeReadForAWhileIsReadLater(t *testing.T) {
	w := newWorld(t)
	a := w.serve("a")
	w.register(w.registry, a)
	s, err := w.client.Session(t.Context())
	require.NoError(t, err)
	_, err = s.SetACL(t.Context(), "/services/"+service, session.WorldACL(zk.PermAdmin), -1)
	require.NoError(t, err)
	conn := w.dial("zk:///"+service, nil)
	_, err = w.call(conn)
	require.ErrorContains(t, err, session.ErrNoAuth.Error())
	_, err = s.SetACL(t.Context(), "/services/"+service, session.WorldACL(zk.PermAll), -1)
	require.NoError(t, err)
	w.answers(conn, a)
}

// The addresses outlive the builder's context; a caller without an address gets
// an error then.
func TestCallsWithoutAnAddressFailOnceTheContextHasEnded(t *testing.T) {
	w := newWorld(t)
	a := w.serve("a")
	w.register(w.registry, a)
	ctx, cancel := context.WithCancel(t.Context())
	builder := grpcresolver.NewBuilder(ctx, w.registry, nil)
	before := w.dialWith("zk:///"+service, builder)
	w.answers(before, a)
	cancel()
	_, err := w.call(w.dialWith("zk:///"+service, builder))
	require.Equal(t, codes.Unavailable, status.Code(err))
	require.ErrorContains(t, err, context.Canceled.Error())
	w.answers(before, a)
}

func TestCallsFailWithTheReason(t *testing.T) {
	w := newWorld(t)
	_, err := w.call(w.dial("zk:///", nil))
	require.ErrorContains(t, err, grpcresolver.ErrTarget.Error())
	_, err = w.call(w.dialWith("zk:///"+service, grpcresolver.NewBuilder(t.Context(), nil, nil)))
	require.ErrorContains(t, err, discovery.ErrInvalidArgument.Error())
	_, err = w.call(w.dial("zk:///a/b", nil))
	require.ErrorContains(t, err, discovery.ErrInvalidArgument.Error())
	_, err = w.call(w.dial("zk:///"+service, nil))
	require.Equal(t, codes.Unavailable, status.Code(err), "no instance is registered")
	require.NoError(t, w.client.Close(t.Context()))
	_, err = w.call(w.dial("zk:///"+service, nil))
	require.ErrorContains(t, err, session.ErrClosed.Error())
}
