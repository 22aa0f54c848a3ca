// Package ui is the dashboard of "zkr ui": what coordination there is in
// ZooKeeper, as people know it, in pages that stay up to date.
//
// A [Model] keeps one view of the tree (package cache), and whenever that has
// changed, but a few times a second at most, tells anew what there is (package
// recognize), and remembers what no znode says: since when contenders hold, what
// counters were. [Handler] shows it (package web). Nothing is ever written, and
// nothing read but the tree and, for a page about one znode, its access list.
package ui
