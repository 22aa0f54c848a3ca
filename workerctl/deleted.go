package workerctl

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/zkrecipes/zkrecipes/internal/format/jobformat"
	"github.com/zkrecipes/zkrecipes/internal/optimistic"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/stm"
)

// Repair of a running job whose znodes were deleted by hand. Znodes that follow from the
// status and the members are created again: size, full, live, ids and free. The status,
// members, barriers and phases cannot be restored: without a status the job is over, and
// an error names any other missing znode.

// deletedError is the error of a job whose znode at path is missing: ErrOver if the job is
// over.
func (j *Job) deletedError(ctx context.Context, path string) error {
	st, err := j.currentStatus(ctx)
	switch {
	case err != nil:
		return err
	case st.State.Over():
		return ErrOver
	}
	return fmt.Errorf("%w: %s was deleted while the job is running: create it again, without data, or kill the job", ErrRecord, path)
}

// lostMember is the error of a job with a deleted member.
func (j *Job) lostMember(path string) error {
	return fmt.Errorf("%w: %s was deleted while the job is running, and cannot be made again: kill the job, and submit it again", ErrRecord, path)
}

// errMisfit is the error of a transaction that has read znodes that contradict the status:
// a part of the job was deleted.
var errMisfit = errors.New("a part of the job is missing")

// repairJob recreates deleted znodes of the job, if refused, the error of a transaction,
// says that a znode is missing. The status had the version that the transaction was made
// for, so znodes that change only together with the status are either as expected or
// damaged. The error is refused if nothing had to be repaired.
func (j *Job) repairJob(ctx context.Context, refused error) (repaired bool, err error) {
	part := ""
	if path, reason := optimistic.Culprit(refused); errors.Is(reason, session.ErrNoNode) || errors.Is(reason, session.ErrNodeExists) {
		part, _, _ = strings.Cut(strings.TrimPrefix(path, string(j.run)+"/"), "/")
	}
	switch part {
	case jobformat.NodeSize:
		return true, j.restoreSize(ctx)
	case jobformat.DirLive: // a live node may have gone with its session
		if exists, err := j.znodeExists(ctx, j.run.at(part)); exists || err != nil {
			return false, errors.Join(refused, err)
		}
	case jobformat.NodeFull, jobformat.DirMembers, jobformat.DirIDs, jobformat.DirFree:
	default:
		if !errors.Is(refused, errMisfit) {
			return false, refused
		}
	}
	err = j.restoreDeleted(ctx)
	return err == nil, err
}

// znodeExists reports whether a znode exists, as far as the server knows.
func (j *Job) znodeExists(ctx context.Context, path string) (exists bool, err error) {
	err = j.txs.Apply(ctx, func(tx *stm.Tx) error {
		nodes, err := tx.Peek(path)
		exists = err == nil && nodes[0].Exists
		return err
	})
	return exists, err
}

// restoreSize creates the znode of the job's size, if it is missing or has no number;
// ErrOver if the job is over.
func (j *Job) restoreSize(ctx context.Context) error {
	return j.txs.Apply(ctx, func(tx *stm.Tx) error {
		st, others, err := j.readStatus(tx, j.run.at(jobformat.NodeSize))
		switch {
		case err != nil:
			return err
		case st.State.Over():
			return ErrOver
		}
		data := []byte(strconv.Itoa(st.Workers))
		switch size := others[0]; {
		case !size.Exists:
			return j.createNode(tx, size.Path, data)
		case string(size.Data) != string(data):
			return errors.Join(tx.Depend(size), tx.Set(size.Path, data))
		}
		return nil
	})
}

// restoredSize is restoreSize for reads, which must be repeated afterwards.
func (j *Job) restoredSize(ctx context.Context) error {
	if err := j.restoreSize(ctx); err != nil {
		return err
	}
	return optimistic.ErrChanged
}

// mostMended bounds the znodes created again in one transaction, which must fit
// into a request.
const mostMended = 1000

// restoreDeleted recreates the deleted znodes of a job that is not over; if a member is
// missing, the error names it. restoreDeleted uses one transaction on condition of the
// status's version. All created znodes, except the children of live, change only in
// transactions that change the status: so they are correct if the status has not changed
// since the members were read. A missing live folder has no children. If the job has ended
// meanwhile, its status has another version, and no znode is created.
func (j *Job) restoreDeleted(ctx context.Context) error {
	return j.txs.Apply(ctx, func(tx *stm.Tx) error {
		m := &mending{job: j, tx: tx, children: map[string][]string{}}
		if err := m.collectEdits(); err != nil {
			return err
		}
		if len(m.edits) > mostMended {
			return fmt.Errorf("%w: %d znodes below %s were deleted while the job is running, too many to create them again: kill the job, and submit it again",
				ErrRecord, len(m.edits), j.run)
		}
		for _, edit := range m.edits {
			if err := edit(); err != nil {
				return err
			}
		}
		return nil
	})
}

