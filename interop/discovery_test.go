//go:build unix

package interop_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/discovery"
	"github.com/zkrecipes/zkrecipes/discovery/provider"
	"github.com/zkrecipes/zkrecipes/session"
)

// instances are those that are registered by either side, with all that an
// instance can have.
func instances() []discovery.Instance {
	payload := func(text string) json.RawMessage { return json.RawMessage(text) }
	return []discovery.Instance{
		{ID: "plain", Address: "10.0.0.7", Port: 8080},
		{ID: "secure", Address: "host.example", SSLPort: 443, Port: 80, URISpec: "{scheme}://{address}:{ssl-port}/{name}"},
		{ID: "string", Address: "h", Payload: payload(`"zone a \u00e9 \"q\""`)},
		{ID: "number", Address: "h", Payload: payload(`7`)},
		{ID: "yes", Address: "h", Payload: payload(`true`)},
		{ID: "object", Address: "h", Payload: payload(`{"@class":"Registry$Payload","zone":"b","weight":3}`)},
		{ID: "sequential", Address: "h", Type: discovery.DynamicSequential},
		{ID: "static", Address: "h", Type: discovery.Static},
		{ID: "permanent", Address: "h", Type: discovery.Permanent},
		{ID: "disabled", Address: "h", Disabled: true},
	}
}

// toJava are the arguments with which Curator registers an instance.
func toJava(base, as string, i discovery.Instance) ask {
	a := ask{"do": "registry.register", "base": base, "name": i.Service, "as": as, "instance": i.ID, "type": i.Type.String(), "address": i.Address}
	if i.Port != 0 {
		a["port"] = i.Port
	}
	if i.SSLPort != 0 {
		a["sslPort"] = i.SSLPort
	}
	if i.URISpec != "" {
		a["uri"] = i.URISpec
	}
	if i.Payload != nil {
		a["payload"] = i.Payload
	}
	if i.Disabled {
		// Curator's default form leaves it out.
		a["enabled"], a["compatible"] = false, false
	}
	return a
}

// javas is an instance as the Java peer shows it.
type javas struct {
	Name, ID, Address, Type, Class, URI string
	Port, SSLPort                       int
	Payload                             json.RawMessage
	Registered                          int64
	Enabled                             bool
}

// requireSameInstance checks that Curator shows our instance with the same
// data.
func requireSameInstance(t *testing.T, i discovery.Instance, j javas) {
	t.Helper()
	require.Equal(t, i.Service, j.Name)
	require.Equal(t, i.ID, j.ID)
	require.Equal(t, i.Address, j.Address)
	require.Equal(t, i.Port, j.Port)
	require.Equal(t, i.SSLPort, j.SSLPort)
	require.Equal(t, i.Type.String(), j.Type)
	require.Equal(t, !i.Disabled, j.Enabled)
	require.Equal(t, i.RegistrationTime.UnixMilli(), j.Registered)
	switch {
	case i.Payload == nil:
		require.Equal(t, "null", string(j.Payload))
	case j.Class == "Registry$Payload":
		require.JSONEq(t, `{"zone":"b","weight":3}`, string(j.Payload))
		require.JSONEq(t, `{"@class":"Registry$Payload","zone":"b","weight":3}`, string(i.Payload))
	default:
		require.JSONEq(t, string(i.Payload), string(j.Payload))
	}
	uri, err := i.BuildURI(nil)
	require.NoError(t, err)
	require.Equal(t, uri, j.URI)
}

