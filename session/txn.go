package session

import (
	"context"
	"fmt"
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
	// real is the server's path, of a [Session.CheckOp]; "" if it is path below the
	// chroot of whoever sends it.
	real string
}

// Path is the path that the operation is about.
func (o Op) Path() string { return o.path }

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

// CheckOp is [CheckOp] of the znode at path in this session, for a transaction in this
// or any other, also of a client with another chroot.
func (s *Session) CheckOp(path string, version int32) Op {
	op := CheckOp(path, version)
	op.real = s.real(path)
	return op
}

// Result is what one operation of a transaction did. Path is set for creates;
// Stat for sets, and for creates of containers and TTL nodes only, since
// servers do not send it for the others. Err is nil if the transaction was applied; if it was
// not, Err is the reason for the operation that failed and ErrNotRun for the
// others.
//
// Of [Session.Gets] it is one read: Path, Data and Stat, or Err.
type Result struct {
	Path string
	Data []byte
	Stat Stat
	Err  error
}

// TxnError says which operation made a transaction fail. Nothing of the
// transaction was applied. It unwraps to the reason.
type TxnError struct {
	Index   int // of the failed operation
	Path    string
	Err     error
	Results []Result
}

func (e *TxnError) Error() string {
	return fmt.Sprintf("session: transaction: operation %d on %s: %v", e.Index, e.Path, e.Err)
}

// Unwrap returns the reason.
func (e *TxnError) Unwrap() error { return e.Err }

// Txn carries out all of ops or none of them. When one fails the error is a
// [TxnError]; a lost answer gives an [UnknownOutcomeError]. Without operations
// it does nothing.
func (s *Session) Txn(ctx context.Context, ops ...Op) ([]Result, error) {
	if len(ops) == 0 {
		return nil, nil
	}
	return do(ctx, s, "transaction", ops[0].path, func() *Future[[]Result] { return s.StartTxn(ops...) }, nil)
}

// StartTxn is [Session.Txn] without waiting.
func (s *Session) StartTxn(ops ...Op) *Future[[]Result] {
	const name = "transaction"
	if len(ops) == 0 {
		return unsent[[]Result](name)
	}
	checked := make([]Op, len(ops))
	for i, op := range ops {
		var err error
		if checked[i], err = s.checkOp(op); err != nil {
			return failed[[]Result](name, op.path, fmt.Errorf("operation %d: %w", i, err))
		}
	}
	return start(s, request[[]Result]{
		op: name, path: ops[0].path, code: wire.OpMulti, write: true,
		body: func(e *wire.Encoder) {
			for _, op := range checked {
				wire.EncodePart(e, op.kind, false)
				op.encode(s, e)
			}
			wire.EncodePart(e, -1, true)
		},
		decode:  func(d *wire.Decoder) ([]Result, error) { return s.txnAnswer(checked, 0, d) },
		refused: func(code int32, d *wire.Decoder) ([]Result, error) { return s.txnAnswer(checked, code, d) },
	})
}

// txnAnswer reads the results. Servers report a failed transaction with code 0
// and the failure in the results, or with the failure's code as well.
func (s *Session) txnAnswer(ops []Op, code int32, d *wire.Decoder) ([]Result, error) {
	raw := wire.DecodeMulti(d)
	if d.Err() != nil || len(raw) != len(ops) {
		if code != wire.CodeOK {
			return nil, &OpError{Op: "transaction", Path: ops[0].path, Err: codeError(code)}
		}
		return nil, &OpError{Op: "transaction", Path: ops[0].path, Err: errMisfit}
	}
	culprit := -1
	for i, r := range raw {
		if r.Code != wire.CodeOK && r.Code != wire.CodeInconsistency {
			culprit = i
			break
		}
	}
	out := make([]Result, len(raw))
	for i, r := range raw {
		out[i] = Result{Path: r.Path, Stat: r.Stat}
		if r.Path != "" {
			out[i].Path, _ = s.visible(r.Path)
		}
		if culprit >= 0 {
			out[i] = Result{Err: ErrNotRun}
		}
	}
	if culprit < 0 {
		if code != wire.CodeOK {
			return nil, &OpError{Op: "transaction", Path: ops[0].path, Err: codeError(code)}
		}
		return out, nil
	}
	out[culprit].Err = codeError(raw[culprit].Code)
	return out, &TxnError{Index: culprit, Path: ops[culprit].path, Err: out[culprit].Err, Results: out}
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
		return op, fmt.Errorf("%w: the zero Op is no operation", ErrInvalidOption)
	case wire.OpDelete, wire.OpSetData, wire.OpCheck:
		return op, ValidatePath(op.path)
	}
	if !op.mode.valid() {
		return op, fmt.Errorf("%w: mode %d is none", ErrInvalidOption, op.mode)
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
	if op.mode.sequential() {
		return op, validatePrefix(op.path)
	}
	return op, ValidatePath(op.path)
}

// encode appends the operation's record; op has passed checkOp.
func (o Op) encode(s *Session, e *wire.Encoder) {
	at := o.real
	if at == "" {
		at = s.real(o.path)
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
