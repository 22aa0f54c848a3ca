// Package signals has the signals that zkr observes and passes on: waits until
// a signal, and stopping and continuing this process under a shell's job
// control.
package signals
