package apache

import (
	"fmt"
	"os"
	"time"
)

// Mode is a way to get at an Apache ZooKeeper.
type Mode string

// The ways to run a server. The zero value chooses: ZKTEST_MODE if set, else
// Given if ZKTEST_SERVERS is set, else Jars if found, else Docker if a daemon
// answers.
const (
	Jars   Mode = "jars"
	Docker Mode = "docker"
	Given  Mode = "servers"
)

// The variables of the environment that the package reads.
const (
	// EnvMode chooses the Mode.
	EnvMode = "ZKTEST_MODE"
	// EnvServers is the connect string of a running ensemble.
	EnvServers = "ZKTEST_SERVERS"
	// EnvImage is the Docker image.
	EnvImage = "ZKTEST_IMAGE"
	// EnvRequire, set to 1, turns the skip of Require into a failure.
	EnvRequire = "ZKTEST_REQUIRE_REAL"
	// EnvHome is an unpacked release of ZooKeeper.
	EnvHome = "ZOOKEEPER_HOME"
	// EnvNext is another release, to which this project's tests upgrade their servers.
	EnvNext = "ZKTEST_NEXT_HOME"
)

// The default Docker images: DefaultImage, unless only LocalImage, made by
// scripts/build-image.sh, is present.
const (
	DefaultImage = "zookeeper:3.9"
	LocalImage   = "zkrecipes/zookeeper:local"
)

// Options of a cluster. The zero value is a standalone server with defaults for
// fast tests, not for production.
type Options struct {
	// Servers is 1 (default: standalone), 3 or 5.
	Servers int
	// Mode is how to run them; see the constants for the default.
	Mode Mode
	// Own: the test kills or pauses servers and cannot use a shared ensemble.
	// Cuts implies Own.
	Own bool
	// Cuts makes links cuttable. Cuts need root.
	Cuts bool

	// TickTime is the server's unit of time; default 200 ms. Tests of trust
	// want 500 ms to 2 s.
	TickTime time.Duration
	// InitLimit is how long followers may take to sync, in ticks; default 50.
	InitLimit int
	// SyncLimit is how long a follower may be silent, in ticks; default 5.
	SyncLimit int
	// MinSessionTimeout and MaxSessionTimeout bound the session timeouts of
	// clients; default 2 ticks and 60 s.
	MinSessionTimeout, MaxSessionTimeout time.Duration
	// ContainerInterval is how often empty containers and old TTL nodes are
	// looked for; default 1 s (a server's own default is a minute).
	ContainerInterval time.Duration
	// NoExtendedTypes leaves TTL nodes refused, as servers do by default.
	NoExtendedTypes bool
	// Fsync makes servers wait for the disk; off by default.
	Fsync bool
	// Heap is the Java heap of each server in MiB; default 128.
	Heap int

	// Spare is how many of the servers, the last ones, do not run at first and are no members
	// of the ensemble. After Launch, which lets them follow without a vote, they can join by
	// a reconfiguration, which any client may ask for; see Cluster.Member. With Mode Jars only.
	Spare int

	// Counters names persistent nodes that exist from the start, each with the
	// number of its next sequential child, for instance near the end
	// (2147483647). Not with a Given ensemble.
	Counters map[string]int32
	// Versions names persistent nodes that exist from the start, each with the
	// version of its (empty) data: 2147483647, or -2, which clients would reach
	// only after billions of changes. Not with a Given ensemble.
	Versions map[string]int32
	// Config are further lines of zoo.cfg, Properties further -D properties.
	Config, Properties map[string]string
	// SASLUsers are the users of SASL's mechanism DIGEST-MD5, with their passwords. Not
	// with a Given ensemble.
	SASLUsers map[string]string
	// Image is the Docker image; default $ZKTEST_IMAGE, then LocalImage if
	// present and DefaultImage is not, then DefaultImage.
	Image string
	// Dir is where the temporary folder is made; default os.TempDir().
	Dir string
}

// withDefaults returns a copy with the defaults in place, or an error with the name
// of the invalid field.
func (o *Options) withDefaults() (*Options, error) {
	var f Options
	if o != nil {
		f = *o
	}
	if f.Mode == "" {
		f.Mode = Mode(os.Getenv(EnvMode))
	}
	switch f.Mode {
	case "", Jars, Docker, Given:
	default:
		return nil, fmt.Errorf("apache: Mode or %s is %q; it must be jars, docker or servers", EnvMode, f.Mode)
	}
	f.Servers = or(f.Servers, 1)
	switch f.Servers {
	case 1, 3, 5:
	default:
		return nil, fmt.Errorf("apache: Servers is %d; it must be 1, 3 or 5", f.Servers)
	}
	if f.TickTime < 0 || f.MinSessionTimeout < 0 || f.MaxSessionTimeout < 0 || f.ContainerInterval < 0 {
		return nil, fmt.Errorf("apache: a duration is negative")
	}
	if f.Spare < 0 || f.Spare > 0 && (f.Mode != Jars || f.Spare > f.Servers-3) {
		return nil, fmt.Errorf("apache: Spare is %d of %d servers, with Mode %q; three servers must be left, and Mode %q", f.Spare, f.Servers, f.Mode, Jars)
	}
	f.Own = f.Own || f.Cuts || f.Spare > 0 || len(f.Counters)+len(f.Versions)+len(f.SASLUsers) > 0
	f.TickTime = or(f.TickTime, 200*time.Millisecond)
	f.InitLimit = or(f.InitLimit, 50)
	f.SyncLimit = or(f.SyncLimit, 5)
	f.MinSessionTimeout = or(f.MinSessionTimeout, 2*f.TickTime)
	f.MaxSessionTimeout = or(f.MaxSessionTimeout, 60*time.Second)
	f.ContainerInterval = or(f.ContainerInterval, time.Second)
	f.Heap = or(f.Heap, 128)
	f.Image = or(f.Image, os.Getenv(EnvImage))
	f.Dir = or(f.Dir, os.TempDir())
	return &f, nil
}

// or returns a unless a is zero, else b.
func or[T comparable](a, b T) T {
	var zero T
	if a != zero {
		return a
	}
	return b
}
