package session

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/zktest"
	"github.com/zkrecipes/zkrecipes/zktest/matrix"
)

// tested is a matrix case's client under test, and the result of its operation.
type tested struct {
	client *Client
	s      *Session
	node   Node
	err    error

	known, doubted bool // reported as done; reported as unknown
}

// connectTested is a matrix Setup: the client, and a parent node.
func connectTested(e *matrix.Env) error {
	ctx := e.T.Context()
	c, err := Connect(ctx, e.Addrs(), &Options{Dialer: e.Dial})
	if err != nil {
		return err
	}
	e.Cleanup(func() {
		end, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := c.Close(end); err != nil {
			e.T.Errorf("close: %v", err)
		}
	})
	s, err := c.Session(ctx)
	if err != nil {
		return err
	}
	e.State = &tested{client: c, s: s}
	return e.Server.Create("/p", nil)
}

// leftovers waits until the background is quiet and lists the children of /p.
// A matrix runs it in a bubble.
func leftovers(e *matrix.Env) ([]string, error) {
	time.Sleep(2 * time.Minute)
	return e.Server.Children("/p")
}

func TestAProtectedCreateIsDoneOnceOrNotAtAll(t *testing.T) {
	for name, mode := range map[string]Mode{
		"ephemeral sequential": EphemeralSequential, "ephemeral": Ephemeral,
		"persistent": Persistent, "persistent sequential": PersistentSequential,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			res := runMatrix(t, matrix.Case{
				Name: "protected create, " + name, Setup: connectTested,
				Op: func(ctx context.Context, e *matrix.Env) error {
					st := e.State.(*tested)
					st.node, st.err = st.s.CreateProtected(ctx, "/p/"+ProtectedName("x-"), []byte("d"), mode, nil)
					return st.err
				},
				Check: func(e *matrix.Env) error { return checkProtected(e, mode) },
			})
			assert.GreaterOrEqual(t, res.Cases, 10)
		})
	}
}

func checkProtected(e *matrix.Env, mode Mode) error {
	st := e.State.(*tested)
	left, err := leftovers(e)
	if err != nil {
		return err
	}
	switch {
	case st.err == nil && st.s.Err() == nil:
		if len(left) != 1 || "/p/"+left[0] != st.node.Path {
			return fmt.Errorf("created %s, found %v", st.node.Path, left)
		}
		if st.node.Stat.Czxid == 0 {
			return errors.New("no stat")
		}
	case st.err == nil && mode.ephemeral(), st.err != nil && !errors.Is(st.err, ErrUnknownOutcome):
		if len(left) != 0 {
			return fmt.Errorf("it said %w and left %v", st.err, left)
		}
	case len(left) > 1, mode.ephemeral() && len(left) > 0:
		return fmt.Errorf("it said %w and left %v", st.err, left)
	}
	if errors.Is(st.err, ErrUnknownOutcome) && st.s.Err() == nil {
		gaveUp := errors.Is(st.err, context.Canceled) && !mode.ephemeral()
		if !gaveUp {
			return fmt.Errorf("the session lives, so it could be found out: %w", st.err)
		}
		if len(left) > 0 {
			return fmt.Errorf("it was given up, and left %v", left)
		}
	}
	if e.Fault == matrix.Cut || e.Fault == matrix.LostReply || e.Fault == matrix.LostRequest || e.Fault == matrix.Pause {
		if st.err != nil {
			return fmt.Errorf("a session that lives must succeed: %w", st.err)
		}
	}
	return nil
}

