package apache

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
)

// Clients is how many addresses there are for clients whose links are to be
// cut apart from those of others; see Cluster.Client.
const Clients = 16

// subnet is a /24 of 198.18.0.0/15, reserved for network tests (RFC 2544) and
// therefore unused elsewhere:
//
//	.1         this machine
//	.101-.116  this machine too, one address per Client
//	.129-      servers
//
// Servers have the upper half and clients the lower, so one rule can tell them
// apart.
type subnet struct {
	prefix string       // "198.18.7."
	claim  net.Listener // holds the prefix against other test processes
}

func (s *subnet) gateway() string         { return s.prefix + "1" }
func (s *subnet) clientAddr(k int) string { return s.prefix + strconv.Itoa(101+k) }
func (s *subnet) serverAddr(i int) string { return s.prefix + strconv.Itoa(129+i) }
func (s *subnet) clientSubnet() string    { return s.prefix + "0/25" }

// claimSubnet picks a subnet unused by interfaces and other clusters.
func claimSubnet(id string) (*subnet, error) {
	used, err := net.InterfaceAddrs()
	if err != nil {
		return nil, err
	}
	for range 100 {
		prefix := fmt.Sprintf("198.%d.%d.", 18+rand.IntN(2), rand.IntN(256))
		if isTaken(used, prefix) {
			continue
		}
		// An abstract socket: the kernel frees the name with the process.
		claim, err := net.Listen("unix", "@zktest/"+prefix)
		if err != nil {
			continue
		}
		return &subnet{prefix: prefix, claim: claim}, nil
	}
	return nil, fmt.Errorf("cluster %s: no free subnet in 198.18.0.0/15", id)
}

func isTaken(used []net.Addr, prefix string) bool {
	for _, a := range used {
		if n, ok := a.(*net.IPNet); ok && n.Contains(net.ParseIP(prefix+"1")) {
			return true
		}
		if strings.HasPrefix(a.String(), prefix) {
			return true
		}
	}
	return false
}

// canCut fails when this process may not make network namespaces.
func canCut() error {
	if runtime.GOOS != "linux" || os.Geteuid() != 0 {
		return fmt.Errorf("%w: cut links need Linux and root", ErrUnavailable)
	}
	for _, tool := range []string{"ip", "iptables", "nsenter"} {
		if _, err := exec.LookPath(tool); err != nil {
			return fmt.Errorf("%w: no %s in PATH: install the packages iproute2, iptables, util-linux", ErrUnavailable, tool)
		}
	}
	return nil
}

// buildNetwork makes a namespace with a bridge, one per server, and the links between
// them and to this machine. The guard removes them, by their names.
//
// The bridge has a namespace of its own, so the firewall of the machine (for
// instance Docker's rules) does not affect the packets.
func (s *subnet) buildNetwork(ctx context.Context, id string, servers int) error {
	hub, here := "zktest-"+id+"-hub", "zt"+id
	script := []string{
		"netns add " + hub,
		"-n " + hub + " link add hub type bridge",
		"-n " + hub + " link set hub up",
		"link add " + here + " type veth peer name uplink netns " + hub,
		"-n " + hub + " link set uplink master hub up",
		"addr add " + s.gateway() + "/24 dev " + here,
		"link set " + here + " up",
	}
	for i := range servers {
		ns, port := fmt.Sprintf("zktest-%s-s%d", id, i), fmt.Sprintf("port%d", i)
		script = append(script,
			"netns add "+ns,
			"-n "+ns+" link set lo up",
			"-n "+hub+" link add "+port+" type veth peer name eth0 netns "+ns,
			"-n "+hub+" link set "+port+" master hub up",
			"-n "+ns+" addr add "+s.serverAddr(i)+"/24 dev eth0",
			"-n "+ns+" link set eth0 up",
		)
	}
	for _, line := range append(script, s.clientAddrs(here)...) {
		if err := runCommand(ctx, append([]string{"ip"}, strings.Fields(line)...)...); err != nil {
			return err
		}
	}
	return nil
}

// clientAddrs returns the commands to give this machine the clients' addresses.
func (s *subnet) clientAddrs(device string) []string {
	var script []string
	for k := range Clients {
		script = append(script, "addr add "+s.clientAddr(k)+"/24 dev "+device)
	}
	return script
}

// loopbackPlaces finds unprivileged addresses for servers: a loopback address with
// free ports for each.
func loopbackPlaces(servers int) ([]place, error) {
	net16 := fmt.Sprintf("127.%d.%d.", 1+rand.IntN(254), rand.IntN(256))
	var places []place
	for i := range servers {
		host := net16 + strconv.Itoa(i+1)
		if runtime.GOOS != "linux" {
			host = "127.0.0.1" // the only loopback address elsewhere
		}
		var ports [3]int
		for k := range ports {
			// All listeners stay open until the last is found; otherwise a port
			// could be chosen twice.
			l, err := net.Listen("tcp", net.JoinHostPort(host, "0"))
			if err != nil {
				return nil, err
			}
			defer l.Close()
			ports[k] = l.Addr().(*net.TCPAddr).Port
		}
		places = append(places, place{host, ports[0], ports[1], ports[2]})
	}
	return places, nil
}

// runCommand runs a program and adds its output to the error.
func runCommand(ctx context.Context, args ...string) error {
	out, err := exec.CommandContext(ctx, args[0], args[1:]...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s: %w: %s", strings.Join(args, " "), err, strings.TrimSpace(string(out)))
	}
	return nil
}
