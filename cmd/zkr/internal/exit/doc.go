// Package exit maps errors to exit codes. [Failure] is an error with an exit code and
// advice; [Classify] finds the exit code of any error of the library.
package exit