// mending is a call of restoreDeleted: children has the names below each existing folder,
// and edits are the edits to make.
type mending struct {
	job      *Job
	tx       *stm.Tx
	status   status
	children map[string][]string
	edits    []func() error
}

func (m *mending) planCreate(path string, data []byte) {
	m.edits = append(m.edits, func() error { return m.job.createNode(m.tx, path, data) })
}

func (m *mending) planDelete(path string) {
	m.edits = append(m.edits, func() error { return m.tx.Delete(path) })
}

// collectEdits reads the job and finds the missing znodes.
func (m *mending) collectEdits() (err error) {
	j := m.job
	if m.status, _, err = j.readStatus(m.tx); err != nil {
		return err
	}
	if m.status.State.Over() {
		return ErrOver
	}
	for _, name := range []string{jobformat.DirLive, jobformat.DirMembers, jobformat.DirIDs, jobformat.DirFree, jobformat.NodeFull} {
		node, names, err := m.tx.PeekChildren(j.run.at(name))
		if err != nil {
			return err
		}
		if node.Exists {
			m.children[name] = names
		} else if name != jobformat.NodeFull {
			m.planCreate(node.Path, nil)
		}
	}
	if err := m.collectMembers(); err != nil {
		return err
	}
	switch _, full := m.children[jobformat.NodeFull]; {
	case full && !m.status.isFull():
		m.planDelete(j.run.at(jobformat.NodeFull))
	case !full && m.status.isFull():
		m.planCreate(j.run.at(jobformat.NodeFull), nil)
	}
	return nil
}

// collectMembers makes ids and free fit the members. All members must exist.
func (m *mending) collectMembers() error {
	j := m.job
	if _, ok := m.children[jobformat.DirMembers]; !ok && m.status.Next > 0 {
		return j.lostMember(j.run.at(jobformat.DirMembers))
	}
	free, ids := map[string]bool{}, map[string]int{}
	for chunk := range slices.Chunk(idsFrom(0, m.status.Next), together) {
		members, err := j.peekMembers(m.tx, chunk)
		if err != nil {
			return err
		}
		for i, one := range members {
			switch {
			case one == nil:
				return j.lostMember(j.run.memberPath(chunk[i]))
			case j.record.ReuseIDs && one.Left:
				free[strconv.Itoa(one.ID)] = true
			default:
				ids[one.Name] = one.ID
			}
		}
	}
	for _, name := range m.children[jobformat.DirMembers] {
		if id, err := parseID(name); err == nil && id >= m.status.Next {
			return fmt.Errorf("%w: %s exists, and the id was not given out: delete it", ErrRecord, j.run.memberPath(id))
		}
	}
	for name, id := range ids {
		if !slices.Contains(m.children[jobformat.DirIDs], session.EscapeName(name)) {
			m.planCreate(j.run.identityPath(name), []byte(strconv.Itoa(id)))
		}
	}
	for name := range free {
		if !slices.Contains(m.children[jobformat.DirFree], name) {
			m.planCreate(j.run.at(jobformat.DirFree, name), nil)
		}
	}
	for _, name := range m.children[jobformat.DirFree] {
		if _, err := parseID(name); err == nil && !free[name] {
			m.planDelete(j.run.at(jobformat.DirFree, name))
		}
	}
	return nil
}

// peekMembers reads the members with these ids; nil for a missing member.
func (j *Job) peekMembers(tx *stm.Tx, ids []int) ([]*member, error) {
	paths := make([]string, len(ids))
	for i, id := range ids {
		paths[i] = j.run.memberPath(id)
	}
	nodes, err := tx.Peek(paths...)
	if err != nil {
		return nil, err
	}
	out := make([]*member, len(ids))
	for i, node := range nodes {
		if !node.Exists {
			continue
		}
		m, err := memberOf(strconv.Itoa(ids[i]), node.Data)
		if err != nil {
			return nil, spoiledError(node.Path, err)
		}
		out[i] = &m
	}
	return out, nil
}
