// Package batchwrite changes the data of a single znode: each change once, or not at all,
// whatever replies are lost. Changes of several goroutines are carried out by one write. A
// counter and a shared value differ only in what a [Change] makes of the data.
package batchwrite
