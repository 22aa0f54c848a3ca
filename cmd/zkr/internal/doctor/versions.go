package doctor

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// fault is a published fault of Apache ZooKeeper: it affects the versions from first up to,
// and without, fixed.
type fault struct {
	first, fixed string
	what         string
}

// faults are those of docs/guarantees.md#assumptions, and security advisories, by the
// records of the CVE program.
//
// read only
var faults = []fault{
	{"3.5.0", "3.9.0", "reported for 3.5 to 3.8: it may lose acknowledged transactions (ZOOKEEPER-4643, -4646, -4685)"},
	{"3.8.0", "3.8.4", "it may lose acknowledged transactions (ZOOKEEPER-4785)"},
	{"3.9.0", "3.9.2", "it may lose acknowledged transactions (ZOOKEEPER-4785)"},
	{"3.9.0", "3.9.3", "it may lose acknowledged transactions (ZOOKEEPER-4394)"},
	{"3.9.3", "3.9.4", "it may lose acknowledged transactions (ZOOKEEPER-4925)"},
	{"0", "3.7.2", "CVE-2023-44981: any server may join a quorum with SASL (quorum.auth.enableSasl)"},
	{"3.8.0", "3.8.3", "CVE-2023-44981: any server may join a quorum with SASL (quorum.auth.enableSasl)"},
	{"3.9.0", "3.9.1", "CVE-2023-44981: any server may join a quorum with SASL (quorum.auth.enableSasl)"},
	{"3.6.0", "3.8.4", "CVE-2024-23944: a persistent watch shows the paths of znodes that the client may not read"},
	{"3.9.0", "3.9.2", "CVE-2024-23944: a persistent watch shows the paths of znodes that the client may not read"},
	{"3.9.0", "3.9.3", "CVE-2024-51504: the admin server believes the client's address in a request header (IPAuthenticationProvider)"},
	{"3.8.0", "3.8.6", "CVE-2026-24281: with TLS, a host name is also believed that only a reverse DNS lookup tells"},
	{"3.9.0", "3.9.5", "CVE-2026-24281: with TLS, a host name is also believed that only a reverse DNS lookup tells"},
}

// faultsOf are the faults of a version.
func faultsOf(version string) (out []string) {
	if version == "" {
		return nil
	}
	for _, f := range faults {
		if compareVersions(version, f.first) >= 0 && compareVersions(version, f.fixed) < 0 {
			out = append(out, fmt.Sprintf("%s (not in %s)", f.what, f.fixed))
		}
	}
	return out
}

// compareVersions compares numbers with dots between them.
func compareVersions(a, b string) int {
	numbers := func(v string) []int {
		var out []int
		for part := range strings.SplitSeq(v, ".") {
			n, _ := strconv.Atoi(part)
			out = append(out, n)
		}
		return out
	}
	return slices.Compare(numbers(a), numbers(b))
}
