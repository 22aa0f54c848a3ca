package task

import (
	"runtime"
	"time"
)

// Cost is the cost of an operation for the process of a peer, with everything that the
// process does meanwhile.
type Cost struct {
	// Processor is the processor time, in microseconds; 0 where the system does not tell.
	Processor float64 `json:"cpu_us"`
	// Allocations is the number of allocations, and Bytes their size.
	Allocations float64 `json:"allocations"`
	Bytes       float64 `json:"bytes"`
}

// Measured is the result of a task.
type Measured struct {
	// Value is the figure of the task's kind.
	Value float64
	// Cost is the cost of an operation, for kinds that count operations.
	Cost *Cost
}

// Meter measures the cost of operations from its start.
type Meter struct {
	processor          time.Duration
	allocations, bytes uint64
}

// StartMeter starts a meter.
func StartMeter() Meter {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return Meter{processor: ProcessorTime(), allocations: m.Mallocs, bytes: m.TotalAlloc}
}

// Per is the cost of each of n operations; nil without any.
func (m Meter) Per(n int64) *Cost {
	if n <= 0 {
		return nil
	}
	now, each := StartMeter(), 1/float64(n)
	return &Cost{
		Processor:   each * float64((now.processor - m.processor).Nanoseconds()) / 1000,
		Allocations: each * float64(now.allocations-m.allocations),
		Bytes:       each * float64(now.bytes-m.bytes),
	}
}
