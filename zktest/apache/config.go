package apache

import (
	"fmt"
	"maps"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"
)

// place has the addresses of one server.
type place struct {
	host                   string
	client, peer, election int
}

func (p place) addr() string { return net.JoinHostPort(p.host, strconv.Itoa(p.client)) }

// member is the line of server k in a dynamic configuration.
func (p place) member(k int) string {
	return fmt.Sprintf("server.%d=%s:%d:%d:participant;%s", k+1, p.host, p.peer, p.election, p.addr())
}

// sharedSettings returns the lines of zoo.cfg shared by all servers and independent of
// the mode.
func sharedSettings(o *Options) map[string]string {
	m := map[string]string{
		"tickTime":               formatMillis(o.TickTime),
		"initLimit":              strconv.Itoa(o.InitLimit),
		"syncLimit":              strconv.Itoa(o.SyncLimit),
		"minSessionTimeout":      formatMillis(o.MinSessionTimeout),
		"maxSessionTimeout":      formatMillis(o.MaxSessionTimeout),
		"maxClientCnxns":         "0",
		"admin.enableServer":     "false",
		"4lw.commands.whitelist": "*",
		"forceSync":              map[bool]string{true: "yes", false: "no"}[o.Fsync],
		"extendedTypesEnabled":   strconv.FormatBool(!o.NoExtendedTypes),
		// Transaction logs are extended in steps of this many KiB; the
		// default of 64 MiB per log is much for hundreds of tests.
		"preAllocSize": "1024",
	}
	maps.Copy(m, o.Config)
	return m
}

// javaProperties returns the -D settings without an equivalent in zoo.cfg. folder has the
// files of writeExtraFiles.
func javaProperties(o *Options, folder string) map[string]string {
	m := map[string]string{
		"znode.container.checkIntervalMs": formatMillis(o.ContainerInterval),
		// The limit of removed containers in a minute: effectively none.
		"znode.container.maxPerMinute": "1000000",
	}
	if o.Spare > 0 {
		m["zookeeper.skipACL"] = "yes" // that of /zookeeper/config allows nothing to anyone
	}
	if len(o.SASLUsers) > 0 {
		m["java.security.auth.login.config"] = folder + "/" + loginName
		m["zookeeper.authProvider.1"] = "org.apache.zookeeper.server.auth.SASLAuthenticationProvider"
	}
	maps.Copy(m, o.Properties)
	return m
}

// zooCfg is the configuration file of server i with its data in dir.
func zooCfg(o *Options, places []place, i int, dir string) string {
	m := sharedSettings(o)
	m["dataDir"] = dir
	if o.Spare > 0 {
		m["reconfigEnabled"], m["standaloneEnabled"] = "true", "false"
	} else {
		m["clientPort"] = strconv.Itoa(places[i].client)
		m["clientPortAddress"] = places[i].host
	}
	for k, p := range places {
		switch {
		case o.Spare > 0 && k >= o.Servers-o.Spare && k != i: // no member yet
		case o.Spare > 0:
			key, value, _ := strings.Cut(p.member(k), "=")
			m[key] = value
		case len(places) > 1:
			m[fmt.Sprintf("server.%d", k+1)] = fmt.Sprintf("%s:%d:%d", p.host, p.peer, p.election)
		}
	}
	return strings.Join(sortedPairs(m), "\n") + "\n"
}

// jvmFlags are the options of the Java machine: small, and quick to start.
func jvmFlags(o *Options, folder string) []string {
	flags := []string{
		fmt.Sprintf("-Xmx%dm", o.Heap), "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xshare:auto",
	}
	for _, p := range sortedPairs(javaProperties(o, folder)) {
		flags = append(flags, "-D"+p)
	}
	return flags
}

// sortedPairs writes a map as sorted key=value.
func sortedPairs(m map[string]string) []string {
	out := make([]string, 0, len(m))
	for _, k := range slices.Sorted(maps.Keys(m)) {
		out = append(out, k+"="+m[k])
	}
	return out
}

func formatMillis(d time.Duration) string { return strconv.FormatInt(d.Milliseconds(), 10) }
