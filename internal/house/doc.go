// Package house checks the rules of this project that a program can check:
// which folder may import which, how long files and functions are, what is
// documented, which calls and which kinds of package state are forbidden, and
// that the requirements listed in docs/ have the tests that they claim.
//
// It consists of tests. Each rule (rule_*_test.go) is a function from a parsed
// source tree to findings. It knows neither the file system nor the test that
// runs it, so its own test feeds it small trees that break the rule: a check
// that cannot fail is worth nothing.
//
// The checks read syntax only and resolve no types. Where that makes one guess
// (any method named Go with a function starts a goroutine), the guess is on
// the strict side.
package house
