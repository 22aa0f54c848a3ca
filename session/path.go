package session

import (
	"fmt"
	"strings"

	"github.com/zkrecipes/zkrecipes/internal/znode"
)

// ValidatePath checks path as the full path of a znode, by ZooKeeper's rules: it
// begins with "/", does not end with "/" (except for the root), has no empty, "."
// or ".." element, is valid UTF-8, and has no control or private-use character.
// The error wraps ErrInvalidPath.
func ValidatePath(path string) error {
	switch err := znode.ValidatePath(path); {
	case err == nil:
		return nil
	case path == "":
		return fmt.Errorf("%w: %w", ErrInvalidPath, err)
	default:
		return fmt.Errorf("%w %q: %w", ErrInvalidPath, path, err)
	}
}

// validatePrefix is ValidatePath for the path of a sequential node, whose last
// element may be empty: the server appends the number.
func validatePrefix(path string) error {
	if strings.HasSuffix(path, "/") {
		return ValidatePath(path + "0")
	}
	return ValidatePath(path)
}

// parent is the path above path; the root's is the root.
func parent(path string) string { return znode.Parent(path) }

// join is the path of the child name of dir.
func join(dir, name string) string { return znode.Join(dir, name) }

// serverPath is the server's path of a client's path: below the chroot.
func (s *Session) serverPath(path string) string {
	switch {
	case s.chroot == "":
		return path
	case path == "/":
		return s.chroot
	default:
		return s.chroot + path
	}
}

// visible is the client's path of a server's path, and false for a path that
// is not below the chroot.
func (s *Session) visible(path string) (string, bool) {
	if s.chroot == "" {
		return path, true
	}
	rest, ok := strings.CutPrefix(path, s.chroot)
	switch {
	case !ok:
		return "", false
	case rest == "":
		return "/", true
	default:
		return rest, rest[0] == '/'
	}
}
