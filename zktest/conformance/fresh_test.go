package conformance

import (
	"regexp"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zkrecipes/zkrecipes/zktest"
	"github.com/zkrecipes/zkrecipes/zktest/apache"
)

// figures are the comparable numbers in the four-letter words of a new server.
// read only
var figures = regexp.MustCompile(`(?m)^(Node count: |zk_znode_count\t|zk_approximate_data_size\t|zk_ephemerals_count\t|zk_watch_count\t).*$`)

func TestNewServerIsAsApaches(t *testing.T) {
	real := apache.Require(t, &apache.Options{Own: true})
	s, err := zktest.Start(nil)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	for _, word := range []string{"srvr", "mntr"} {
		ours := figures.FindAllString(s.FourLetter(1, word), -1)
		require.NotEmpty(t, ours)
		var theirs []string
		// A server on a busy machine may need longer than one FourLetter waits.
		require.Eventually(t, func() bool {
			text, err := real.FourLetter(t.Context(), 0, word)
			theirs = figures.FindAllString(text, -1)
			return err == nil && len(theirs) >= len(ours)
		}, patience, 100*time.Millisecond, word)
		require.ElementsMatch(t, theirs, ours, word)
	}
	a, b := playBoth(t, s.Addr(), real.Connect(), "fresh", func(p *player) {
		c := p.join("a", 30000)
		for _, path := range []string{"/", "/zookeeper", "/zookeeper/config", "/zookeeper/quota"} {
			c.getACL(path)
			c.children(path, false)
		}
	})
	require.Empty(t, diffTranscripts(a, b))
}
