package taskformat

import "time"

// Key is the data of a znode in DirUnique: which task has the key. A task that replaces
// another keeps no field of the record, which would describe the other task.
type Key struct {
	Format int    `json:"format"`
	Key    string `json:"key"`
	// Task is the id, and Run the run, of the task that was submitted last.
	Task string `json:"task"`
	Run  string `json:"run"`
	// Until is the end of the period in which no other task gets the key, by the servers'
	// clock; zero: the task has the key until it ends.
	Until time.Time `json:"until,omitzero"`
}

// Valid reports whether a client writes such a record.
func (k Key) Valid() bool {
	return k.Format == Format && k.Key != "" && k.Task != "" && len(k.Run) == RunLength && isName(k.Run)
}
