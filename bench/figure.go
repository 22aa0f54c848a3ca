package main

import "github.com/zkrecipes/zkrecipes/bench/internal/task"

// figure is the result, or the error, of a peer in a run.
type figure struct {
	Profile  string  `json:"profile"`
	Workload string  `json:"workload"`
	Peer     string  `json:"peer"`
	Round    int     `json:"round"` // from 1
	Value    float64 `json:"value"`
	Unit     string  `json:"unit"`
	// Cost is the cost of an operation for the peer's process, of peers that tell it.
	Cost  *task.Cost `json:"cost,omitempty"`
	Error string     `json:"error,omitempty"`
}

// better reports whether a is a better value than b.
func better(unit string, a, b float64) bool {
	if unit == perSecond {
		return a > b
	}
	return a < b
}
