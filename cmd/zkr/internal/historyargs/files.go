// Package historyargs reads the arguments of commands that show a history: which files.
package historyargs

import (
	"errors"
	"path/filepath"
	"strings"

	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/exit"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/history"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/recording"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/txnlog"
)

// Open opens what a flag names: each value is a server, as [NAME=]DIR[,DIR], or the only one
// is the folder of a recording.
func Open(flag string, values []string) (*history.Origin, error) {
	if len(values) == 0 {
		return nil, exit.Usage("--%s is missing: the dataDir of a server, a copy, or a recording, as in --%[1]s /var/lib/zookeeper", flag)
	}
	out := &history.Origin{}
	names := map[string]bool{}
	for _, value := range values {
		name, dirs, named := strings.Cut(value, "=")
		if !named || strings.ContainsRune(name, filepath.Separator) {
			name, dirs = "", value
		}
		roots := strings.Split(dirs, ",")
		if name == "" {
			name = roots[0]
		}
		if names[name] {
			return nil, exit.Usage("--%s names the server %q twice; a server with two folders is DIR,DIR", flag, name)
		}
		names[name] = true
		if len(roots) == 1 {
			switch found, err := recording.OpenFolder(name, roots[0]); {
			case err == nil && len(values) > 1:
				return nil, exit.Usage("--%s names the recording %s, which must be the only --%[1]s", flag, roots[0])
			case err == nil:
				return &history.Origin{Recording: found}, nil
			}
		}
		folder, err := txnlog.OpenFolder(name, roots...)
		if err != nil {
			return nil, err
		}
		out.Servers = append(out.Servers, folder)
	}
	return out, nil
}

// Advise adds what to do about an error of the history's first state.
func Advise(flag string, err error) error {
	if errors.Is(err, history.ErrNoStart) {
		return &exit.Failure{Code: exit.CodeFailed, Err: err, Hint: "--" + flag + " needs the snapshots, too: dataDir,dataLogDir if a server has both"}
	}
	return err
}
