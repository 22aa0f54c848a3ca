// Package house checks the rules of this project that a program can check: allowed
// imports between folders, the length of files and functions, documentation,
// forbidden calls and package state, and tests for the requirements listed in
// docs/.
//
// The package consists of tests. Each rule (rule_*_test.go) is a function from a
// parsed source tree to findings. A rule knows neither the file system nor its
// test, so the test of a rule feeds the rule small trees with breaches: a check
// that cannot fail is worth nothing.
//
// The checks read syntax only and resolve no types. A check that has to guess (any
// method named Go with a function starts a goroutine) guesses on the strict side.
package house
