// Package discovery says who is there: the instances of services, and the members
// of groups.
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
// one, with the data of its last update, and also when somebody deletes its znode.
// A [Group] does the same for members with data of any kind. Package provider,
// below this one, picks an instance to use.
//
// # Guarantees
//
//   - One registration is one znode, whatever answers get lost. A reconnect within
//     a session does not touch it. Names of sequential ones do not grow.
//   - What was wanted last is what is registered in the end: an update that was
//     made while there was no connection, or no session, is not lost, and an older
//     one never follows on a newer. What is refused (a move to a name that somebody
//     else has) gives way to what was there before, also if it was there for a
//     moment, in a session that was lost before its answer came.
//   - [Registration.Move] is one transaction: who is listed for one service is
//     taken off it in the moment in which it is listed for the other.
//   - Nobody's znode but one's own is deleted or overwritten. Who has a name keeps
//     it; others get ErrConflict, and what was registered before it lost its
//     session waits until the name is free. The limit of that: a znode has no
//     identity that a write could be made to depend on. If an administrator
//     deletes the znode of a living registration, and another process registers
//     under its name before this one has heard of either, an update or
//     unregistering in that very moment hits the other's.
//   - Unregistering and giving up leave nothing behind that outlives the session;
//     see Failures about instances that do not go with one.
//   - [Registry.Watch] and [Group.Watch] show present states, each at least as new
//     as the one before.
//
// # How it is lost, and how you find out
//
// [Registration.State] and [Registration.States] say whether it is registered at
// the moment, and if not, why: the session was lost (session.ErrLost and a
// reason), somebody else has the name (ErrConflict), a server refuses it.
// [Registration.Context] is for work that must stop when the registration is
// lost: it ends before the servers can expire the session, as a lock's does, and
// at the same price: while anything is registered the session proves itself by
// heartbeats (docs/performance.md). Thousands of processes that only want to be
// listed can do with session.TrustAnswered, which writes none.
//
// # Znodes
//
// "<base>/<service>/<id>", with the instance as JSON; "<path>/<id>" for a member
// of a group. The parents are containers. docs/layout.md has all forms. Data that
// is no instance, or was registered in no year from 1 to 9998, is listed with
// [Instance.Err], and disturbs no other.
//
// # Failures
//
// Errors wrap ErrArgument, ErrConflict, ErrUnregistered, ErrMalformed, the
// context's error and cause, or an error of package session. A Static or Permanent
// instance goes with no session: if the client is closed, or the process dies,
// before its unregistering has come to an end, it stays. If a session is given up
// over a write about one, the next waits until the servers have ended that session,
// one and a half timeouts, unless they elect another leader meanwhile: what got
// stuck could hit another one's znode later.
//
// # Compatibility
//
// The znodes are those of Curator's x-discovery and GroupMember; with [Kazoo] and
// [KazooShallow] those of Kazoo's Party and ShallowParty. Curator's own registering
// of a name that somebody else has deletes the other's znode: a registration of
// this package then reports a conflict, and waits.
//
// # Concurrency
//
// All methods may be called from any number of goroutines. A process needs one
// Registry for each base path, and one Group for each path: they know which znodes
// are whose of those that they have made, and which sessions were their own. Two
// with one client that register the same, to the byte, could take each other's
// znode for their own when an answer is lost.
package discovery
