package main

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/cli"
)

// supported are the versions of ZooKeeper that zkr works with.
const supported = "3.6 to 3.9"

// build describes this build of zkr, in JSON.
type build struct {
	Version   string `json:"version"`
	Revision  string `json:"revision"`
	Go        string `json:"go"`
	Platform  string `json:"platform"`
	ZooKeeper string `json:"zookeeper"`
}

func buildOf() build {
	b := build{
		Version: "unknown", Revision: cli.Setting("vcs.revision"), Go: runtime.Version(),
		Platform: runtime.GOOS + "/" + runtime.GOARCH, ZooKeeper: supported,
	}
	if info, ok := debug.ReadBuildInfo(); ok {
		b.Version = info.Main.Version
	}
	return b
}

// String is the build for people.
func (b build) String() string {
	revision := ""
	if b.Revision != "" {
		revision = fmt.Sprintf(" (%.12s)", b.Revision)
	}
	return fmt.Sprintf("zkr %s%s\n%s %s\nApache ZooKeeper %s\n", b.Version, revision, b.Go, b.Platform, b.ZooKeeper)
}

// version is "zkr version".
func (a *app) version() *cobra.Command {
	return &cobra.Command{
		Use:     "version",
		Short:   "Show the version of zkr, and the supported versions of ZooKeeper",
		Example: "  zkr version\n  zkr version -o json",
		RunE: cli.RunE(func(*cobra.Command, []string) error {
			return a.showVersion()
		}),
	}
}

func (a *app) showVersion() error {
	if a.JSON() {
		return a.PrintJSON(buildOf())
	}
	return a.Printf("%s", buildOf())
}

// versionFlag makes --version an alias of "zkr version": cobra's own flag
// prints text in every format.
func (a *app) versionFlag(root *cobra.Command) {
	asked := root.Flags().BoolP("version", "v", false, "version for zkr")
	root.RunE = cli.RunE(func(cmd *cobra.Command, _ []string) error {
		if *asked {
			return a.showVersion()
		}
		return cmd.Help()
	})
}
