package conformance

import (
	"path"
	"regexp"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/zktest/apache"
)

// known are the cases with a different answer of the in-process server, with
// the reason.
// read only
var known = map[string]string{}

// knownNewer are patterns of cases in which 3.9.3 differs from 3.8 and from the
// in-process server.
// read only
var knownNewer = map[string]string{
	"check-alone":                         "a check outside a transaction: 3.9.3 closes the connection",
	"delete-container-is-not-for-clients": "3.9.3 has clients delete containers",
	"frame-create-many-acl":               noZxid,
	"frame-create-no-acl":                 noZxid,
	"frame-create-short-flags":            noZxid,
	"ttl-values":                          noZxid,
	"multi-all-kinds":                     "3.9.3 answers create2, and the creation of a container, in a transaction with the stat",
	"multi-fails-create-bad-flags-*":      "3.9.3 refuses the whole request, without results",
	"multi-fires-watches":                 twoWatches,
	"watch-all-grandkid":                  twoWatches,
	"watch-all-kid":                       twoWatches,
	"watch-all-multi":                     twoWatches,
	"watch-of-one-change-over-kinds":      twoWatches,
	"watch-of-the-root":                   twoWatches,
	"watch-remove-all-[0124-6]":           twoWatches,
	"watch-remove-*-[45]":                 twoWatches,
	"watch-remove-persistent-[0-6]":       twoWatches,
	"watch-remove-recursive-[0-6]":        twoWatches,
}

const (
	noZxid     = "a request that makes no sense takes no zxid on 3.9.3"
	twoWatches = "3.9.3 keeps a persistent and a recursive watch of one path apart, and removes each by its kind"
)

// knownReason returns the reason for a difference, if the difference is known.
func knownReason(name string, newer bool) (reason string, is bool) {
	if reason, is = known[name]; is || !newer {
		return reason, is
	}
	for pattern, reason := range knownNewer {
		if ok, _ := path.Match(pattern, name); ok {
			return reason, true
		}
	}
	return "", false
}

// isNewer reports whether a server is 3.9.3, or later.
func isNewer(t *testing.T, real *apache.Cluster) bool {
	t.Helper()
	version := regexp.MustCompile(`version: (\d+)\.(\d+)\.(\d+)`)
	var is []string
	// A server on a busy machine may need longer than one FourLetter waits.
	require.Eventually(t, func() bool {
		text, err := real.FourLetter(t.Context(), 0, "srvr")
		is = version.FindStringSubmatch(text)
		return err == nil && is != nil
	}, patience, 100*time.Millisecond)
	n := 0
	for _, digits := range is[1:] {
		v, err := strconv.Atoi(digits)
		require.NoError(t, err)
		n = n*1000 + v
	}
	return n >= 3_009_003
}
