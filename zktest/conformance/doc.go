// Package conformance compares the in-process server of package zktest with
// Apache ZooKeeper, request by request. It consists of tests only.
//
// Each case is a script of requests of raw clients, which know only the wire
// format. The script is played to both servers, and the two transcripts must be
// equal: answers, error codes, every field of Stat, watch events and their
// place between the answers. Values that cannot be equal are made comparable
// first: transaction ids count from the start of the case, session ids become
// the names of their clients, times must only be close, and children, which
// have no defined order, are sorted.
//
// The remaining differences are listed in the test with their reasons; an entry whose
// difference has gone is a failure too.
package conformance
