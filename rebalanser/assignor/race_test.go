//go:build race

package assignor_test

// raced says that the race detector makes everything many times slower.
const raced = true
