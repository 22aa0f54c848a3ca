// Package kubelock is a lock for the leader election of Kubernetes' client-go and of
// controller-runtime, in ZooKeeper. It imports neither.
//
// # What it is
//
//	lock := kubelock.New[resourcelock.LeaderElectionRecord](client, "/election/controller", podName, nil)
//	manager, err := ctrl.NewManager(config, ctrl.Options{
//		LeaderElection:                      true,
//		LeaderElectionResourceLockInterface: lock,
//	})
//	...
//	err = lock.Run(ctx, manager.Start)
//
// A *Lock[resourcelock.LeaderElectionRecord] implements resourcelock.Interface of
// k8s.io/client-go/tools/leaderelection. With client-go alone, Run runs
// leaderelection.RunOrDie with the lock:
//
//	err = lock.Run(ctx, func(ctx context.Context) error {
//		leaderelection.RunOrDie(ctx, leaderelection.LeaderElectionConfig{Lock: lock, ...})
//		return nil // after the work of OnStartedLeading has returned
//	})
//
// Use it to keep the code of a controller as it is, with standbys that keep warm caches. If a
// standby needs nothing, election.Elector.Run is simpler:
// elector.Run(ctx, func(ctx context.Context, l *election.Leadership) error {...}).
//
// # Guarantees
//
// client-go alone elects by leases in a record of the API server. A holder renews the
// record, and other clients take it over when they have seen no renewal for the lease's
// duration: client-go does not promise that two never act as leaders
// (kubernetes/kubernetes#67651). A holder that cannot renew goes on for RenewDeadline, by
// timers that a busy process serves late; and a holder whose record was taken over and
// given back renews it again, without telling its work.
//
// This package has the same interface and another rule. A leadership of package election
// decides, and the record only tells of it:
//
//   - Create and Update succeed only while this process leads the election on the path.
//     The first of them stands in the election, and wins if no other candidate exists. Each
//     write is a transaction with the guard of the leadership: a former leader's write is
//     refused by the servers.
//   - The context that Run gives to its function ends when the leadership is lost, before
//     the servers can let another candidate lead. The contexts of OnStartedLeading and of
//     the manager's runnables are derived from it.
//   - The leadership is given back when the function of Run has returned, not when
//     client-go releases the lock before. Run the work inside the function, and wait for
//     it there; manager.Start does that, within its GracefulShutdownTimeout.
//   - A record whose leader has ended reads as released: a process that crashes is
//     replaced after its session timeout, one that stops at the next RetryPeriod. No
//     client waits for a LeaseDuration, and no clocks are compared.
//   - After a loss, Create and Update fail until Run has returned: client-go cannot take
//     the lock again behind the back of its work.
//
// LeaseDuration, RenewDeadline and RetryPeriod therefore do not decide about safety.
// RetryPeriod is how often a standby asks; a leader that could not write its record for
// RenewDeadline ends, also if it still leads.
//
// The limits of package election remain: work that does not heed its context, and a process
// that is paused, may overlap with the next leader. [Lock.Held] has the token and the guard
// for such writes. controller-runtime's Start returns after GracefulShutdownTimeout (30
// seconds by default) although runnables still run: set it to -1, to wait for them.
//
// # How it is lost, and how you find out
//
// The context of Run's function ends, context.Cause says why, and Run returns an error that
// wraps session.ErrLost. End the process then, as client-go and controller-runtime expect;
// a manager cannot be started twice. session.ContextErr compares the clock for the context
// of the function, and for contexts derived from it.
//
// # Znodes
//
// The candidates are children of the path, as in package election, with the identity as
// data. Beside it, the persistent znode "<path>.record" has the leadership's token and the
// path of its candidate in its first line, and client-go's record as JSON behind it.
//
// # Failures
//
// Create and Update fail with [ErrNotRunning], [ErrHeld], an error that wraps
// session.ErrLost, or one of package session. Get does not fail with NotFound: a missing or
// unreadable record reads as one that was released. client-go logs these errors, and
// retries.
//
// # Compatibility
//
// client-go from 0.17, whose interface has contexts; tested with client-go 0.37 and
// controller-runtime 0.25. The parameter of Lock is a type whose JSON has the field
// holderIdentity. Coordinated leader election (alpha) is not supported. Processes that
// elect by a Lease and by this package do not see each other: stop all before a change.
//
// # Concurrency
//
// All methods may be called from any number of goroutines, except that one Run of a Lock is
// in progress at a time. A Lock is for one LeaderElector at a time.
package kubelock
