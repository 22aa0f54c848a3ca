// Package zktest is a ZooKeeper server inside the process, for tests, demos
// and laptops. It speaks the protocol of Apache ZooKeeper 3.8, over TCP or
// over in-memory connections that live inside a testing/synctest bubble, and
// lets a test break whatever breaks in production.
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
// and then, for instance, server.ExpireSession, server.CutAll, server.FailNth;
// docs/testing.md has a whole test. Without InMemory it listens on a port of
// its own, for any client.
//
// Start serves one server, or with Options.Servers a model of an ensemble:
// a leader that alone decides about sessions, followers with replicas of their
// own, links between them that can be cut. All requests that Apache's server
// answers for clients are answered the same way, except SASL and dynamic
// reconfiguration. Production is Apache ZooKeeper: this keeps nothing on disk,
// so all data is gone with Close (not with Stop), it has one lock for
// everything, no quotas, no TLS, and its elections are a model, not a protocol.
//
// # Guarantees
//
// A session's requests are answered in their order; a watch event is sent
// before the answer that shows the change; sessions expire at the first tick
// after their timeout, never before. Under synctest everything happens in
// virtual time, and after Close no goroutine is left.
//
// # What it does differently
//
// The order of children is fixed by their names (Apache's is arbitrary too,
// neither is sorted). A restarted server keeps its data in memory. Elections
// take Options.ElectionDelay, and a joining follower gets its snapshot at
// once. The suffixes of sequential nodes stick at 2147483647 as Apache's do,
// but never wrap under concurrent creates, which Apache's can. A change made
// by the administrator's methods (Create, Set, Delete, SetSequence, SetVersion)
// is committed even without a majority.
//
// # Failures
//
// Start fails when it cannot listen or an option makes no sense. The fault
// methods say what they break; a test that asks for a server or session that
// does not exist gets an error.
//
// # Concurrency
//
// All methods may be called at any time from any goroutine, also from the
// hooks. Hooks are called by one goroutine, one after the other, without locks.
package zktest
