package conformance

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zkrecipes/zkrecipes/zktest"
	"github.com/zkrecipes/zkrecipes/zktest/apache"
)

// putData writes data into a node, and creates the node if missing.
func (c *client) putData(path, data string) {
	c.logRequest(fmt.Sprintf("put %s %q", path, data), opCreate, createBody(path, data, 0))
	c.writeData(path, data)
}

// writeData sets data of any length.
func (c *client) writeData(path, data string) {
	c.logRequest(fmt.Sprintf("write %s %q", path, data), opSetData, body{}.str(path).data([]byte(data)).int(-1))
}

// setQuota sets a quota on path, with the limits and the statistics written by a
// client.
func (c *client) setQuota(path, limits string) (at string) {
	at = "/zookeeper/quota"
	for i, r := range path {
		if r == '/' && i > 0 {
			c.putData("/zookeeper/quota"+path[:i], "")
		}
	}
	at += path
	c.putData(at, "")
	c.logRequest("limits "+limits, opCreate, createBody(at+"/zookeeper_limits", limits, 0))
	c.logRequest("stats", opCreate2, createBody(at+"/zookeeper_stats", "count=0,bytes=0", 0))
	return at
}

// quotaCases test the counts and the limits of quotas.
func quotaCases() []script {
	stats := func(c *client, at string) { c.get(at+"/zookeeper_stats", false) }
	return []script{
		withClient("quota-counts", func(c *client, at func(string) string) {
			c.putData(at("/n"), "12345")
			c.putData(at("/n/kid"), "123")
			q := c.setQuota(at("/n"), "count=3,bytes=20")
			stats(c, q)
			c.create(at("/n/b"), 0)
			stats(c, q)
			c.create(at("/n/e"), flagEphemeral)
			c.create(at("/n/kid/s-"), flagSequence)
			stats(c, q)
			c.writeData(at("/n/b"), "a longer value than all limits")
			stats(c, q)
			c.writeData(at("/n/b"), "")
			c.delete(at("/n/kid/s-0000000000"), -1)
			stats(c, q)
			c.create(at("/beside"), 0)
			c.multi("three", mCreate(at("/n/x"), 0), mSet(at("/n/x"), 0), mDelete(at("/n/b"), -1))
			stats(c, q)
			c.exists(q+"/zookeeper_limits", false)
		}),
		withClient("quota-refuses-count", func(c *client, at func(string) string) {
			c.putData(at("/n"), "")
			q := c.setQuota(at("/n"), "count=-1,bytes=-1;countHardLimit=3")
			c.create(at("/n/a"), 0)
			c.create(at("/n/b"), 0)
			c.create(at("/n/c"), 0)
			c.create(at("/n/c"), flagEphemeral)
			c.create(at("/n/a"), 0)
			c.writeData(at("/n/a"), "any length")
			c.create(at("/n/none/x"), 0)
			c.delete(at("/n/a"), -1)
			c.create(at("/n/c"), 0)
			stats(c, q)
			c.multi("over", mDelete(at("/n/c"), -1), mCreate(at("/n/d"), 0))
			c.multi("under", mDelete(at("/n/c"), -1), mDelete(at("/n/b"), -1))
			c.multi("two at once", mCreate(at("/n/d"), 0), mCreate(at("/n/e"), 0), mCreate(at("/n/f"), 0), mCreate(at("/n/g"), 0))
			stats(c, q)
		}),
		withClient("quota-refuses-bytes", func(c *client, at func(string) string) {
			c.putData(at("/n"), "")
			q := c.setQuota(at("/n"), "count=-1,bytes=-1;byteHardLimit=10")
			c.putData(at("/n/a"), "12345")
			c.putData(at("/n/b"), "123456")
			c.writeData(at("/n/a"), "1234567890")
			c.writeData(at("/n/a"), "12345678901")
			c.set(at("/n/a"), 77)
			c.logRequest("badly", opSetData, body{}.str(at("/n/a")).data([]byte("12345678901")).int(77))
			c.putData(at("/n/c"), "")
			c.multi("grows", mSet(at("/n/a"), -1), mSet(at("/n/a"), -1))
			c.multi("new and longer", mCreate(at("/n/d"), 0), mSet(at("/n/d"), 0))
			stats(c, q)
		}),
		withClient("quota-soft-limits-refuse-nothing", func(c *client, at func(string) string) {
			c.putData(at("/n"), "")
			q := c.setQuota(at("/n"), "count=1,bytes=1")
			c.putData(at("/n/a"), "12345")
			stats(c, q)
		}),
		withClient("quota-changes-and-goes", func(c *client, at func(string) string) {
			c.putData(at("/n"), "")
			q := c.setQuota(at("/n"), "countHardLimit=1")
			c.create(at("/n/a"), 0)
			c.writeData(q+"/zookeeper_limits", "count=-1,bytes=-1;countHardLimit=2")
			c.create(at("/n/a"), 0)
			c.create(at("/n/b"), 0)
			c.delete(q+"/zookeeper_limits", -1)
			c.create(at("/n/b"), 0)
			stats(c, q)
			c.delete(q+"/zookeeper_stats", -1)
			c.create(at("/n/c"), 0)
			c.logRequest("stats", opCreate, createBody(q+"/zookeeper_stats", "", 0))
			stats(c, q)
		}),
		withClient("quota-of-what-comes-later", func(c *client, at func(string) string) {
			q := c.setQuota(at("/n"), "countHardLimit=1,byteHardLimit=3")
			stats(c, q)
			c.putData(at("/n"), "12")
			stats(c, q)
			c.create(at("/n/a"), 0)
			c.delete(at("/n"), -1)
			stats(c, q)
		}),
		withClient("quota-goes-with-sessions", func(c *client, at func(string) string) {
			c.putData(at("/n"), "")
			q := c.setQuota(at("/n"), "count=9,bytes=9;a=1;b=2")
			other := c.p.joinQuietly("other")
			other.create(at("/n/e"), flagEphemeral)
			stats(c, q)
			other.close()
			stats(c, q)
		}),
	}
}

func TestServerKeepsQuotasAsApacheDoes(t *testing.T) {
	for name, enforced := range map[string]bool{"enforced": true, "not enforced": false} {
		t.Run(name, func(t *testing.T) {
			real := apache.Require(t, &apache.Options{
				Own: true, TickTime: tick, MinSessionTimeout: 2 * tick, MaxSessionTimeout: 40 * time.Second, ContainerInterval: never,
				Properties: map[string]string{"zookeeper.enforceQuota": fmt.Sprint(enforced)},
			})
			s, err := zktest.Start(&zktest.Options{
				TickTime: tick, MinSessionTimeout: 2 * tick, MaxSessionTimeout: 40 * time.Second, ContainerInterval: never,
				StatNeedsRead: isNewer(t, real), EnforceQuota: enforced,
			})
			require.NoError(t, err)
			t.Cleanup(func() { require.NoError(t, s.Close()) })
			for _, c := range quotaCases() {
				t.Run(c.name, func(t *testing.T) {
					a, b := playBoth(t, s.Addr(), real.Connect(), c.name, c.play)
					require.NotEmpty(t, a)
					require.Empty(t, diffTranscripts(a, b))
				})
			}
		})
	}
}
