package holding

import (
	"fmt"
	"os"
)

// DefaultID names the holder or waiter, unless the user sets an ID: host name, colon,
// process id.
func DefaultID() string {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	return fmt.Sprintf("%s:%d", host, os.Getpid())
}
