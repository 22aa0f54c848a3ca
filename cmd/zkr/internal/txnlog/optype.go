package txnlog

import "fmt"

// Type is the type of a transaction or of one change. The numbers are Apache's
// (ZooDefs.OpCode).
type Type int32

// The types found in a transaction log.
const (
	TypeError           Type = -1
	TypeCreate          Type = 1
	TypeDelete          Type = 2
	TypeSetData         Type = 5
	TypeSetACL          Type = 7
	TypeCheck           Type = 13
	TypeMulti           Type = 14
	TypeCreate2         Type = 15
	TypeReconfig        Type = 16
	TypeCreateContainer Type = 19
	TypeDeleteContainer Type = 20
	TypeCreateTTL       Type = 21
	TypeCreateSession   Type = -10
	TypeCloseSession    Type = -11
)

// String returns Apache's name of the type.
func (t Type) String() string {
	switch t {
	case TypeError:
		return "error"
	case TypeCreate:
		return "create"
	case TypeDelete:
		return "delete"
	case TypeSetData:
		return "setData"
	case TypeSetACL:
		return "setACL"
	case TypeCheck:
		return "check"
	case TypeMulti:
		return "multi"
	case TypeCreate2:
		return "create2"
	case TypeReconfig:
		return "reconfig"
	case TypeCreateContainer:
		return "createContainer"
	case TypeDeleteContainer:
		return "deleteContainer"
	case TypeCreateTTL:
		return "createTTL"
	case TypeCreateSession:
		return "createSession"
	case TypeCloseSession:
		return "closeSession"
	}
	return fmt.Sprintf("type %d", int32(t))
}

// Creates reports whether a change of this type creates a znode.
func (t Type) Creates() bool {
	switch t {
	case TypeCreate, TypeCreate2, TypeCreateContainer, TypeCreateTTL:
		return true
	}
	return false
}

// Deletes reports whether a change of this type deletes a znode.
func (t Type) Deletes() bool { return t == TypeDelete || t == TypeDeleteContainer }