// The search for a lost create is itself hit by a second fault.
func TestALostSearchDoesNotLeaveANode(t *testing.T) {
	for _, second := range []zktest.Fault{zktest.CutBefore, zktest.DropReplyCut, zktest.DropReplyHole, zktest.DropRequest, zktest.ExpireBefore} {
		for _, op := range []string{"multi", "getChildren2", "exists", "create2"} {
			inWorld(t, nil, nil, func(w *world) {
				w.createNode("/p", "")
				w.srv.FailNth(isOp("create2"), 1, zktest.Action{Do: zktest.DropReplyCut})
				n := 1
				if op == "create2" {
					n = 2 // a second node must not exist
				}
				w.srv.FailNth(isOp(op), n, zktest.Action{Do: second})
				node, err := w.s.CreateProtected(w.ctx, "/p/"+ProtectedName("x-"), nil, EphemeralSequential, nil)
				w.sleep(time.Minute)
				left, problem := w.srv.Children("/p")
				require.NoError(w, problem)
				if err == nil {
					assert.Equal(w, []string{strings.TrimPrefix(node.Path, "/p/")}, left, "%v at %s", second, op)
					return
				}
				require.ErrorIs(w, err, ErrLost, "%v at %s", second, op)
				assert.Empty(w, left)
			})
		}
	}
}

func isOp(op string) func(zktest.Request) bool {
	return func(r zktest.Request) bool { return r.Op == op }
}

func TestACancelledProtectedCreateIsNotSentAgain(t *testing.T) {
	inWorld(t, nil, nil, func(w *world) {
		w.createNode("/p", "")
		w.srv.CutAll()
		w.srv.BlackHole(zktest.Link{}, zktest.Both)
		synctest.Wait()
		_, err := w.s.CreateProtected(w.within(time.Second), "/p/"+ProtectedName("x"), nil, Ephemeral, nil)
		require.ErrorIs(w, err, context.DeadlineExceeded)
		require.NotErrorIs(w, err, ErrUnknownOutcome)
		w.srv.ResetStats()
		w.srv.Heal()
		w.sleep(time.Minute)
		assert.Zero(w, w.srv.Stats().Requests["create2"], "the caller does not want the node any more")
	})
}

func TestAProtectedCreateFindsItsOwnAmongMany(t *testing.T) {
	inWorld(t, nil, nil, func(w *world) {
		w.createNode("/p", "")
		for i := range 50 {
			w.createNode(fmt.Sprintf("/p/_c_%s-x-%010d", NewID(), i), "")
		}
		w.createNode("/p/config", "")
		w.srv.FailNth(isOp("create2"), 1, zktest.Action{Do: zktest.DropReplyCut})
		created := w.s.StartProtected("/p/"+ProtectedName("x-"), []byte("mine"), EphemeralSequential, nil)
		node, err := created.Wait(w.ctx)
		require.NoError(w, err)
		assert.False(w, created.Direct(), "found, not answered")
		at, err := w.srv.Get(node.Path)
		require.NoError(w, err)
		assert.Equal(w, "mine", string(at.Data))
		assert.Equal(w, w.s.ID(), at.EphemeralOwner)
		assert.Equal(w, at.Czxid, node.Stat.Czxid)
		assert.Equal(w, 1, w.srv.Stats().Requests["create2"])
	})
}

// A sequential create found below the root: go-zookeeper's own search lists the
// children of "" there.
func TestAProtectedCreateBelowTheRoot(t *testing.T) {
	inWorld(t, nil, nil, func(w *world) {
		w.srv.FailNth(isOp("create2"), 1, zktest.Action{Do: zktest.DropReplyCut})
		node, err := w.s.CreateProtected(w.ctx, "/"+ProtectedName("x-"), nil, EphemeralSequential, nil)
		require.NoError(w, err)
		assert.True(w, w.exists(node.Path))
		assert.Len(w, w.srv.Dump(), 2, "the root and the created node")
	})
}

