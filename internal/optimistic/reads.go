package optimistic

import (
	"context"
	"errors"

	"github.com/zkrecipes/zkrecipes/session"
)

// Sync sends a sync ahead of the next reads, so that they see everything that was
// committed before, as far as the server's leader knows. path is a znode that is read.
func (r *Reading) Sync(path string) {
	if r.Err == nil {
		r.ahead = r.Session.StartSync(path)
	}
}

// Fresh calls read, whose reads by r see all changes that a majority has confirmed before. A
// sync would not be enough; see [session.Session.ReadFresh]. If the reply to the proof is
// lost, Fresh calls read again.
func (r *Reading) Fresh(path string, read func()) {
	if r.Err != nil {
		return
	}
	r.Err = r.Session.ReadFresh(r.Ctx, path, func() error {
		read()
		return r.Err
	})
}

// GetAll reads znodes in one round trip. A znode that does not exist has Exists false.
func (r *Reading) GetAll(paths ...string) []session.Seen {
	return r.readAll(paths, r.startGet, nil)
}

// GetReadable is GetAll that leaves out the znodes that the client may not read: hidden
// has their errors.
func (r *Reading) GetReadable(paths ...string) (out []session.Seen, hidden []error) {
	out = r.readAll(paths, r.startGet, func(err error) bool {
		noAuth := errors.Is(err, session.ErrNoAuth)
		if noAuth {
			hidden = append(hidden, err)
		}
		return noAuth
	})
	return out, hidden
}

func (r *Reading) startGet(path string) *session.Future[session.Seen] {
	return r.Session.StartGet(path, false)
}

// Get is GetAll of one znode. Unless something was sent ahead, Get waits for a connection,
// as [session.Session.Get] does.
func (r *Reading) Get(path string) session.Seen {
	if r.ahead != nil || r.Err != nil {
		return r.GetAll(path)[0]
	}
	data, stat, err := r.Session.Get(r.Ctx, path)
	return r.checkRead(session.Seen{Data: data, Stat: stat, Exists: err == nil}, err)
}

// StatAll is GetAll without the data.
func (r *Reading) StatAll(paths ...string) []session.Seen {
	return r.readAll(paths, func(path string) *session.Future[session.Seen] { return r.Session.StartExists(path, false) }, nil)
}

// Exists reports whether a znode exists. It waits for a connection as Get does.
func (r *Reading) Exists(path string) bool {
	if r.ahead != nil || r.Err != nil {
		return r.StatAll(path)[0].Exists
	}
	stat, exists, err := r.Session.Exists(r.Ctx, path)
	return r.checkRead(session.Seen{Stat: stat, Exists: exists}, err).Exists
}

// ListAll lists the children of znodes in one round trip. A znode that does not exist has
// no children.
func (r *Reading) ListAll(paths ...string) []session.Seen {
	return r.readAll(paths, func(path string) *session.Future[session.Seen] { return r.Session.StartChildren(path, false) }, nil)
}

// List lists the children of one znode. It waits for a connection as Get does.
func (r *Reading) List(path string) []string {
	if r.ahead != nil || r.Err != nil {
		return r.ListAll(path)[0].Children
	}
	names, stat, err := r.Session.Children(r.Ctx, path)
	return r.checkRead(session.Seen{Children: names, Stat: stat, Exists: err == nil}, err).Children
}

// checkRead is the answer to a read of one znode.
func (r *Reading) checkRead(seen session.Seen, err error) session.Seen {
	if err == nil {
		return seen
	}
	if !errors.Is(err, session.ErrNoNode) {
		r.Err = err
	}
	return session.Seen{}
}

// readAll starts a read of each path, behind the requests that were sent ahead, and
// collects the answers. A read whose error skip accepts is left out; skip may be nil.
func (r *Reading) readAll(paths []string, start func(path string) *session.Future[session.Seen], skip func(err error) bool) []session.Seen {
	out := make([]session.Seen, len(paths))
	if r.Err != nil {
		return out
	}
	reads := make([]*session.Future[session.Seen], len(paths))
	for i, path := range paths {
		reads[i] = start(path)
	}
	r.await()
	for i, read := range reads {
		seen, there := r.IfThere(read)
		if there {
			out[i] = seen
		}
		if r.Err != nil && skip != nil && skip(r.Err) {
			r.Err = nil
		}
	}
	return out
}

// await waits for the sync that was sent ahead.
func (r *Reading) await() {
	if ahead := r.ahead; ahead != nil && r.Err == nil {
		r.ahead = nil
		answer(r, ahead)
	}
}

// Culprit returns the path of the operation that made a transaction fail, and the reason;
// nothing if err does not say that a server refused a transaction.
func Culprit(err error) (path string, reason error) {
	var txn *session.TxnError
	if !errors.As(err, &txn) {
		return "", nil
	}
	return txn.Path, txn.Err
}

// CulpritIndex returns the position of the operation that made a transaction fail; -1 if
// err does not say that a server refused a transaction.
func CulpritIndex(err error) int {
	var txn *session.TxnError
	if !errors.As(err, &txn) {
		return -1
	}
	return txn.Index
}

// DeleteLater deletes, in the background, a znode of s whose name no other client uses.
// The deletion is retried until the znode or the session is gone. Only
// [session.Client.Close] waits for the deletion.
func DeleteLater(s *session.Session, path string) {
	over, cancel := context.WithCancel(s.Context())
	cancel()
	_ = s.EnsureDeleted(over, path)
}
