// Package rebalanser shares resources out among the members of a group, so that each
// has one owner at a time: queues, partitions, files, sockets, of which ZooKeeper
// knows nothing but the names.
//
// # What it is
//
//	g := rebalanser.New(client, "/rebalanser/orders", rebalanser.Each(
//		func(ctx context.Context, r *rebalanser.Resource) error {
//			return consume(ctx, r.Name(), r.Token()) // ctx ends: finish, and return
//		}), nil)
//	err := g.Run(ctx) // takes part until ctx ends
//
// and, once, who says what there is to share out, before or after the first member:
//
//	admin := rebalanser.Open(client, "/rebalanser/orders", nil)
//	if err := admin.Create(ctx); err != nil { // nothing, if it is there
//		return err
//	}
//	_, err := admin.AddResources(ctx, "orders-1", "orders-2", "orders-3")
//
// One of the members is the coordinator. When members or resources come and go it
// decides anew who gets what, by an [assignor.Assignor], and writes a shard for each
// member whose share changes. Each member gives up what it has and should not have,
// takes what it should have, and tells its [Handler]. Only what moves is touched; the
// rest goes on undisturbed. An [Admin] adds and removes resources, pauses the group,
// and says who owns what. docs/rebalanser.md describes the protocol.
//
// # Guarantees
//
//   - No resource has two owners at a time, as far as owners heed the contexts that
//     they are given: these end before the servers can let anybody else own it. The
//     one exception is a member whose own process is paused (a stopped process, a
//     suspended machine): nothing in it can run in time. For that case there are the
//     token and the guard.
//   - An owner that is to give a resource up is told, and stays the owner until its
//     handler has returned; also when it leaves, when it is the coordinator, and when
//     the resource is removed, and perhaps added again, meanwhile.
//   - [Resource.Token] grows with each owner of a resource. [Resource.Guard] makes a
//     transaction fail once the resource is lost.
//   - As long as somebody is a member, handlers return and servers can be reached,
//     every resource that somebody takes has an owner soon after the last change.
//     Changes that are faster than the sharing out do not keep it from ending.
//   - A former coordinator changes nothing: all that one writes is on condition of
//     the epoch, which its successor has raised.
//
// # How it is lost, and how you find out
//
// What is owned is lost with the session, or when somebody deletes the client's node:
// the contexts of the resources end, with a cause that wraps session.ErrLost and the
// reason, and then [Handler] is told by Lost. A handler that does not return delays
// that call, not the end of the contexts. [Group.Run] goes on as a new client. A mere
// disconnect loses nothing as long as another server answers in time.
//
// # Znodes
//
// All are below the group's path; the clients and the locks of static members are
// those of packages election and lock, the rest is this package's own and persistent.
// docs/rebalanser.md lists them. Resources are the children of "resources", which any
// tool may create and delete; their data is not touched.
//
// # Failures
//
// Errors wrap ErrArgument, ErrMode, ErrNoGroup, ErrInstanceInUse, ErrRunning,
// ErrRecord, what a handler returned, the context's error and cause, or an error of
// package session (ErrLost, ErrClosed, ErrNoAuth, ErrReplyTooLarge when a list of
// children exceeds the client's Options.MaxReply, ...).
//
// # Compatibility
//
// The rules are those of the Rebalanser project; its znodes are not shared with it,
// since what makes these safe differs: docs/rebalanser.md says how, and why.
//
// # Concurrency
//
// All methods may be called from any number of goroutines; one Run at a time per
// Group. Handlers are called by one goroutine at a time.
package rebalanser
