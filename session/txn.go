package session

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/zkrecipes/zkrecipes/session/internal/wire"
)

// Op is one operation of a transaction.
type Op struct {
	kind    int32
	path    string
	data    []byte
	version int32
	mode    Mode
	opts    *CreateOptions
	// real is the server's path, of a [Session.CheckOp]; "" if the server's path is
	// path below the chroot of the client that sends the operation.
	real string
	// all are the checks of an [AllOf].
	all []Op
	// while and in are the conditions of [Op.While] and [Op.In]; empty if there is none.
	while []context.Context
	in    *Session
}

// Path returns the path of the operation; of an [AllOf], that of its first check.
func (o Op) Path() string { return o.path }

// name is what a TxnError calls the operation.
func (o Op) name() string {
	switch o.kind {
	case wire.OpCheck, kindAll:
		return "check"
	case wire.OpSetData:
		return "set"
	case wire.OpDelete:
		return "delete"
	}
	return "create"
}

// IsCheck reports whether the operation is a check ([CheckOp], [AllOf], or the guard of
// something held), which changes nothing.
func (o Op) IsCheck() bool {
	if o.kind != kindAll {
		return o.kind == wire.OpCheck
	}
	return len(o.all) > 0 && !slices.ContainsFunc(o.all, func(part Op) bool { return !part.IsCheck() })
}

// CreateOp creates a znode. o may be nil.
func CreateOp(path string, data []byte, mode Mode, o *CreateOptions) Op {
	return Op{kind: mode.code(), path: path, data: data, mode: mode, opts: o}
}

// SetOp replaces a znode's data if its version is version; -1 matches any.
func SetOp(path string, data []byte, version int32) Op {
	return Op{kind: wire.OpSetData, path: path, data: data, version: version}
}

// DeleteOp deletes a znode if its version is version; -1 matches any.
func DeleteOp(path string, version int32) Op {
	return Op{kind: wire.OpDelete, path: path, version: version}
}

// CheckOp lets the transaction pass only if the znode exists and its version is
// version; -1 matches any.
func CheckOp(path string, version int32) Op {
	return Op{kind: wire.OpCheck, path: path, version: version}
}

// CheckOp is [CheckOp] of the znode at path in this session, for a transaction in
// any session, even of a client with another chroot.
func (s *Session) CheckOp(path string, version int32) Op {
	s.mustBeMade()
	op := CheckOp(path, version)
	op.real = s.serverPath(path)
	return op
}

// Result is the result of one operation of a transaction. Path is set for creates; Stat
// for sets, and for creates of containers and TTL nodes only, since servers do not send
// it for the others (nor Keepers for any). An [AllOf] has one Result. Err is nil if the
// transaction was applied; if it was not, Err is the reason for the operation that failed
// and ErrNotRun for the others.
//
// Of [Session.Gets] it is one read: Path, Data and Stat, or Err.
type Result struct {
	Path string
	Data []byte
	Stat Stat
	Err  error
}

// TxnError names the operation that made a transaction fail. Nothing of the
// transaction was applied. It unwraps to the reason.
type TxnError struct {
	Index   int    // of the failed operation in the caller's list; an AllOf counts as one
	Op      string // "create", "set", "delete" or "check"
	Path    string // of the failed operation, or of the failed check of an AllOf
	Err     error
	Results []Result
}

func (e *TxnError) Error() string {
	return fmt.Sprintf("session: transaction: operation %d on %s: %v%s", e.Index, e.Path, e.Err, permissionHint(e.Op, e.Err))
}

// Unwrap returns the reason.
func (e *TxnError) Unwrap() error { return e.Err }

// Txn carries out all of ops or none of them. If an operation fails, the error is
// a [TxnError]; if the reply is lost, an [UnknownOutcomeError]. Without
// operations Txn does nothing.
func (s *Session) Txn(ctx context.Context, ops ...Op) ([]Result, error) {
	s.mustBeUsable(ctx)
	if len(ops) == 0 {
		return nil, nil
	}
	return doRequest(ctx, s, "transaction", ops[0].path, func() *Future[[]Result] { return s.StartTxn(ops...) }, nil)
}

// StartTxn is [Session.Txn] without waiting.
func (s *Session) StartTxn(ops ...Op) *Future[[]Result] {
	s.mustBeMade()
	return s.startTxn(false, ops...)
}

