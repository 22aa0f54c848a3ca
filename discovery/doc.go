// Package discovery registers instances of services and members of groups, and
// lists and follows them.
//
// # What it is
//
//	registry := discovery.NewRegistry(client, "/services", nil)
//	reg, err := registry.Register(ctx, discovery.Instance{
//		Service: "web", ID: "web-1", Address: "10.0.0.7", Port: 8080,
//	}) // session.NewID() is an ID for those without a name
//	if err != nil {
//		return err
//	}
//	defer reg.Unregister(context.WithoutCancel(ctx))
//
//	for instances, err := range registry.Watch(ctx, "web") {
//		...
//	}
//
// A [Registration] is kept: after a lost session it is made again in the next
// session, with the data of its last update, and also after its znode was
// deleted. A [Group] does the same for members with data of any kind. Package
// provider, below this package, picks an instance to use.
//
// # Guarantees
//
//   - A registration is one znode, even if replies are lost. A reconnect
//     within a session does not touch the znode. Names of sequential
//     registrations do not grow.
//   - The last requested state is registered in the end: an update without a
//     connection, or without a session, is not lost, and an older update never
//     follows a newer one. If an update is refused (a move to a name that
//     another instance has), the registration returns to the last state that
//     a server has confirmed, even if a newer state existed for a moment in a
//     session that was lost before the reply.
//   - [Registration.Move] is one transaction: the instance leaves the list of
//     one service at the moment at which it enters the list of the other.
//   - A registration deletes or overwrites only its own znode. An instance
//     that has a name keeps the name; others get ErrConflict. The limit: a
//     write depends on the version of a znode, not on its identity. If an
//     administrator deletes the znode of a live registration, and another
//     process registers under the name before this registration has heard of
//     either, an update or an unregistering at that moment affects the other's
//     znode. An update that is retried after a lost connection never does.
//   - A registration that lost its session is made again in the next session
//     without waiting until the servers expire the former one: one transaction
//     replaces the former znode, so that the instance stays listed. The
//     transaction proves that the znode is the former one. If another client
//     has the name by then, the registration waits until the name is free. The
//     same holds if this client may not delete the former znode, or may not
//     see it.
//   - Unregistering, and giving up, leave nothing behind that outlives the
//     session; see Failures for instances that do not go with a session. The
//     znode of a lost session is deleted as soon as the client has a session
//     again.
//   - [Registry.Watch] and [Group.Watch] show present states, each at least as
//     new as the state before.
//
// # How it is lost, and how you find out
//
// [Registration.State] and [Registration.States] say whether the instance is
// registered at the moment, and if not, why: the session was lost
// (session.ErrLost and a reason), another instance has the name (ErrConflict),
// or a server refuses the registration.
//
// [Registration.Context] is for work that must stop when the registration is
// lost. It ends before the servers can expire the session, like the context of
// a lock, at the same price: while anything is registered, the session proves
// itself by heartbeats (docs/performance.md). Thousands of processes that only
// want to be listed can use session.TrustAnswered, which writes no heartbeats.
//
// After a pause of the process, the Err of [Registration.Context] is correct at
// once, but that of a context derived from it, as HTTP and SQL clients derive
// one, may be nil for some hundred milliseconds: call session.ContextErr
// before a step that must not follow a loss. The same holds for
// [Membership.Context].
//
// # Znodes
//
// "<base>/<service>/<id>", with the instance as JSON; "<path>/<id>" for a
// member of a group. The parents are containers. docs/layout.md has all forms.
// Data that is not an instance, or was not registered in a year from 1 to 9998,
// is listed with [Instance.Err], and affects no other instance.
//
// # Reads
//
// Instance, Instances, Services and Members are plain reads: their state may be past
// if the server lags behind. A majority of the servers has confirmed a negative
// answer: an empty list, or that an instance does not exist
// ([session.Session.ReadFresh]). Watches, views and providers show the state that the
// client's server has reported.
//
// # Failures
//
// Errors wrap ErrInvalidArgument, ErrConflict, ErrUnregistered, ErrMalformed, the
// context's error and cause, or an error of package session.
//
// A Static or Permanent instance does not go with a session: if the client is
// closed, or the process dies, before the unregistering has ended, the instance
// stays. If a session is given up during a write about such an instance, the
// next session waits until the servers have ended the former session, one and a
// half timeouts, unless the servers elect another leader meanwhile: a delayed
// write could otherwise affect another znode later.
//
// If the reply to a creation is lost, the registration finds its znode by name, session
// and data. If another client has changed the data meanwhile, a sequential instance is
// registered twice; any other reports ErrConflict until the session ends. The
// registration does not take every changed znode of the session for its own, because the
// znode could be that of another registry in this process.
//
// ZooKeeper does not report a changed access list, and servers from 3.8.4 and 3.9.2
// on do not report to a client the events of a znode that the client may not read. If
// an instance becomes unreadable while it is watched, a watch, a view and a provider
// show the instance as it was until their next connection, even if it has gone; then
// with Err, or not at all. If the service's znode becomes unreadable, they stay up to
// date until the next connection, and then end with session.ErrNoAuth. A Static or
// Permanent registration whose own client may not read the znode notices its deletion
// on the next connection, or with the next update. Servers from 3.9.3 on hide the version
// of the znode, too, from such a client: after a write of another client, an update fails
// with session.ErrNoAuth, and with session.ErrUnknownOutcome if the reply to the update
// was lost as well.
//
// # Compatibility
//
// The znodes are those of Curator's x-discovery and GroupMember; with [Kazoo]
// and [KazooShallow] those of Kazoo's Party and ShallowParty. If Curator
// registers a name that another instance has, Curator deletes the other's
// znode: a registration of this package then reports a conflict, and waits.
//
// # Concurrency
//
// All methods may be called from any number of goroutines. Use one Registry per
// base path and one Group per path in a process: they record which of their
// znodes belong to which registration, and which sessions were their own. Two
// registries with one client that register the same instance, equal to the
// byte, could take each other's znode for their own after a lost reply.
//
// The client's observer receives each znode that goes with a session as a hold: a
// registration after a loss, and after a Move, is another hold. The observer receives no
// holds and no events for Static and Permanent instances. The goroutine that keeps the
// registration calls the observer, which must therefore not wait for a change of the same
// registration.
package discovery
