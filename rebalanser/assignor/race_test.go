//go:build race

package assignor_test

// raced is true under the race detector, which is many times slower.
const raced = true
