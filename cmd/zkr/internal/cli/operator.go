package cli

import (
	"os"
	"os/user"
)

// Operator names the user of zkr, for records that other users read: the user and the host.
func Operator() string {
	name, host := "unknown", "unknown"
	if u, err := user.Current(); err == nil {
		name = u.Username
	}
	if h, err := os.Hostname(); err == nil {
		host = h
	}
	return name + "@" + host
}
