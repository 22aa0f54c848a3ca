package signals

import (
	"os"
	"os/signal"
	"time"
)

// JobControl concern job control, while a command runs.
var JobControl = []os.Signal{TerminalStop, Cont} // read only

// StopSelf stops zkr, after it has done what belongs to that, until somebody
// continues it. Where nobody could, in a group that no shell controls, it does
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
