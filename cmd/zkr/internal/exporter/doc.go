// Package exporter has Prometheus metrics of everything that the dashboard recognizes in a
// tree of znodes: the recipes of this library, of Curator and of Kazoo, without a change of
// any application.
//
// One view of the tree serves all scrapes. The series are made again every two seconds from
// what has changed; a scrape only writes them out. While the view may be old, because
// ZooKeeper is away or may not be read, a scrape has no series of the tree at all: the
// metrics store then shows a gap, and not a value of the past.
package exporter
