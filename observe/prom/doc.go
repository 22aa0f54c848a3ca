// Package prom has an observer that keeps Prometheus metrics of the recipes and sessions of
// one client, or of several.
//
//	metrics := prom.New(nil)
//	prometheus.MustRegister(metrics)
//	client, err := session.Connect(ctx, servers, &session.Options{Observer: metrics})
//
// # Metrics
//
// Durations are in seconds. kind is a kind of package observe, with "_" for a space: lock,
// permit, read_lock, write_lock, leadership, seat, registration, membership, node, worker,
// resource, task_attempt, barrier, round.
//
//	zkrecipes_waiting{kind,path}                   gauge: waits in progress
//	zkrecipes_oldest_wait_seconds{kind,path}       gauge: age of the oldest of them
//	zkrecipes_wait_seconds{kind,path,result}       histogram: waits that ended: granted, given_up (by the caller), not_granted (TryLock and the like, if another client holds or waits) or failed
//	zkrecipes_held{kind,path}                      gauge: what is held; one too many for a moment of a hand-over within the process
//	zkrecipes_oldest_hold_seconds{kind,path}       gauge: age of the oldest hold
//	zkrecipes_hold_seconds{kind,path,end}          histogram: holds that ended: released, handed_over, unconfirmed (no server has answered the release for a session timeout) or lost
//	zkrecipes_losses_total{kind,path}              counter: holds that were lost; 0 from the first hold on, so that an alert sees the first loss
//	zkrecipes_rounds_total{path}                   counter: rounds of barriers that this process has passed
//	zkrecipes_batch_operations_total{path}       counter: operations of counters and values, several of which may travel together
//	zkrecipes_batch_seconds{path,result}   histogram: their batches: ok, declined (by functions of Update) or failed
//	zkrecipes_batch_conflicts_total{path}        counter: batches that another client was faster than
//	zkrecipes_transaction_seconds{result}          histogram: transactions of package stm: ok, declined (by their function, or since a znode does or does not exist) or failed
//	zkrecipes_transaction_attempts_total           counter: runs of their functions
//	zkrecipes_unknown_outcomes_total{what}         counter: replies that were lost, and found out about: counter (or value) or transaction
//	zkrecipes_unresolved_outcomes_total{what}      counter: calls that ended without knowing whether their write was carried out (session.ErrUnknownOutcome): counter, transaction, barrier, job or tasks
//	zkrecipes_cache_synced{path}                   gauge: 1 while all running caches of the path are current, otherwise 0
//	zkrecipes_cache_stale_seconds{path}            gauge: how long the cache that is longest not current has not been, also before its first load; 0 while all are current
//	zkrecipes_cache_entries{path}                  gauge: entries of the running caches when each was loaded last
//	zkrecipes_cache_load_seconds{path}             histogram: time until a cache was current, again
//	zkrecipes_member_changes_total{path,change}    counter: workers of a job that joined, left or died; failed and died are 0 from the first change of a worker on
//	zkrecipes_rebalance_seconds{path,result}       histogram: assignments: ok or failed
//	zkrecipes_rebalance_moves_total{path}          counter: resources that got another owner
//	zkrecipes_assignment_seconds{path}             histogram: time until a member of a group had what it was assigned, and nothing else
//	zkrecipes_rebalance_members{path}              gauge: members of a group at the last assignment, while this process coordinates it
//	zkrecipes_rebalance_resources{path}            gauge: resources of a group at the last assignment, while this process coordinates it
//	zkrecipes_task_changes_total{path,from,to}     counter: changes of tasks' states; those to failed and dead are 0 from the first change of a task on
//	zkrecipes_task_state_seconds{path,state}       histogram: time that tasks were in a state, if it is known
//	zkrecipes_clients{status}                      gauge: clients by the status of their session
//	zkrecipes_session_changes_total{status}        counter: changes to that status
//	zkrecipes_disconnected_seconds                 gauge: how long the client that is longest without a connection has been so
//	zkrecipes_session_holds                        gauge: what the sessions hold, as of ten seconds ago at most; 0 within seconds of the last release
//	zkrecipes_session_watches                      gauge: their watches and subscriptions
//	zkrecipes_session_deletions                    gauge: deletions in the background that no server has confirmed
//	zkrecipes_trust_left_seconds                   gauge: time until the holds of the session with the least trust are given up, unless a proof comes before; computed for each scrape, from the last heartbeat or sample
//	zkrecipes_trust_low_total                      counter: how often a session with holds came close to their loss
//	zkrecipes_heartbeat_seconds{result}            histogram: heartbeats: ok or failed
//	zkrecipes_requests_total{op,result}            counter: requests, by package observe's results
//	zkrecipes_request_seconds{op}                  histogram: time until their replies
//
// An alert on losses is increase(zkrecipes_losses_total[10m]) > 0.
//
// # Paths
//
// Each path is a value of a label, and a metrics store pays for each. The observer therefore
// gives the first 200 paths as they are ([Options.MaxPaths]), and "other" in place of all
// further ones. An application with a lock per user, say, sets [Options.PathLabel] to a
// function that gives "/locks/*" for all of them.
package prom
