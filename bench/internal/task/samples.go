package task

import "time"

// Samples are the figures of a task of which each operation is measured.
type Samples struct {
	task  Task
	began time.Time
	all   []float64
	meter Meter
}

// StartSamples begins the warm-up of t.
func (t Task) StartSamples() *Samples { return &Samples{task: t, began: time.Now()} }

// Over reports whether the time is over, with at least one figure.
func (s *Samples) Over() bool {
	return len(s.all) > 0 && time.Since(s.began) > s.task.Warm()+s.task.Time()
}

// Add adds a figure, unless the warm-up lasts. The cost is measured from the first figure on.
func (s *Samples) Add(figure float64) {
	if time.Since(s.began) < s.task.Warm() {
		return
	}
	if len(s.all) == 0 {
		s.meter = StartMeter()
	}
	s.all = append(s.all, figure)
}

// Median is the median of the figures, with the cost of an operation.
func (s *Samples) Median() Measured {
	return Measured{Value: Median(s.all), Cost: s.meter.Per(int64(len(s.all) - 1))}
}
