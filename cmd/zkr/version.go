package main

import (
	"encoding/json"
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// supported are the versions of ZooKeeper that zkr works with.
const supported = "3.6 to 3.9"

// version is "zkr version".
func (a *app) version() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Say which zkr this is, and which ZooKeeper it works with",
		Args:  cobra.NoArgs,
		RunE: does(func(*cobra.Command, []string) error {
			module, revision := "unknown", ""
			if info, ok := debug.ReadBuildInfo(); ok {
				module = info.Main.Version
				for _, s := range info.Settings {
					if s.Key == "vcs.revision" {
						revision = s.Value
					}
				}
			}
			if a.json() {
				line, _ := json.Marshal(map[string]string{
					"version": module, "revision": revision, "go": runtime.Version(),
					"platform": runtime.GOOS + "/" + runtime.GOARCH, "zookeeper": supported,
				})
				fmt.Fprintf(a.stdout, "%s\n", line)
				return nil
			}
			fmt.Fprintf(a.stdout, "zkr %s", module)
			if revision != "" {
				fmt.Fprintf(a.stdout, " (%.12s)", revision)
			}
			fmt.Fprintf(a.stdout, "\n%s %s/%s\nApache ZooKeeper %s\n", runtime.Version(), runtime.GOOS, runtime.GOARCH, supported)
			return nil
		}),
	}
}
