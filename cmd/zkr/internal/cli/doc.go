// Package cli is what a command line of zkr is made of: global flags and their
// environment, arguments, connections, output as tables or JSON lines, notes on stderr,
// help, manual, completion, and the exit codes that the help of a command lists.
//
// [App] is one run of zkr. A command connects by [App.Call] (a short call that ends by
// itself), [App.LongCall] (one that may take long), [App.Await] (a wait with a timeout)
// or [App.Follow] (until a signal ends it), prints by [App.Table] and [App.PrintJSON],
// and reports errors by returning them.
//
// The package knows no recipe and no command.
package cli
