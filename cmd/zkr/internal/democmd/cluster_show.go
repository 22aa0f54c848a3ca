package democmd

import (
	"context"
	"fmt"
	"net"
	"time"

	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/cluster"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/exit"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/web"
)

// ClusterEvent is a line of "zkr demo cluster -o json".
type ClusterEvent struct {
	// Event is page, failover, or summary, which is the last with --kills.
	Event string `json:"event"`
	// URL of the page, and the servers.
	URL     string `json:"url,omitempty"`
	Servers string `json:"servers,omitempty"`
	*cluster.Failover
	*cluster.Times
}

// hello says where the page is.
func (c *clusterDemo) hello(l net.Listener) error {
	page := address(web.URL(l), c.told)
	if c.app.JSON() {
		return c.app.PrintJSON(ClusterEvent{Event: "page", URL: page, Servers: c.servers})
	}
	if at, ok := l.Addr().(*net.TCPAddr); ok && at.IP.IsUnspecified() {
		// Other machines may know this machine by other addresses, and a
		// container by another port.
		page = address("on "+l.Addr().String()+", at /", c.told)
	}
	return c.app.Printf("The page is %s (Ctrl-C ends it). ZooKeeper is %s, nodes: %d.\n", page, c.servers, c.nodes)
}

// say prints an event.
func (c *clusterDemo) say(f cluster.Failover) error {
	if c.app.JSON() {
		return c.app.PrintJSON(ClusterEvent{Event: "failover", Failover: &f})
	}
	return c.app.Printf("%s  %-4s %-8s  %-4s serves after %7.1f ms, with token %d\n",
		f.Serving.Local().Format("15:04:05.000"), f.From, f.Had(), f.To, f.Took, f.Token)
}

// printFailovers prints each failover until ctx ends.
func (c *clusterDemo) printFailovers(ctx context.Context, monitor *cluster.Monitor) error {
	known := map[int64]bool{} // tokens
	for {
		var news []cluster.Failover
		_, err := monitor.Await(ctx, func(v cluster.View) bool {
			news = nil
			for _, f := range v.Failovers { // newest first
				if !known[f.Token] {
					news = append([]cluster.Failover{f}, news...)
				}
			}
			return len(news) > 0
		})
		if err != nil {
			return err
		}
		for _, f := range news {
			if err := c.say(f); err != nil {
				return err
			}
			known[f.Token] = true
		}
	}
}

// measure kills leaders and prints the times of the failovers.
func (c *clusterDemo) measure(ctx context.Context, site *cluster.Site) error {
	begin := time.Now()
	list, err := site.KillLeaders(ctx, c.kills, c.nodes, c.say)
	if err != nil {
		return &exit.Failure{Code: exit.CodeFailed, Err: fmt.Errorf("after %d of %d kills: %w", len(list), c.kills, err)}
	}
	t := cluster.Measure(list)
	if c.app.JSON() {
		return c.app.PrintJSON(ClusterEvent{Event: "summary", Times: &t})
	}
	return c.app.Printf("\n%d kills of the leader in %s: median %.0f ms, 99 of 100 within %.0f ms, from %.0f to %.0f ms.\n",
		t.N, time.Since(begin).Round(time.Second), t.Median, t.P99, t.Min, t.Max)
}
