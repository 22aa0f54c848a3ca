package historycmd

import (
	"path/filepath"
	"strings"

	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/exit"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/history"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/recording"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/txnlog"
)

// files are what --logs names: the files of servers, or a recording.
type files struct {
	servers   []*txnlog.Folder
	recording *recording.Folder // or nil
}

// reader reads the history of the files.
func (f *files) reader(root string, o *history.Options) (*history.Reader, error) {
	if f.recording != nil {
		return history.NewRecordingReader(root, f.recording, o)
	}
	return history.NewReader(root, f.servers, o)
}

// openFiles opens what --logs names: each value is a server, as [NAME=]DIR[,DIR], or the only
// one is the folder of a recording.
func openFiles(values []string) (*files, error) {
	if len(values) == 0 {
		return nil, exit.Usage("--logs is missing: the dataDir of a server, a copy, or a recording, as in --logs /var/lib/zookeeper")
	}
	out := &files{}
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
			return nil, exit.Usage("--logs names the server %q twice; a server with two folders is DIR,DIR", name)
		}
		names[name] = true
		if len(roots) == 1 {
			switch found, err := recording.OpenFolder(name, roots[0]); {
			case err == nil && len(values) > 1:
				return nil, exit.Usage("--logs names the recording %s, which must be the only --logs", roots[0])
			case err == nil:
				return &files{recording: found}, nil
			}
		}
		folder, err := txnlog.OpenFolder(name, roots...)
		if err != nil {
			return nil, err
		}
		out.servers = append(out.servers, folder)
	}
	return out, nil
}
