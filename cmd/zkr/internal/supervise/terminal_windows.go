package supervise

import "os"

// terminal is nothing here: consoles have no foreground process group.
type terminal struct {
	own int
	on  bool
}

func terminalOf(*os.File) *terminal { return &terminal{} }

// foreground is not known here.
func (t *terminal) foreground() (group int, ok bool) { return 0, false }

// ours reports that zkr has no terminal to hand over.
func (t *terminal) ours() bool { return false }

// give has no means here.
func (t *terminal) give(int) {}

// ignoreStops is not needed: nothing stops zkr.
func (t *terminal) ignoreStops() {}

// heedStops is not needed: nothing stops zkr.
func (t *terminal) heedStops() {}

// stopJob has no means here.
func stopJob() {}
