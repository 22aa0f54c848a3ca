// Package ensemble is a model of one to several ZooKeeper servers: what their
// clients can observe, without the consensus protocol behind it.
//
// There is one leader; the others follow with replicas of their own. Only the
// leader decides that a session has expired, in buckets of a tick. A follower
// notes which of its clients it heard from (touches) and passes that on in its
// answer to the leader's ping, every half tick, over the same first-in
// first-out stream on which it forwards writes. A change is committed when a
// majority has it. A follower that lost its leader, and a leader that lost its
// majority, go on answering what they can answer alone until syncLimit ticks
// have passed; then they close their clients' connections.
//
// Nothing here does I/O, starts goroutines or reads a clock: time and timers
// come through Clock, connections through Sink. All methods must be called
// with the lock held that guards the World, and Clock runs callbacks so.
package ensemble
