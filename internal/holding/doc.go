// Package holding has the steps that all recipes share for a hold, which can be lost:
// running a function under the hold, releasing it once, and the errors of holds.
package holding
