package tree

import (
	"strings"

	"github.com/zkrecipes/zkrecipes/zktest/internal/proto"
)

func (o *overlay) prepareDelete(q *proto.Request, caller *Caller) (Change, proto.Code) {
	parentPath, ok := Parent(q.Path)
	if !ok || strings.ContainsRune(q.Path, 0) || isSpecial(q.Path) {
		return Change{}, proto.BadArguments
	}
	parent, ok := o.get(parentPath)
	if !ok {
		return Change{}, proto.NoNode
	}
	if !caller.isAllowed(parent.acl, proto.PermDelete) {
		return Change{}, proto.NoAuth
	}
	n, ok := o.get(q.Path)
	switch {
	case !ok:
		return Change{}, proto.NoNode
	case q.Version != -1 && q.Version != n.version:
		return Change{}, proto.BadVersion
	case n.children > 0:
		return Change{}, proto.NotEmpty
	}
	return o.markDeleted(q, parentPath, parent), proto.OK
}

// prepareReap deletes a container or TTL node for the server itself.
func (o *overlay) prepareReap(q *proto.Request) (Change, proto.Code) {
	n, ok := o.get(q.Path)
	switch {
	case !ok:
		return Change{}, proto.NoNode
	case n.children > 0:
		return Change{}, proto.NotEmpty
	case KindOf(n.owner) != Container && KindOf(n.owner) != TTL:
		return Change{}, proto.BadArguments
	}
	parentPath, _ := Parent(q.Path)
	parent, _ := o.get(parentPath)
	return o.markDeleted(q, parentPath, parent), proto.OK
}

func (o *overlay) markDeleted(q *proto.Request, parentPath string, parent *record) Change {
	p := *parent
	p.children--
	o.put(parentPath, &p)
	o.put(q.Path, &record{})
	return Change{Op: q.Op, Path: q.Path}
}

func (o *overlay) prepareSetData(q *proto.Request, caller *Caller) (Change, proto.Code) {
	n, code := o.findAllowed(q.Path, proto.PermWrite, caller)
	if code == proto.OK {
		code = o.checkQuota(q.Path, len(q.Data)-n.size, 0, caller)
	}
	switch {
	case code != proto.OK:
		return Change{}, code
	case q.Version != -1 && q.Version != n.version:
		return Change{}, proto.BadVersion
	}
	r := *n
	r.version, r.size = r.version+1, len(q.Data)
	o.put(q.Path, &r)
	return Change{Op: q.Op, Path: q.Path, Data: q.Data, Version: r.version}, proto.OK
}

func (o *overlay) prepareSetACL(q *proto.Request, caller *Caller) (Change, proto.Code) {
	if !ValidPath(q.Path) {
		return Change{}, proto.BadArguments
	}
	acl, ok := fixACL(q.ACL, caller)
	if !ok {
		return Change{}, proto.InvalidACL
	}
	n, code := o.findAllowed(q.Path, proto.PermAdmin, caller)
	switch {
	case code != proto.OK:
		return Change{}, code
	case q.Version != -1 && q.Version != n.aversion:
		return Change{}, proto.BadVersion
	}
	r := *n
	r.aversion++
	r.acl = acl
	o.put(q.Path, &r)
	return Change{Op: q.Op, Path: q.Path, ACL: acl, Version: r.aversion}, proto.OK
}

func (o *overlay) prepareCheck(q *proto.Request, caller *Caller) (Change, proto.Code) {
	n, code := o.findAllowed(q.Path, proto.PermRead, caller)
	switch {
	case code != proto.OK:
		return Change{}, code
	case q.Version != -1 && q.Version != n.version:
		return Change{}, proto.BadVersion
	}
	return Change{Op: q.Op, Path: q.Path}, proto.OK
}

func (o *overlay) findAllowed(path string, perm int32, caller *Caller) (*record, proto.Code) {
	if !ValidPath(path) {
		return nil, proto.BadArguments
	}
	n, ok := o.get(path)
	if !ok {
		return nil, proto.NoNode
	}
	if !caller.isAllowed(n.acl, perm) {
		return nil, proto.NoAuth
	}
	return n, proto.OK
}
