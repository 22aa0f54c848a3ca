// Package ensemble is a model of one to several ZooKeeper servers: the behavior that
// clients can observe, without the consensus protocol behind it.
//
// One server leads; the others follow with replicas of their own. Only the
// leader decides that a session has expired, in buckets of a tick. A follower
// records signs of life of its clients (touches) and reports them in its answer
// to the leader's ping, every half tick, over the same first-in first-out
// stream as forwarded writes. A change is committed when a majority has logged
// the change. A follower without a leader, and a leader without a majority,
// continue to answer reads until syncLimit ticks have passed; then they close
// their clients' connections.
//
// Nothing here does I/O, starts goroutines or reads a clock: time and timers
// come through Clock, connections through Sink. The caller of any method must
// hold the lock of the World; Clock runs callbacks with the lock held.
package ensemble
