package supervise

import (
	"os"
	"syscall"

	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/exit"
)

// adopts: orphaned descendants do not become zkr's children.
const adopts = false

// startGroup refuses: CheckCommand has refused before.
func startGroup([]string, []string, *os.File, *os.File, *os.File) (*group, error) {
	return nil, &exit.Failure{Code: exit.CodeCannotRun, Err: errNeedsUnix}
}

// signal reaches no process.
func (g processGroup) signal(syscall.Signal) error { return errNeedsUnix }

// alive reports that no process is left.
func (g processGroup) alive() bool { return false }

// survive says why killed processes are left.
func (g processGroup) survive() string { return "are not known on this system" }

// killOrphan finds no orphans here.
func killOrphan(int) (gone bool) { return true }

// DieWithParent has no means here.
func DieWithParent(*syscall.SysProcAttr) {}

// ownFile is the program of this process, as long as the file is in its place.
func ownFile() (string, error) { return os.Executable() }

// AdoptOrphans has no means here.
func AdoptOrphans() {}

// signalDescendants finds none.
func signalDescendants(syscall.Signal, int) {}

// descendants finds none.
func descendants(func(int) bool) []int { return nil }
