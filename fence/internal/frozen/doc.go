// Package frozen is for tests of receivers: it freezes the process of a holder until
// another client holds, and lets the holder write afterwards.
package frozen