func TestAProtectedCreateReportsTheServersVerdict(t *testing.T) {
	inWorld(t, nil, nil, func(w *world) {
		_, err := w.s.CreateProtected(w.ctx, "/none/"+ProtectedName("x"), nil, Ephemeral, nil)
		require.ErrorIs(w, err, ErrNoNode)
		_, err = w.s.CreateProtected(w.ctx, "relative", nil, Ephemeral, nil)
		require.ErrorIs(w, err, ErrInvalidPath)
		// The parent went while the answer was lost.
		w.createNode("/p", "")
		w.srv.OnRequest(func(r zktest.Request) zktest.Action {
			if r.Op != "create2" {
				return zktest.Action{}
			}
			_ = w.srv.Delete("/p")
			return zktest.Action{Do: zktest.CutBefore}
		})
		_, err = w.s.CreateProtected(w.within(time.Minute), "/p/"+ProtectedName("x"), nil, Ephemeral, nil)
		require.Error(w, err)
	})
}

func TestProtectedNamesAreCuratorsAndUnique(t *testing.T) {
	seen := map[string]bool{}
	for range 1000 {
		name := ProtectedName("lock-")
		assert.Regexp(t, `^_c_[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}-lock-$`, name)
		require.False(t, seen[name])
		seen[name] = true
	}
}

func TestEnsureDeletedDeletesForSure(t *testing.T) {
	t.Parallel()
	runMatrix(t, matrix.Case{
		Name: "discard",
		Setup: func(e *matrix.Env) error {
			if err := connectTested(e); err != nil {
				return err
			}
			st := e.State.(*tested)
			_, err := st.s.Create(e.T.Context(), "/p/mine", nil, Ephemeral, nil)
			return err
		},
		Op: func(ctx context.Context, e *matrix.Env) error {
			st := e.State.(*tested)
			st.err = st.s.EnsureDeleted(ctx, "/p/mine")
			return st.err
		},
		Check: func(e *matrix.Env) error {
			left, err := leftovers(e)
			if err == nil && len(left) > 0 {
				err = fmt.Errorf("left %v", left)
			}
			st := e.State.(*tested)
			if st.err != nil && st.s.Err() == nil && !e.Canceled() {
				return fmt.Errorf("it should have succeeded: %w", st.err)
			}
			return err
		},
	})
}

func TestEnsureDeletedGoesOnAfterItsContextAndCloseWaitsForIt(t *testing.T) {
	inWorld(t, nil, nil, func(w *world) {
		c := w.connect("mine", nil)
		s := w.session(c)
		_, err := s.Create(w.ctx, "/mine", nil, Persistent, nil)
		require.NoError(w, err)
		link := zktest.Link{Client: "mine"}
		w.srv.BlackHole(link, zktest.Both)
		err = s.EnsureDeleted(w.within(time.Second), "/mine")
		require.ErrorIs(w, err, context.DeadlineExceeded)
		began := time.Now()
		time.AfterFunc(5*time.Second, w.srv.Heal)
		end, cancel := context.WithTimeout(w.ctx, time.Minute)
		defer cancel()
		require.NoError(w, c.Close(end))
		assert.GreaterOrEqual(w, time.Since(began), 5*time.Second)
		assert.Less(w, time.Since(began), 15*time.Second)
		assert.False(w, w.exists("/mine"))
	})
}

// A client without permission to delete gets an error, and the node is still
// deleted when deleting is allowed. Close does not wait for the deletion.
func TestEnsureDeletedGoesOnWhenDeletingIsAllowedAgain(t *testing.T) {
	inWorld(t, nil, nil, func(w *world) {
		w.createNode("/p", "")
		c := w.connect("mine", nil)
		s := w.session(c)
		for _, path := range []string{"/p/a", "/p/b"} {
			_, err := s.Create(w.ctx, path, nil, Ephemeral, nil)
			require.NoError(w, err)
		}
		forbid := func(perms int32) {
			_, err := w.s.SetACL(w.ctx, "/p", WorldACL(perms|zk.PermAdmin|zk.PermRead), -1)
			require.NoError(w, err)
		}
		forbid(0)
		require.ErrorIs(w, s.EnsureDeleted(w.ctx, "/p/a"), ErrNoAuth)
		w.sleep(2 * time.Minute)
		require.True(w, w.exists("/p/a"))
		forbid(zk.PermDelete)
		w.sleep(longestInsistPause)
		require.False(w, w.exists("/p/a"))

		forbid(0)
		require.ErrorIs(w, s.EnsureDeleted(w.ctx, "/p/b"), ErrNoAuth)
		began := time.Now()
		require.NoError(w, c.Close(w.ctx))
		require.Less(w, time.Since(began), time.Second)
		require.False(w, w.exists("/p/b"), "the node went with its session")
	})
}

