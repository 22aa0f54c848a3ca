package tree

import "strings"

// ValidPath tells whether ZooKeeper accepts path as the path of a znode.
func ValidPath(path string) bool {
	if path == "/" {
		return true
	}
	if path == "" || path[0] != '/' || path[len(path)-1] == '/' {
		return false
	}
	for _, r := range path {
		// Java looks at UTF-16 units, so everything outside the basic plane is
		// refused as a surrogate; invalid UTF-8 became U+FFFD there.
		if r <= 0x1f || r >= 0x7f && r <= 0x9f || r >= 0xd800 && r <= 0xf8ff || r >= 0xfff0 {
			return false
		}
	}
	for _, name := range strings.Split(path[1:], "/") {
		if name == "" || name == "." || name == ".." {
			return false
		}
	}
	return true
}

// Parent returns the path of the parent and whether path has a slash at all.
// The parent of a top-level node, and of the root, is "".
func Parent(path string) (string, bool) {
	i := strings.LastIndexByte(path, '/')
	if i < 0 {
		return "", false
	}
	return path[:i], true
}

func baseName(path string) string { return path[strings.LastIndexByte(path, '/')+1:] }

// isSpecial tells whether path cannot be deleted.
func isSpecial(path string) bool {
	switch path {
	case "/", "/zookeeper", "/zookeeper/quota", "/zookeeper/config":
		return true
	}
	return false
}

// parentOrRoot is the parent as named in watches.
func parentOrRoot(path string) string {
	if p, _ := Parent(path); p != "" {
		return p
	}
	return "/"
}