// TestRegistryShowsWhatCuratorRegisters: all types and payloads.
func TestRegistryShowsWhatCuratorRegisters(t *testing.T) {
	t.Parallel()
	java, c, base, ctx := start(t, curator, timeout), connect(t), fresh("services"), t.Context()
	registry := discovery.NewRegistry(c, base, nil)
	for n, i := range instances() {
		i.Service = fmt.Sprintf("service%d", n)
		at := java.number(t, toJava(base, i.ID, i))
		list, err := registry.Instances(ctx, i.Service)
		require.NoError(t, err)
		require.Len(t, list, 1)
		got := list[0]
		require.NoError(t, got.Err)
		names, err := registry.Services(ctx)
		require.NoError(t, err)
		require.Contains(t, names, i.Service)
		require.Contains(t, decodeAnswer[[]string](t, java.do(t, ask{"do": "registry.names", "base": base})), i.Service)
		require.Equal(t, at, got.RegistrationTime.UnixMilli())
		if i.Payload == nil {
			require.Contains(t, []string{"", "null"}, string(got.Payload))
		} else {
			require.JSONEq(t, string(i.Payload), string(got.Payload))
		}
		uri, err := got.BuildURI(nil)
		require.NoError(t, err)
		j := decodeAnswer[[]javas](t, java.do(t, ask{"do": "registry.query", "base": base, "name": i.Service}))
		require.Equal(t, j[0].URI, uri)
		want := i
		want.Path, want.Token, want.RegistrationTime, want.Payload = got.Path, got.Token, got.RegistrationTime, got.Payload
		require.Equal(t, want, got)

		// It changes in place, and goes.
		changed := toJava(base, i.ID, i)
		changed["do"], changed["address"] = "registry.update", "elsewhere"
		if i.Type == discovery.DynamicSequential {
			// Curator updates the node of the bare id, which does not exist.
			_, err := java.sendRequest(changed).wait(ctx)
			require.ErrorContains(t, err, "NoNode")
		} else {
			java.do(t, changed)
			after, err := registry.Instance(ctx, i.Service, i.ID)
			require.NoError(t, err)
			require.Equal(t, "elsewhere", after.Address)
			require.Equal(t, got.Token, after.Token, "the same node")
		}
		gone := toJava(base, i.ID, i)
		gone["do"] = "registry.unregister"
		java.do(t, gone)
		list, err = registry.Instances(ctx, i.Service)
		require.NoError(t, err)
		if i.Type == discovery.DynamicSequential {
			require.Len(t, list, 1, "Curator deletes the bare id, too (CL14): has it learned?")
		} else {
			require.Empty(t, list)
		}
	}
}

// TestCuratorSeesWhatWeRegister: by a query, in a ServiceCache, and as what a
// ServiceProvider picks; updated, moved to another service, and gone: also a
// sequential one, which Curator itself loses sight of (CL14).
func TestCuratorSeesWhatWeRegister(t *testing.T) {
	t.Parallel()
	java, c, base, ctx := start(t, curator, timeout), connect(t), fresh("services"), t.Context()
	registry := discovery.NewRegistry(c, base, nil)
	for n, i := range instances() {
		i.Service = fmt.Sprintf("service%d", n)
		to := ask{"base": base, "name": i.Service, "as": i.ID}
		do := func(what string) json.RawMessage {
			a := maps.Clone(to)
			a["do"] = "registry." + what
			return java.do(t, a)
		}
		do("cache")
		do("provider")
		reg, err := registry.Register(ctx, i)
		require.NoError(t, err)
		// cached waits until the cache has one instance, and this address.
		cached := func(address string) {
			awaitTrue(t, "ServiceCache", func() bool {
				list := decodeAnswer[[]javas](t, do("cached"))
				return len(list) == 1 && list[0].Address == address
			})
		}
		cached(i.Address)
		for _, what := range []string{"query", "cached"} {
			list := decodeAnswer[[]javas](t, do(what))
			require.Len(t, list, 1)
			requireSameInstance(t, reg.Instance(), list[0])
		}
		awaitTrue(t, "ServiceProvider", func() bool { return string(do("pick")) != "null" || i.Disabled })
		if picked := decodeAnswer[*javas](t, do("pick")); i.Disabled {
			require.Nil(t, picked)
		} else {
			requireSameInstance(t, reg.Instance(), *picked)
		}

		i.Address = "elsewhere"
		require.NoError(t, reg.Update(ctx, i))
		cached("elsewhere")
		requireSameInstance(t, reg.Instance(), decodeAnswer[[]javas](t, do("query"))[0])

		require.NoError(t, reg.Move(ctx, "moved", i))
		awaitTrue(t, "empty cache", func() bool { return len(decodeAnswer[[]javas](t, do("cached"))) == 0 })
		requireSameInstance(t, reg.Instance(), decodeAnswer[[]javas](t, java.do(t, ask{"do": "registry.query", "base": base, "name": "moved"}))[0])
		require.NoError(t, reg.Unregister(ctx))
		require.Empty(t, decodeAnswer[[]javas](t, java.do(t, ask{"do": "registry.query", "base": base, "name": "moved"})))
	}
}

