package world

import (
	"os"
	"time"

	"github.com/zkrecipes/zkrecipes/session"
)

// sharingVariable is the environment variable with the folder in which the sessions of all
// clients share their heartbeats; without it each session sends its own.
const sharingVariable = "ZKTEST_SHARED_HEARTBEATS"

// withSharing returns o for the way in which the tests are run: options with a timing of their
// own are left as they are.
func withSharing(o session.Options) session.Options {
	folder := os.Getenv(sharingVariable)
	if folder == "" || o.SharedHeartbeats != "" || o.Timeout != 0 || o.TickTime != 0 || o.StopMargin != 0 || o.Trust != session.TrustQuorum || OnKeeper() {
		return o
	}
	o.SharedHeartbeats, o.TickTime = folder, 2*time.Second // the test server's tick
	return o
}
