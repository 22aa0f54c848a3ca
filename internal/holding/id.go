package holding

import (
	"fmt"
	"os"
)

// DefaultID says who holds or waits, unless the user says it: host name, colon,
// process id.
func DefaultID() string {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	return fmt.Sprintf("%s:%d", host, os.Getpid())
}
