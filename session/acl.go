package session

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/go-zookeeper/zk"
)

// ACL is one entry of a znode's access control list.
type ACL = zk.ACL

// The permissions of an [ACL]; add them to combine them.
const (
	PermRead   int32 = zk.PermRead
	PermWrite  int32 = zk.PermWrite
	PermCreate int32 = zk.PermCreate
	PermDelete int32 = zk.PermDelete
	PermAdmin  int32 = zk.PermAdmin
	PermAll    int32 = zk.PermAll
)

// WorldACL gives every client the permissions perms, for example PermRead.
func WorldACL(perms int32) []ACL { return zk.WorldACL(perms) }

// CreatorACL gives all permissions to clients with the creator's credentials.
func CreatorACL() []ACL { return zk.AuthACL(PermAll) }

// permissions are the letters of the permissions, as ZooKeeper's command line has them.
//
// read only
var permissions = map[rune]int32{
	'c': PermCreate, 'd': PermDelete, 'r': PermRead, 'w': PermWrite, 'a': PermAdmin,
}

// entry is the beginning of a list of entries, up to the first comma or the end behind
// permissions. An identity may contain commas and colons: the name in a certificate does.
var entry = regexp.MustCompile(`^(\w+):(.*?):([cdrwa]+)(?:,|$)`) // read only

// ParseACL reads an access control list as ZooKeeper's command line writes it: entries
// SCHEME:ID:PERMISSIONS, with a comma between them, where the permissions are letters of
// cdrwa (create, delete, read, write, admin). For example:
//
//	auth::cdrwa                        clients with the creator's credentials: CreatorACL
//	world:anyone:r                     all clients may read: WorldACL(PermRead)
//	sasl:app:cdrwa,world:anyone:r      app may do everything, all other clients read
//	x509:CN=app,O=Example:cdrwa        the client with this certificate
//
// Errors: [ErrInvalidOption] names the entry that cannot be read.
func ParseACL(text string) ([]ACL, error) {
	var out []ACL
	for rest := text; ; {
		at := entry.FindStringSubmatch(rest)
		if at == nil {
			return nil, fmt.Errorf("%w: %q is no access control list: SCHEME:ID:PERMISSIONS is missing at %q; the permissions are letters of cdrwa", ErrInvalidOption, text, rest)
		}
		item := ACL{Scheme: at[1], ID: at[2]}
		for _, letter := range at[3] {
			item.Perms |= permissions[letter]
		}
		switch {
		case item.Scheme == "world" && item.ID != "anyone":
			return nil, fmt.Errorf("%w: the identity of %q is %q; in the scheme world it is anyone", ErrInvalidOption, strings.TrimSuffix(at[0], ","), item.ID)
		case item.Scheme == "auth" && item.ID != "":
			return nil, fmt.Errorf("%w: the identity of %q is %q; in the scheme auth it is empty", ErrInvalidOption, strings.TrimSuffix(at[0], ","), item.ID)
		}
		out, rest = append(out, item), rest[len(at[0]):]
		if rest == "" && !strings.HasSuffix(at[0], ",") {
			return out, nil
		}
	}
}
