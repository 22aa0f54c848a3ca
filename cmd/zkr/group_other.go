//go:build !linux

package main

import (
	"os"
	"syscall"
)

// adopts says that orphaned descendants become init's children, not zkr's.
const adopts = false

// dieWithParent has no means here.
func dieWithParent(*syscall.SysProcAttr) {}

// ownFile is the program that this process runs, as long as it is where it was.
func ownFile() (string, error) { return os.Executable() }

// adoptOrphans has no means here.
func adoptOrphans() {}

// signalDescendants finds none: the process group is all there is.
func signalDescendants(syscall.Signal, int) {}

// descendants finds none.
func descendants(func(int) bool) []int { return nil }

// parentOf is not known here.
func parentOf(int) (int, bool) { return 0, false }
