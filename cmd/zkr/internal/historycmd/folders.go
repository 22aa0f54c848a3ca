package historycmd

import (
	"path/filepath"
	"strings"

	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/exit"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/txnlog"
)

// openFolders opens the files of the servers that --logs names: each value is a server, as
// [NAME=]DIR[,DIR].
func openFolders(values []string) ([]*txnlog.Folder, error) {
	if len(values) == 0 {
		return nil, exit.Usage("--logs is missing: the dataDir of a server, or a copy, as in --logs /var/lib/zookeeper")
	}
	var out []*txnlog.Folder
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
		folder, err := txnlog.OpenFolder(name, roots...)
		if err != nil {
			return nil, err
		}
		out = append(out, folder)
	}
	return out, nil
}
