package node

import "github.com/zkrecipes/zkrecipes/internal/znode"

// touchName is the name of the child of a kept TTL znode: an empty TTL znode, which its
// keepers write again and again. Curator's PersistentTtlNode has the same child.
const touchName = "touch"

// touchPath is the path of the child of a TTL znode.
func touchPath(path string) string { return znode.Join(path, touchName) }
