// Package ui is the dashboard of "zkr ui": the coordination in ZooKeeper, in
// terms of recipes, on pages that stay up to date.
//
// A [Model] keeps one view of the tree (package cache). Whenever the tree has
// changed, but a few times a second at most, the model recognizes the changed
// znodes again (package recognize). The model remembers facts stored in no
// znode: since when contenders hold, and former values of counters. [Handler]
// shows the view (package web). The dashboard never writes, and reads only the
// tree and, for a page about one znode, its access list.
//
// A [Past] has the views of an archive (package history) instead, and [PastHandler] shows them
// on the same pages. A page about the past has a stream like all pages: it tells how much of
// the files has been read, and brings another moment when the time line asks for one. All links
// keep the moment (keepMoment).
package ui
