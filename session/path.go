package session

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// ValidatePath says what is wrong with path as the full path of a znode, in
// ZooKeeper's rules: it begins with "/", does not end with one (but for the
// root), has no empty, "." or ".." element, is valid UTF-8, and has no control
// or private-use character. The error wraps ErrInvalidPath.
func ValidatePath(path string) error {
	switch {
	case path == "":
		return fmt.Errorf("%w: it is empty", ErrInvalidPath)
	case path[0] != '/':
		return fmt.Errorf("%w %q: it is relative, a path begins with /", ErrInvalidPath, path)
	case path == "/":
		return nil
	case strings.HasSuffix(path, "/"):
		return fmt.Errorf("%w %q: it ends with /", ErrInvalidPath, path)
	}
	for name := range strings.SplitSeq(path[1:], "/") {
		if err := validateName(name); err != nil {
			return fmt.Errorf("%w %q: %w", ErrInvalidPath, path, err)
		}
	}
	return nil
}

// validatePrefix is ValidatePath for the path of a sequential node, whose last
// element may be empty: the server appends the number.
func validatePrefix(path string) error {
	if strings.HasSuffix(path, "/") {
		return ValidatePath(path + "0")
	}
	return ValidatePath(path)
}

func validateName(name string) error {
	switch {
	case name == "":
		return fmt.Errorf("it has an empty element")
	case name == "." || name == "..":
		return fmt.Errorf("it has the element %q", name)
	case !utf8.ValidString(name):
		return fmt.Errorf("its element %q is not UTF-8", name)
	}
	for _, r := range name {
		// The ranges that org.apache.zookeeper.common.PathUtils refuses.
		if r <= 0x1f || r >= 0x7f && r <= 0x9f || r >= 0xd800 && r <= 0xf8ff || r >= 0xfff0 && r <= 0xffff {
			return fmt.Errorf("its element %q has the character %#U", name, r)
		}
	}
	return nil
}

// parent is the path above path; the root's is the root.
func parent(path string) string {
	if i := strings.LastIndexByte(path, '/'); i > 0 {
		return path[:i]
	}
	return "/"
}

// join is the path of the child name of dir.
func join(dir, name string) string {
	if dir == "/" {
		return "/" + name
	}
	return dir + "/" + name
}

// real is the server's path of a client's path: below the chroot.
func (s *Session) real(path string) string {
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