func TestEnsureDeletedGivesUpOnWhatNoRepetitionChanges(t *testing.T) {
	inWorld(t, nil, nil, func(w *world) {
		w.createNode("/full", "")
		w.createNode("/full/x", "")
		require.ErrorIs(w, w.s.EnsureDeleted(w.ctx, "/full"), ErrNotEmpty)
		require.NoError(w, w.s.EnsureDeleted(w.ctx, "/gone already"))
		require.ErrorIs(w, w.s.EnsureDeleted(w.ctx, "relative"), ErrInvalidPath)
		require.NoError(w, w.srv.ExpireSession(w.s.ID()))
		<-w.s.Context().Done()
		require.ErrorIs(w, w.s.EnsureDeleted(w.ctx, "/full"), ErrLost)
	})
}

// A plain write never says "failed" when it may have been applied, nor
// "unknown" after an answer; the write is applied at most once.
func TestAPlainWriteTellsTheTruth(t *testing.T) {
	t.Parallel()
	for name, write := range map[string]func(context.Context, *Session) error{
		"set": func(ctx context.Context, s *Session) error { _, err := s.Set(ctx, "/p", []byte("x"), -1); return err },
		"txn": func(ctx context.Context, s *Session) error {
			_, err := s.Txn(ctx, SetOp("/p", []byte("x"), -1))
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			matrix.Run(t, matrix.Case{
				Name: name, Setup: connectTested,
				Op: func(ctx context.Context, e *matrix.Env) error {
					st := e.State.(*tested)
					st.err = write(ctx, st.s)
					return st.err
				},
				Check: func(e *matrix.Env) error {
					time.Sleep(time.Minute) // in a bubble
					node, err := e.Server.Get("/p")
					st := e.State.(*tested)
					switch {
					case err != nil:
						return err
					case node.Version > 1:
						return fmt.Errorf("applied %d times", node.Version)
					case st.err == nil && node.Version != 1:
						return errors.New("said done, was not")
					case st.err != nil && !errors.Is(st.err, ErrUnknownOutcome) && node.Version == 1:
						return fmt.Errorf("said %w, and was applied", st.err)
					}
					return nil
				},
			})
		})
	}
}

func TestAProtectedCreateThatIsToBeTriedOnceIsNotSentAgain(t *testing.T) {
	inWorld(t, nil, nil, func(w *world) {
		w.createNode("/p", "")
		once := &CreateOptions{Once: true}
		w.srv.FailNth(isOp("create2"), 1, zktest.Action{Do: zktest.DropReplyCut})
		node, err := w.s.CreateProtected(w.ctx, "/p/"+ProtectedName("x-"), nil, EphemeralSequential, once)
		require.NoError(w, err, "the create was carried out, and the node exists")
		require.NoError(w, w.s.Delete(w.ctx, node.Path, -1))
		w.srv.ResetStats()
		w.srv.FailNth(isOp("create2"), 1, zktest.Action{Do: zktest.CutBefore})
		_, err = w.s.CreateProtected(w.ctx, "/p/"+ProtectedName("x-"), nil, EphemeralSequential, once)
		require.ErrorIs(w, err, ErrUnknownOutcome)
		require.NoError(w, w.s.Err())
		assert.Equal(w, 1, w.srv.Stats().Requests["create2"])
	})
}
