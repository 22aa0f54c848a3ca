package discovery_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// note is the payload of the instances of the stress test: which registration
// wrote it, of which client, and its how manieth update. A move may be taken back: if
// its answer was lost with the session, it is retried in the next session, and may
// then be refused.
type note struct {
	Client, Reg, N int
	Moved          bool
}

func (n note) json() json.RawMessage { b, _ := json.Marshal(n); return b }

// noteOf reads the note in a znode's data.
func noteOf(data []byte) (n note, ok bool) {
	var i struct{ Payload note }
	if json.Unmarshal(data, &i) != nil || i.Payload.Client == 0 {
		return n, false
	}
	return i.Payload, true
}

// judge looks at every change at the server.
type judge struct {
	made   map[string]maker // by path
	last   map[string]zktest.Node
	newest map[int]note // by registration
	// moving: a move was asked for, and no later change was confirmed. If the move is
	// refused, the registration returns to the last state that a server has confirmed; an
	// update whose reply was lost with its session was not confirmed.
	moving map[int]bool
}

// maker is the client that created a znode, and the transaction.
type maker struct {
	client  int
	zxid    int64
	session int64 // 0 if the node goes with none
}

func newJudge() *judge {
	return &judge{made: map[string]maker{}, last: map[string]zktest.Node{}, newest: map[int]note{}, moving: map[int]bool{}}
}

// change judges a transaction of that client: only the maker of a node deletes
// it, or writes into it. It returns what went with a session.
func (j *judge) change(client int, x zktest.Txn) (gone map[string]maker, err error) {
	if x.Code != 0 {
		return nil, nil // refused: also the end of a session, on a connection that it has left
	}
	if x.Op == "closeSession" {
		gone = map[string]maker{}
		for path, of := range j.made {
			if of.session == x.Session {
				gone[path] = of
				delete(j.made, path)
			}
		}
		return gone, nil
	}
	for _, path := range j.changed(x) {
		of, there := j.made[path]
		if !strings.HasPrefix(path, base+"/") || strings.Count(path, "/") != 3 {
			continue // a service
		}
		if there && client != of.client {
			err = fmt.Errorf("%s of client %d is changed or deleted by client %d", path, of.client, client)
		}
		switch {
		case x.Op == "setData":
		case there: // a deletion
			delete(j.made, path)
		case strings.Contains(path, "/own"):
			j.made[path] = maker{client, x.Zxid, 0}
		default:
			j.made[path] = maker{client, x.Zxid, x.Session}
		}
	}
	return nil, err
}

// changed are the paths that a transaction creates, deletes or writes, in order.
func (j *judge) changed(x zktest.Txn) []string {
	if x.Op != "multi" {
		return x.Paths
	}
	last := len(x.Paths) - 1
	switch {
	case last >= 2 && strings.Contains(x.Paths[1], "/_count-"):
		// The deletion of a former node, a node that comes and goes, perhaps a creation.
		return append(x.Paths[:1:1], x.Paths[3:]...)
	case last == 1 && j.made[x.Paths[1]].zxid == 0:
		return x.Paths // a move
	case last == 0 && j.made[x.Paths[0]].session != x.Session:
		return x.Paths // the deletion of a former sequential node
	}
	return nil // a heartbeat: checks of the session's znodes
}

// judgeNodes judges the nodes after one or several changes: a registration has one
// node in a session, does not overwrite the node of another, and does not go back.
func (j *judge) judgeNodes(nodes []zktest.Node) error {
	type owner struct {
		reg     int
		session int64
	}
	now, places := map[string]zktest.Node{}, map[owner]string{}
	for _, n := range nodes {
		of, ok := noteOf(n.Data)
		if !ok {
			continue
		}
		now[n.Path] = n
		was, there := j.last[n.Path]
		if as, _ := noteOf(was.Data); there && was.Czxid == n.Czxid && as.Reg != of.Reg {
			return fmt.Errorf("%s of registration %d is overwritten by %d", n.Path, as.Reg, of.Reg)
		}
		if newest := j.newest[of.Reg]; !there || was.Mzxid != n.Mzxid {
			if of.N < newest.N && !newest.Moved && !j.moving[of.Reg] {
				return fmt.Errorf("%s: registration %d writes update %d after %d", n.Path, of.Reg, of.N, newest.N)
			}
			j.newest[of.Reg] = of
		}
		key := owner{of.Reg, n.EphemeralOwner}
		if other := places[key]; other != "" {
			return fmt.Errorf("registration %d is there twice: %s and %s", of.Reg, other, n.Path)
		}
		places[key] = n.Path
	}
	j.last = now
	return nil
}

