package dispatch

import (
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/stm"
)

// edit is one operation of a transaction about a task.
type edit struct {
	kind    editKind
	path    string
	data    []byte
	version int32 // of the znode to set or delete, if it was read; -1: any
}

type editKind int

const (
	requireEdit editKind = iota // the znode must exist, in any version
	setEdit
	createEdit
	deleteEdit
)

func requireNode(path string) edit { return edit{kind: requireEdit, path: path, version: -1} }

func setNode(path string, data []byte, version int32) edit {
	return edit{kind: setEdit, path: path, data: data, version: version}
}

func createNode(path string, data []byte) edit {
	return edit{kind: createEdit, path: path, data: data}
}

func deleteNode(path string, version int32) edit {
	return edit{kind: deleteEdit, path: path, version: version}
}

// transaction has the operations of one change of a task, in order.
type transaction []edit

// toOps are the operations of the transaction, for a request that the master sends.
func (t transaction) toOps(create *session.CreateOptions) []session.Op {
	out := make([]session.Op, len(t))
	for i, e := range t {
		switch e.kind {
		case requireEdit:
			out[i] = session.CheckOp(e.path, -1)
		case setEdit:
			out[i] = session.SetOp(e.path, e.data, e.version)
		case createEdit:
			out[i] = session.CreateOp(e.path, e.data, session.Persistent, create)
		case deleteEdit:
			out[i] = session.DeleteOp(e.path, e.version)
		}
	}
	return out
}

// addTo asks tx for the transaction. The conditions on versions are the versions that tx
// has read, or assumed.
func (t transaction) addTo(tx *stm.Tx, create *session.CreateOptions) (err error) {
	for _, e := range t {
		switch e.kind {
		case requireEdit:
			err = tx.Require(e.path)
		case setEdit:
			err = tx.Set(e.path, e.data)
		case createEdit:
			err = tx.Create(e.path, e.data, session.Persistent, create)
		case deleteEdit:
			err = tx.Delete(e.path)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
