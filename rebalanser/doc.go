// Package rebalanser shares resources out among the members of a group, so that
// each resource has one owner at a time. Resources are queues, partitions,
// files or sockets; ZooKeeper knows only their names.
//
// # What it is
//
//	g := rebalanser.New(client, "/rebalanser/orders", rebalanser.Each(
//		func(ctx context.Context, r *rebalanser.Resource) error {
//			return consume(ctx, r.Name(), r.Token()) // ctx ends: finish, and return
//		}), nil)
//	err := g.Run(ctx) // takes part until ctx ends
//
// and, once, before or after the first member, a declaration of the resources:
//
//	admin := rebalanser.Open(client, "/rebalanser/orders", nil)
//	if err := admin.Create(ctx); err != nil { // changes nothing if the group exists
//		return err
//	}
//	_, err := admin.AddResources(ctx, "orders-1", "orders-2", "orders-3")
//
// One of the members is the coordinator. When members or resources come and go,
// the coordinator decides with an [assignor.Assignor] which member gets which
// resource, and writes a shard for each member whose share changes. Each member
// gives up the resources outside its shard, takes the resources of its shard,
// and tells its [Handler]. Only resources that move are touched; all others
// continue undisturbed. An [Admin] adds and removes resources, pauses the
// group, reports the owners, and follows them ([Admin.States]). docs/rebalanser.md
// describes the protocol.
//
// # Guarantees
//
//   - No resource has two owners at a time, if owners heed their contexts: a
//     context ends before the servers can let another member own the resource.
//   - This has three exceptions, for which the token and the guard are made: a
//     pause of the member's own process (a stopped process, a suspended
//     machine); znodes of the group that an administrator deletes; and an
//     ensemble that loses acknowledged transactions. docs/guarantees.md has the
//     details.
//   - An owner that must give a resource up is told, and stays the owner until
//     its handler has returned. This also holds when the member leaves, when
//     the member is the coordinator, and when the resource is removed, and
//     perhaps added again, meanwhile.
//   - With [Options.StartWhenComplete], a member's handler is told of
//     resources only when the member owns every resource that it has been
//     assigned. Without the option, in resource mode, each resource is started
//     as soon as it is owned, and no resource is idle while another resource
//     is still being given up elsewhere.
//   - [Resource.Token] grows with each owner of a resource. [Resource.Guard]
//     makes a transaction fail once the resource is lost.
//   - If the group has a member, handlers return and servers are reachable,
//     every resource that a member takes has an owner soon after the last
//     change. Changes that come faster than a rebalancing do not keep the
//     rebalancing from ending.
//   - A former coordinator changes nothing: all writes of a coordinator are on
//     condition of the epoch, which its successor has raised.
//
// # How it is lost, and how you find out
//
// Resources are lost with the session, or when the client's znode is deleted:
// the contexts of the resources end, with a cause that wraps session.ErrLost
// and the reason, and then Lost tells the [Handler]. A handler that does not
// return delays that call, not the end of the contexts. [Group.Run] continues
// as a new client. A disconnect alone loses nothing if another server answers
// in time.
//
// After a pause of the process, the Err of [Resource.Context] is correct at
// once, but that of a context derived from it, as HTTP and SQL clients derive
// one, may be nil for some hundred milliseconds: call session.ContextErr
// before a step that must not follow a loss.
//
// # Reads
//
// All methods of [Admin], and [Group.Run] before it joins, read a state that
// includes everything committed before the call: a transaction that a quorum
// commits goes ahead of the reads ([session.Session.ReadFresh]). ErrNoGroup,
// ErrMode, and "the resource exists already" are therefore true of a moment
// during the call. [Admin.States] reads in the same way after each change, so
// that no element is older than the element before; elements may be skipped.
// [Group.State] is the knowledge of this process, and sends no request.
//
// Records carry a format number. Fields that a newer version has added survive
// when an older version rewrites the record. A record of a newer format is
// refused with ErrRecord and never replaced; a barrier that cannot be read
// frees nothing. [Status.Unreadable] lists such records.
//
// # Znodes
//
// All znodes are below the group's path. The clients, and the locks of static
// members, are those of packages election and lock; the rest belongs to this
// package and is persistent. docs/rebalanser.md lists the znodes. Resources are
// the children of "resources", which any tool may create and delete; their data
// is not touched.
//
// # Failures
//
// Errors wrap ErrInvalidArgument, ErrMode, ErrNoGroup, ErrInstanceInUse, ErrRunning,
// ErrRecord, the error of a handler, the context's error and cause, or an error
// of package session (ErrLost, ErrClosed, ErrNoAuth, ErrReplyTooLarge when a
// list of children exceeds the client's Options.MaxReply, ...).
//
// # Compatibility
//
// The rules are those of the Rebalanser project. The znodes are not shared with
// it, because this package makes the rules safe in a different way:
// docs/rebalanser.md says how, and why.
//
// # Concurrency
//
// All methods may be called from any number of goroutines; one Run at a time
// per Group. Handlers are called by one goroutine at a time.
package rebalanser