// The judge must see what it looks for.
func TestJudgeNoticesWhatMustNotBe(t *testing.T) {
	node := func(path string, client, reg, n int, zxid int64) zktest.Node {
		return zktest.Node{Path: path, Data: []byte(fmt.Sprintf(`{"payload":%s}`, note{client, reg, n, false}.json())), Czxid: 1, Mzxid: zxid, EphemeralOwner: int64(client)}
	}
	stranger := zktest.Node{Path: "/x", Data: []byte("?")}
	a := node("/a", 1, 10, 1, 1)
	for why, history := range map[string][][]zktest.Node{
		"":                          {{a, stranger}, {a}, {node("/a", 1, 10, 2, 2)}, nil},
		"is overwritten by 11":      {{a}, {node("/a", 1, 11, 1, 2)}},
		"update 1 after 2":          {{node("/a", 1, 10, 2, 1)}, {node("/a", 1, 10, 1, 2)}},
		"writes update 0 after 1":   {{a}, nil, {node("/b", 1, 10, 0, 3)}},
		"is there twice: /a and /b": {{a, node("/b", 1, 10, 1, 2)}},
	} {
		j, got := newJudge(), ""
		for _, nodes := range history {
			if err := j.judgeNodes(nodes); err != nil {
				got = err.Error()
			}
		}
		require.True(t, strings.Contains(got, why) && (why != "" || got == ""), "%q: %q", why, got)
	}
	one, two := dir+"/one", base+"/api/one"
	txn := func(op string, paths ...string) zktest.Txn {
		return zktest.Txn{Op: op, Paths: paths, Zxid: 7, Session: 5}
	}
	one1, count := txn("create2", one), dir+"/_count-1"
	later := func(op string, paths ...string) zktest.Txn {
		return zktest.Txn{Op: op, Paths: paths, Zxid: 8, Session: 6}
	}
	for _, c := range []struct {
		bad     bool
		client  int
		history []zktest.Txn
	}{
		{false, 1, []zktest.Txn{txn("create2", one), txn("setData", one), txn("delete", one)}},
		{false, 1, []zktest.Txn{txn("create2", one), txn("multi", one, two), txn("delete", two), txn("create2", one)}},
		{true, 2, []zktest.Txn{txn("create2", one), txn("delete", one)}},
		{true, 2, []zktest.Txn{txn("create2", one), txn("setData", one)}},
		{true, 2, []zktest.Txn{txn("create2", one), txn("multi", one, two)}},
		{false, 2, []zktest.Txn{one1, txn("multi", one)}},
		{false, 1, []zktest.Txn{one1, later("multi", one, count, count, one), later("delete", one), one1}},
		{false, 1, []zktest.Txn{one1, later("multi", one, count, count), one1}},
		{false, 1, []zktest.Txn{one1, later("multi", one), one1}},
		{true, 2, []zktest.Txn{one1, later("multi", one, count, count, one)}},
		{true, 2, []zktest.Txn{one1, later("multi", one, count, count)}},
		{true, 2, []zktest.Txn{one1, later("multi", one)}},
	} {
		j, client := newJudge(), 1
		var err error
		for _, x := range c.history {
			_, e := j.change(client, x)
			err = errors.Join(err, e)
			client = c.client
		}
		require.Equal(t, c.bad, err != nil, "%+v: %v", c.history, err)
	}
	j := newJudge()
	_, err := j.change(1, txn("create2", one))
	require.NoError(t, err)
	_, err = j.change(1, txn("create2", dir+"/own1"))
	require.NoError(t, err)
	refused := txn("closeSession")
	refused.Code = -118
	gone, err := j.change(1, refused)
	require.NoError(t, err)
	require.Empty(t, gone)
	gone, err = j.change(1, txn("closeSession"))
	require.NoError(t, err)
	require.Equal(t, map[string]maker{one: {1, 7, 5}}, gone)
}