// startTxn is StartTxn; with firstConnection, the request is sent only on the connection
// on which a server made the session.
func (s *Session) startTxn(firstConnection bool, ops ...Op) *Future[[]Result] {
	const name = "transaction"
	if len(ops) == 0 {
		return completedFuture[[]Result](name, nil, nil)
	}
	list := partList{ops: ops, parts: make([]Op, 0, len(ops)), at: make([]int, 0, len(ops))}
	for i, op := range ops {
		if err := list.add(s, i, op); err != nil {
			return failed[[]Result](name, op.path, fmt.Errorf("operation %d: %w", i, err))
		}
	}
	if list.refused != nil {
		return completedFuture[[]Result](name, list.refused.Results, list.refused)
	}
	return start(s, request[[]Result]{
		op: name, path: ops[0].path, code: wire.OpMulti, write: true, firstConnection: firstConnection,
		body: func(e *wire.Encoder) {
			for _, op := range list.parts {
				wire.EncodePart(e, op.kind, false)
				op.encode(s, e)
			}
			wire.EncodePart(e, -1, true)
		},
		decode:  func(d *wire.Decoder) ([]Result, error) { return s.txnAnswer(&list, 0, d) },
		refused: func(code int32, d *wire.Decoder) ([]Result, error) { return s.txnAnswer(&list, code, d) },
	})
}

// txnAnswer reads the results. Servers report a failed transaction with code 0
// and the failure in the results, or with the failure's code as well.
func (s *Session) txnAnswer(list *partList, code int32, d *wire.Decoder) ([]Result, error) {
	raw := wire.DecodeMulti(d)
	first := list.ops[0].path
	if d.Err() != nil || len(raw) != len(list.parts) {
		if code != wire.CodeOK {
			return nil, &OpError{Op: "transaction", Path: first, Err: codeError(code)}
		}
		return nil, &OpError{Op: "transaction", Path: first, Err: errMisfit}
	}
	for i, r := range raw {
		if r.Code != wire.CodeOK && r.Code != wire.CodeInconsistency {
			failed := list.failure(list.at[i], list.parts[i], codeError(r.Code))
			return failed.Results, failed
		}
	}
	if code != wire.CodeOK {
		return nil, &OpError{Op: "transaction", Path: first, Err: codeError(code)}
	}
	out := make([]Result, len(list.ops))
	for i, r := range raw {
		at := list.at[i]
		if out[at] = (Result{Path: r.Path, Stat: r.Stat}); r.Path != "" {
			out[at].Path, _ = s.visible(r.Path)
		}
	}
	return out, nil
}

// createOp checks a create and fills in the defaults.
func (s *Session) createOp(path string, data []byte, mode Mode, o *CreateOptions) (Op, error) {
	return s.checkOp(CreateOp(path, data, mode, o))
}

// checkOp refuses an operation that no server would accept, and fills in
// defaults.
func (s *Session) checkOp(op Op) (Op, error) {
	switch op.kind {
	case 0:
		return op, fmt.Errorf("%w: the zero Op is not an operation", ErrInvalidOption)
	case wire.OpDelete, wire.OpSetData, wire.OpCheck:
		return op, ValidatePath(op.path)
	}
	if !op.mode.valid() {
		return op, fmt.Errorf("%w: mode %d does not exist", ErrInvalidOption, op.mode)
	}
	filled := CreateOptions{}
	if op.opts != nil {
		filled = *op.opts
	}
	if filled.ACL == nil {
		filled.ACL = s.acl
	}
	op.opts = &filled
	if err := validateTTL(op.mode, filled.TTL); err != nil {
		return op, err
	}
	validate := ValidatePath
	if op.mode.sequential() {
		validate = validatePrefix
	}
	if err := validate(op.path); err != nil {
		return op, err
	}
	return s.adaptOp(op)
}

// encode appends the operation's record; op has passed checkOp.
func (o Op) encode(s *Session, e *wire.Encoder) {
	at := o.real
	if at == "" {
		at = s.serverPath(o.path)
	}
	o.encodeAt(at, e)
}

// encodeAt is encode with the server's path.
func (o Op) encodeAt(real string, e *wire.Encoder) {
	e.String(real)
	switch o.kind {
	case wire.OpDelete, wire.OpCheck:
		e.Int32(o.version)
	case wire.OpSetData:
		e.Bytes(o.data)
		e.Int32(o.version)
	default:
		data := o.data
		if data == nil {
			data = []byte{} // null data makes some readers stumble
		}
		e.Bytes(data)
		wire.EncodeACL(e, o.opts.ACL)
		e.Int32(int32(o.mode))
		if o.mode.ttl() {
			e.Int64(int64(o.opts.TTL / time.Millisecond))
		}
	}
}
