package cluster

import (
	"encoding/json"
	"net/netip"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/discovery"
	"pgregory.net/rapid"
)

// TestStrangersInTheRegistryAreNoNodes, with any data.
func TestStrangersInTheRegistryAreNoNodes(t *testing.T) {
	good := instance(workers, netip.MustParseAddrPort("10.0.0.1:80"), entry{Name: "n1", Znode: "/election/x"})
	list := []discovery.Instance{good}
	for _, change := range []func(*discovery.Instance){
		func(i *discovery.Instance) { i.Payload = nil },
		func(i *discovery.Instance) { i.Payload = json.RawMessage(`[]`) },
		func(i *discovery.Instance) {
			i.Payload = json.RawMessage(`{"name":"<script>","znode":"/election/x"}`)
		},
		func(i *discovery.Instance) { i.Payload = json.RawMessage(`{"name":"n1","znode":"x"}`) },
		func(i *discovery.Instance) { i.Port = 0 },
		func(i *discovery.Instance) { i.Address = "" },
		func(i *discovery.Instance) { i.Address = "metadata.example" },
		func(i *discovery.Instance) { i.Address = "169.254.169.254" },
		func(i *discovery.Instance) { i.Address = "::ffff:169.254.169.254" },
		func(i *discovery.Instance) { i.Address = "10.0.0.1:80/elsewhere?" },
		func(i *discovery.Instance) { i.Address = "me@10.0.0.1" },
		func(i *discovery.Instance) { i.Address = "fe80::1%eth0" },
		func(i *discovery.Instance) { i.Address = "224.0.0.1" },
		func(i *discovery.Instance) { i.Address = "0.0.0.0" },
		func(i *discovery.Instance) { i.Address = "::" },
		func(i *discovery.Instance) { i.Port = 65536 },
		func(i *discovery.Instance) { i.Port = -1 },
		func(i *discovery.Instance) { i.Err = discovery.ErrMalformed },
	} {
		bad := good
		change(&bad)
		list = append(list, bad)
	}
	assert.Equal(t, []peer{{entry: entry{Name: "n1", Znode: "/election/x"}, address: "10.0.0.1:80"}}, peersOf(list))

	_, ok := coordinator(nil)
	assert.False(t, ok)
	best, ok := coordinator([]peer{{entry: entry{Name: "a", Token: 3}}, {entry: entry{Name: "b", Token: 5}}, {entry: entry{Name: "c", Token: 4}}})
	assert.True(t, ok)
	assert.Equal(t, "b", best.Name, "the newest leadership counts")
}

// TestAddressesOfNodesFitIntoURLs: for all registrations, requests go only to a
// port of a single machine.
func TestAddressesOfNodesFitIntoURLs(t *testing.T) {
	for _, good := range []string{"10.0.0.1:80", "[2001:db8::1]:65535", "127.0.0.1:1"} {
		a, err := parseAddress(good)
		require.NoError(t, err, good)
		assert.Equal(t, good, a.String())
	}
	a, err := parseAddress("[::ffff:10.0.0.1]:80")
	require.NoError(t, err)
	assert.Equal(t, "10.0.0.1:80", a.String(), "a machine has a single address")
	rapid.Check(t, func(t *rapid.T) {
		i := instance(workers, netip.MustParseAddrPort("10.0.0.1:80"), entry{Name: "n1", Znode: "/election/x"})
		i.Address = rapid.OneOf(rapid.String(), rapid.StringMatching(`[0-9a-fx:.%@/\[\]]{0,12}`)).Draw(t, "address")
		i.Port = rapid.IntRange(-1, 70000).Draw(t, "port")
		for _, p := range peersOf([]discovery.Instance{i}) {
			u, err := url.Parse("http://" + p.address + "/status")
			if err != nil || u.Host != p.address || u.User != nil || u.Path != "/status" || u.RawQuery != "" {
				t.Fatalf("%q", p.address)
			}
		}
	})
}

func FuzzInstancesOfStrangers(f *testing.F) {
	f.Add([]byte(`{"name":"n1","znode":"/election/x","token":7}`))
	f.Add([]byte(`{"name":"\u0000","znode":7}`))
	f.Fuzz(func(t *testing.T, payload []byte) {
		i := instance(workers, netip.MustParseAddrPort("10.0.0.1:80"), entry{})
		i.Payload = payload
		for _, p := range peersOf([]discovery.Instance{i}) {
			if !validName(p.Name) || !strings.HasPrefix(p.Znode, "/") {
				t.Errorf("%q", payload)
			}
		}
	})
}
