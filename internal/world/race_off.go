//go:build !race

package world

// raced: the race detector runs.
const raced = false
