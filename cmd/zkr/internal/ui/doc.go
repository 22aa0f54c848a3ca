// Package ui is the dashboard of "zkr ui": what coordination there is in
// ZooKeeper, as people know it, in pages that stay up to date.
//
// A [Model] keeps one view of the tree (package cache). Whenever the tree has changed,
// but a few times a second at most, the model recognizes again what the znodes are
// (package recognize). The model remembers what no znode says: since when contenders
// hold, what counters were. [Handler] shows the view (package web). The dashboard never
// writes, and reads only the tree and, for a page about one znode, its access list.
package ui
