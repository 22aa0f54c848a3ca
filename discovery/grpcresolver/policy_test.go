package grpcresolver_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/discovery/grpcresolver"
	"google.golang.org/grpc"
	"google.golang.org/grpc/balancer"
	"google.golang.org/grpc/balancer/base"
	"google.golang.org/grpc/credentials/insecure"
)

// anyOne is a policy of the user's own, made with gRPC's base.
type anyOne struct{}

func (anyOne) Build(info base.PickerBuildInfo) balancer.Picker {
	for c := range info.ReadySCs {
		return onePicker{c}
	}
	return base.NewErrPicker(balancer.ErrNoSubConnAvailable)
}

type onePicker struct{ c balancer.SubConn }

func (p onePicker) Pick(balancer.PickInfo) (balancer.PickResult, error) {
	return balancer.PickResult{SubConn: p.c}, nil
}

// Policies that are made with gRPC's base know addresses, and no endpoints.
func TestPoliciesThatKnowNoEndpointsHaveTheAddresses(t *testing.T) {
	const name = "any_one_of_zk"
	balancer.Register(base.NewBalancerBuilder(name, anyOne{}, base.Config{}))
	w := newWorld(t)
	a := w.serve("a")
	w.register(w.registry, a)
	conn, err := grpc.NewClient("zk:///"+service,
		grpc.WithResolvers(grpcresolver.NewBuilder(t.Context(), w.registry, nil)),
		grpc.WithDefaultServiceConfig(`{"loadBalancingConfig":[{"`+name+`":{}}]}`),
		grpc.WithTransportCredentials(insecure.NewCredentials()))
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	port, err := w.call(conn)
	require.NoError(t, err)
	require.Equal(t, a.Port, port)
}
