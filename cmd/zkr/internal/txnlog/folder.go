package txnlog

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// ErrNoFiles means that a folder has neither transaction logs nor snapshots.
var ErrNoFiles = errors.New("no transaction logs and no snapshots")

// versionDir is the folder of the files below dataDir and dataLogDir.
const versionDir = "version-2"

// File is a transaction log or a snapshot.
type File struct {
	Path string
	// Zxid is the zxid in the name: that of the first transaction of a log, and
	// that of the last transaction before a snapshot was begun.
	Zxid Zxid
	// Size and ModTime are those of the listing.
	Size    int64
	ModTime time.Time

	snapshot bool
}

// Folder has the files of one server, as of the last Refresh.
type Folder struct {
	// Name identifies the server in findings.
	Name string
	// Logs and Snapshots are in the order of their zxids.
	Logs, Snapshots []File

	roots []string
}

// OpenFolder lists the files of one server. Each root is the server's dataDir or
// dataLogDir, the folder version-2 below one of them, or a single file. OpenFolder
// only reads, and the server may be running.
func OpenFolder(name string, roots ...string) (*Folder, error) {
	f := &Folder{Name: name, roots: roots}
	if err := f.Refresh(); err != nil {
		return nil, err
	}
	if len(f.Logs)+len(f.Snapshots) == 0 {
		return nil, fmt.Errorf("txnlog: open %s: %w: name a server's dataDir or dataLogDir", strings.Join(roots, ", "), ErrNoFiles)
	}
	return f, nil
}

// Refresh lists the files again.
func (f *Folder) Refresh() error {
	var files []File
	seen := map[string]bool{}
	for _, root := range f.roots {
		some, err := listFiles(root)
		if err != nil {
			return fmt.Errorf("txnlog: list: %w", err)
		}
		for _, file := range some {
			if !seen[file.Path] { // dataDir and dataLogDir may be the same
				files = append(files, file)
			}
			seen[file.Path] = true
		}
	}
	slices.SortStableFunc(files, func(a, b File) int { return compareZxids(a.Zxid, b.Zxid) })
	f.Logs, f.Snapshots = nil, nil
	for _, file := range files {
		if file.snapshot {
			f.Snapshots = append(f.Snapshots, file)
		} else {
			f.Logs = append(f.Logs, file)
		}
	}
	return nil
}

// compareZxids compares as unsigned numbers, so that a foreign name such as
// log.ffffffffffffffff does not come first.
func compareZxids(a, b Zxid) int { return cmp.Compare(uint64(a), uint64(b)) }

// listFiles lists the files at one root.
func listFiles(root string) ([]File, error) {
	root = filepath.Clean(root)
	info, err := os.Stat(root)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		file, ok := parseName(root)
		if !ok {
			return nil, fmt.Errorf("%s: the name is not log.<zxid> or snapshot.<zxid>", root)
		}
		file.Size, file.ModTime = info.Size(), info.ModTime()
		return []File{file}, nil
	}
	if below := filepath.Join(root, versionDir); isDir(below) {
		root = below
	}
	entries, err := os.ReadDir(root)
	if err != nil {
		return nil, err
	}
	var out []File
	for _, entry := range entries {
		file, ok := parseName(filepath.Join(root, entry.Name()))
		if !ok {
			continue
		}
		info, err := os.Stat(file.Path) // follows links, as servers do
		if errors.Is(err, fs.ErrNotExist) {
			continue // purged since the folder was read
		}
		if err != nil {
			return nil, err
		}
		if info.Mode().IsRegular() {
			file.Size, file.ModTime = info.Size(), info.ModTime()
			out = append(out, file)
		}
	}
	return out, nil
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// parseName recognizes log.<zxid>, snapshot.<zxid>, snapshot.<zxid>.gz and
// snapshot.<zxid>.snappy. A snapshot that is written with fsync ends in .tmp until
// it is complete.
func parseName(path string) (File, bool) {
	kind, rest, ok := strings.Cut(filepath.Base(path), ".")
	file := File{Path: path, snapshot: kind == "snapshot"}
	if !ok || kind != "log" && !file.snapshot {
		return file, false
	}
	if file.snapshot {
		rest = strings.TrimSuffix(strings.TrimSuffix(rest, gzipSuffix), snappySuffix)
	}
	zxid, err := strconv.ParseUint(rest, 16, 64)
	file.Zxid = Zxid(zxid)
	return file, err == nil
}

// SnapshotBefore returns the newest snapshot that was begun at or before a zxid.
func (f *Folder) SnapshotBefore(z Zxid) (File, bool) {
	for _, s := range slices.Backward(f.Snapshots) {
		if compareZxids(s.Zxid, z) <= 0 {
			return s, true
		}
	}
	return File{}, false
}

// snapshotWithin returns the newest snapshot with a zxid in a range.
func (f *Folder) snapshotWithin(from, to Zxid) (File, bool) {
	s, ok := f.SnapshotBefore(to)
	return s, ok && compareZxids(s.Zxid, from) >= 0
}
