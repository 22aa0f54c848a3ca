// Package zktest is a ZooKeeper server inside the process, for tests, demos and
// laptops. It speaks the protocol of Apache ZooKeeper 3.8, over TCP or over
// in-memory connections inside a testing/synctest bubble, and a test can inject
// the faults of production.
//
// # What it is
//
//	server, err := zktest.Start(&zktest.Options{InMemory: true})
//	if err != nil {
//		return err
//	}
//	defer server.Close()
//	client, err := session.Connect(ctx, server.Addr(), &session.Options{Dialer: server.Dial})
//
// and then, for example, server.ExpireSession, server.CutAll, server.FailNth;
// docs/testing.md has a whole test. Without InMemory the server listens on a
// port of its own, for any client.
//
// Start serves one server, or with Options.Servers a model of an ensemble: one
// leader, the only judge of sessions; followers with their own replicas; and
// links between servers, which a test can cut. All client requests are answered
// as by Apache's server, except dynamic reconfiguration and SASL mechanisms other than
// DIGEST-MD5.
//
// Run Apache ZooKeeper in production. This server stores nothing on disk, so
// all data is gone with Close (not with Stop). The server has one lock for
// everything and no TLS, and models elections instead of running a protocol.
//
// # Guarantees
//
// A session's requests are answered in their order. A watch event is sent
// before the reply that shows the change. Sessions expire at the first tick
// after their timeout, never before. Under synctest everything happens in
// virtual time, and after Close no goroutine is left.
//
// A client that sends requests without reading the replies is throttled: the
// server keeps at most some 5 MB of replies and 5 MB of requests for each
// connection, and then stops reading from the connection until the client
// reads.
//
// A connection without a session request within 10 seconds is closed, as by
// Apache's server with its default of zookeeper.nio.sessionlessCnxnTimeout.
//
// # Differences from Apache's server
//
// The order of children depends only on the history of creates and deletes
// (Apache's order is arbitrary too; neither is sorted). A restarted server
// keeps its data in memory. Elections take Options.ElectionDelay, and a joining
// follower gets its snapshot at once. The suffixes of sequential nodes stay at
// 2147483647 as Apache's do, but never wrap under concurrent creates, as
// Apache's can. A change by the administrator's methods (Create, Set, Delete,
// SetSequence, SetVersion) is committed even without a majority.
//
// # Failures
//
// Start fails when the server cannot listen or an option is invalid. The fault
// methods document what they break; a call that names a missing server or
// session returns an error.
//
// # Concurrency
//
// All methods may be called at any time from any goroutine, including from the
// hooks. Hooks are called by one goroutine, one after the other, without locks.
package zktest
