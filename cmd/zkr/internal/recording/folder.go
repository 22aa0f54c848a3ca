package recording

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
)

// The names of the files.
const (
	filePrefix = "recording-"
	fileSuffix = ".jsonl.gz"
	lockName   = "lock"
)

// ErrNoFiles means that a folder has no recording.
var ErrNoFiles = errors.New("no recording")

// File is a file of a recording.
type File struct {
	Path string
	// Number is the number in the name.
	Number int
	// Size is that of the listing.
	Size int64
}

// Folder has the files of a recording.
type Folder struct {
	// Name identifies the recording in findings.
	Name string
	// Files are in the order of their numbers.
	Files []File
}

// OpenFolder lists the files of a recording. The error wraps ErrNoFiles, or is one of the
// file system. The recorder may be running.
func OpenFolder(name, dir string) (*Folder, error) {
	files, err := listFiles(dir)
	if err == nil && len(files) == 0 {
		err = ErrNoFiles
	}
	if err != nil {
		return nil, fmt.Errorf("recording: open %s: %w", dir, err)
	}
	return &Folder{Name: name, Files: files}, nil
}

// From returns the recording from the file before a file on: the first change of a file may be
// the difference from the state so far.
func (f *Folder) From(path string) *Folder {
	i := slices.IndexFunc(f.Files, func(file File) bool { return file.Path == path })
	return &Folder{Name: f.Name, Files: f.Files[max(0, i-1):]}
}

// listFiles lists the files of a recording; none if dir is no folder.
func listFiles(dir string) (out []File, err error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	for _, entry := range entries {
		number, ok := numberIn(entry.Name())
		if !ok {
			continue
		}
		info, err := entry.Info()
		if errors.Is(err, fs.ErrNotExist) {
			continue // removed by the recorder since the folder was read
		}
		if err != nil {
			return nil, err
		}
		if info.Mode().IsRegular() {
			out = append(out, File{Path: filepath.Join(dir, entry.Name()), Number: number, Size: info.Size()})
		}
	}
	slices.SortFunc(out, func(a, b File) int { return cmp.Compare(a.Number, b.Number) })
	return out, nil
}

// numberIn returns the number in the name of a file.
func numberIn(name string) (int, bool) {
	digits, isPrefix := strings.CutPrefix(name, filePrefix)
	digits, isSuffix := strings.CutSuffix(digits, fileSuffix)
	n, err := strconv.Atoi(digits)
	return n, isPrefix && isSuffix && err == nil && n > 0 && nameOf(n) == name
}

// nameOf is the name of a file.
func nameOf(number int) string { return fmt.Sprintf("%s%08d%s", filePrefix, number, fileSuffix) }
