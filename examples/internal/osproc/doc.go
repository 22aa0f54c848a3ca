// Package osproc starts the processes of an example, and kills, freezes and ends them.
package osproc

import (
	"errors"

	"github.com/zkrecipes/zkrecipes/internal/subprocess"
)

// CanFreeze returns an error on Windows, which has no signals that stop a process and let
// it continue.
func CanFreeze() error {
	if subprocess.CanFreeze {
		return nil
	}
	return errors.New("this example stops processes and lets them continue, which needs Unix; on Windows, run it in WSL")
}
