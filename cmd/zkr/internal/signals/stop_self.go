package signals

import (
	"os"
	"os/signal"
	"time"
)

// JobControl concern job control, while a command runs.
var JobControl = []os.Signal{TerminalStop, Cont} // read only

// StopSelf calls its argument, and stops zkr until another process continues
// zkr. In a group without a shell no process would continue zkr, and StopSelf does
// nothing.
func StopSelf(also func()) {
	if !controlled() {
		return
	}
	continued := make(chan os.Signal, 1)
	signal.Notify(continued, Cont)
	defer signal.Stop(continued)
	also()
	stopProcess()
	// The stop may take other threads before this one.
	over := time.NewTimer(time.Second)
	defer over.Stop()
	select {
	case <-continued:
	case <-over.C:
	}
}