// TestProviderPicksWhatCuratorRegisters: in turn, and none that is disabled or
// has gone.
func TestProviderPicksWhatCuratorRegisters(t *testing.T) {
	t.Parallel()
	java, c, base := start(t, curator, timeout), connect(t), fresh("services")
	var asks []ask
	for _, id := range []string{"a", "b", "c"} {
		i := discovery.Instance{Service: "web", ID: id, Address: "h", Disabled: id == "b"}
		asks = append(asks, toJava(base, id, i))
		java.do(t, asks[len(asks)-1])
	}
	ctx, cancel := context.WithCancel(t.Context())
	over := make(chan error, 1)
	p := provider.New(discovery.NewRegistry(c, base, nil), "web", provider.RoundRobin(), nil)
	// Waited for below; ends with ctx.
	go func() { over <- p.Run(ctx) }()
	pick := func() string {
		lease, err := p.Get(ctx)
		require.NoError(t, err)
		lease.Done(nil)
		return lease.Instance().ID
	}
	require.ElementsMatch(t, []string{"a", "c"}, []string{pick(), pick()})
	asks[0]["do"] = "registry.unregister"
	java.do(t, asks[0])
	awaitTrue(t, "one is left", func() bool {
		list, err := p.All(ctx)
		require.NoError(t, err)
		return len(list) == 1
	})
	require.Equal(t, []string{"c", "c"}, []string{pick(), pick()})
	cancel()
	require.NoError(t, <-over)
}

// TestRegistryAgreesAfterChurn: both sides register and unregister in one
// service at the same time, and in the end both list the same.
func TestRegistryAgreesAfterChurn(t *testing.T) {
	t.Parallel()
	java, c, base, ctx := start(t, curator, timeout), connect(t), fresh("services"), t.Context()
	registry := discovery.NewRegistry(c, base, nil)
	java.do(t, ask{"do": "registry.cache", "base": base, "name": "web", "as": "cache"})
	const each, kept = 30, 5
	var all sync.WaitGroup
	// Waited for below; ends after its rounds.
	all.Go(func() {
		for n := range each {
			i := discovery.Instance{Service: "web", ID: fmt.Sprint("java", n), Address: "h"}
			a := toJava(base, i.ID, i)
			if _, err := java.sendRequest(a).wait(ctx); err != nil {
				t.Error(err)
			}
			if a["do"] = "registry.unregister"; n >= kept {
				if _, err := java.sendRequest(a).wait(ctx); err != nil {
					t.Error(err)
				}
			}
		}
	})
	for n := range each {
		reg, err := registry.Register(ctx, discovery.Instance{Service: "web", ID: fmt.Sprint("ours", n), Address: "h"})
		require.NoError(t, err)
		if n >= kept {
			require.NoError(t, reg.Unregister(ctx))
		}
	}
	all.Wait()
	var want []string
	for n := range kept {
		want = append(want, fmt.Sprint("java", n), fmt.Sprint("ours", n))
	}
	slices.Sort(want)
	for list, err := range registry.Watch(ctx, "web") {
		require.NoError(t, err)
		var ids []string
		for _, i := range list {
			require.NoError(t, i.Err)
			ids = append(ids, i.ID)
		}
		slices.Sort(ids)
		require.Equal(t, want, ids)
		break
	}
	awaitTrue(t, "ServiceCache", func() bool {
		var ids []string
		for _, j := range decodeAnswer[[]javas](t, java.do(t, ask{"do": "registry.cached", "as": "cache"})) {
			ids = append(ids, j.ID)
		}
		slices.Sort(ids)
		return slices.Equal(want, ids)
	})
}

