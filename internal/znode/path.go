package znode

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

// ValidatePath checks path as the full path of a znode, by the rules that
// session.ValidatePath has. The error says what is wrong, without the path.
func ValidatePath(path string) error {
	switch {
	case path == "":
		return errors.New("it is empty")
	case path[0] != '/':
		return errors.New("it is relative, a path begins with /")
	case path == "/":
		return nil
	case strings.HasSuffix(path, "/"):
		return errors.New("it ends with /")
	}
	for name := range strings.SplitSeq(path[1:], "/") {
		if err := validateElement(name); err != nil {
			return err
		}
	}
	return nil
}

// IsName reports whether name can be the last element of a path.
func IsName(name string) bool { return !strings.Contains(name, "/") && validateElement(name) == nil }

func validateElement(name string) error {
	switch {
	case name == "":
		return errors.New("it has an empty element")
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

// Base is the last element of path.
func Base(path string) string { return path[strings.LastIndexByte(path, '/')+1:] }

// Parent is the path above path; the root's is the root.
func Parent(path string) string {
	if i := strings.LastIndexByte(path, '/'); i > 0 {
		return path[:i]
	}
	return "/"
}

// Join is the path of the child name of dir.
func Join(dir, name string) string {
	if dir == "/" {
		return "/" + name
	}
	return dir + "/" + name
}