// TestRegistryForgetsAKilledInstance, on both sides; static instances stay.
func TestRegistryForgetsAKilledInstance(t *testing.T) {
	t.Parallel()
	java, theirVictim, ourVictim := start(t, curator, timeout), start(t, curator, brief), start(t, ours, brief)
	c, base, ctx := connect(t), fresh("services"), t.Context()
	registry := discovery.NewRegistry(c, base, nil)
	java.do(t, ask{"do": "registry.cache", "base": base, "name": "web", "as": "cache"})
	for _, typ := range []discovery.Type{discovery.Dynamic, discovery.DynamicSequential, discovery.Static} {
		i := discovery.Instance{Service: "web", ID: typ.String(), Type: typ}
		theirVictim.do(t, toJava(base, i.ID, i))
	}
	ourVictim.do(t, ask{"do": "registry.register", "base": base, "name": "web", "as": "ours"})
	killed := false
	for list, err := range registry.Watch(ctx, "web") {
		require.NoError(t, err)
		if len(list) == 1 {
			require.True(t, killed)
			require.Equal(t, "STATIC", list[0].ID)
			break
		}
		if !killed && len(list) == 4 {
			theirVictim.kill(t)
			ourVictim.kill(t)
			killed = true
		}
	}
	awaitTrue(t, "ServiceCache", func() bool {
		list := decodeAnswer[[]javas](t, java.do(t, ask{"do": "registry.cached", "as": "cache"}))
		return len(list) == 1 && list[0].ID == "STATIC"
	})
}

// TestRegistryWaitsForCuratorThatTookItsName: Curator deletes any instance that has the
// name that Curator wants, and takes the name (CL19). Our registry does not fight for a
// name: it reports that another client has the name, and registers again when that
// client's instance goes.
func TestRegistryWaitsForCuratorThatTookItsName(t *testing.T) {
	t.Parallel()
	java, we, c, base := start(t, curator, timeout), start(t, ours, timeout), connect(t), fresh("services")
	ctx := t.Context()
	registry := discovery.NewRegistry(c, base, nil)
	mine := discovery.Instance{Service: "web", ID: "one", Address: "ours"}
	theirs := mine
	theirs.Address = "theirs"
	we.do(t, ask{"do": "registry.register", "base": base, "name": "web", "as": "one", "address": "ours"})

	// settled waits until our registration tells which instance exists, and returns
	// that instance.
	settled := func() (got discovery.Instance) {
		awaitTrue(t, "the registration's state", func() bool {
			var err error
			got, err = registry.Instance(ctx, "web", "one")
			state := decodeAnswer[standing](t, we.do(t, ask{"do": "registry.state", "as": "one"}))
			switch {
			case errors.Is(err, session.ErrNoNode):
				return false
			case got.Address == "theirs":
				return !state.Registered && state.Conflict
			}
			return state.Registered && state.Token == got.Token
		})
		return got
	}
	require.Equal(t, "ours", settled().Address)

	// Between its deletion and Curator's creation ours could be registered
	// again; so it must not run meanwhile.
	we.freeze(t)
	java.do(t, toJava(base, "one", theirs))
	we.thaw(t)
	require.Equal(t, "theirs", settled().Address)
	_, err := registry.Register(ctx, mine)
	require.ErrorIs(t, err, discovery.ErrConflict)
	require.Equal(t, "theirs", settled().Address, "it was not taken back")
	gone := toJava(base, "one", theirs)
	gone["do"] = "registry.unregister"
	java.do(t, gone)
	require.Equal(t, "ours", settled().Address)

	// When both run, either has it in the end: Curator tries twice, and says
	// nothing if it was second both times. Ours knows, either way.
	for range 10 {
		java.do(t, toJava(base, "one", theirs))
		settled()
	}
}
