package session

import (
	"context"
	"errors"
	"fmt"

	"github.com/go-zookeeper/zk"
	"github.com/zkrecipes/zkrecipes/session/internal/wire"
)

// The server's verdicts, as go-zookeeper names them, so that errors.Is works
// with either package's name.
var (
	ErrNoNode                  = zk.ErrNoNode
	ErrNodeExists              = zk.ErrNodeExists
	ErrBadVersion              = zk.ErrBadVersion
	ErrNotEmpty                = zk.ErrNotEmpty
	ErrNoAuth                  = zk.ErrNoAuth
	ErrInvalidACL              = zk.ErrInvalidACL
	ErrNoChildrenForEphemerals = zk.ErrNoChildrenForEphemerals
	ErrBadArguments            = zk.ErrBadArguments
)

var (
	// ErrLost is wrapped by every error that the loss of a session, or of
	// something that was held, causes. The reason is wrapped beside it:
	// ErrExpired, ErrTrustRanOut, ErrClosed, ErrAuthFailed or ErrNodeDeleted.
	ErrLost = errors.New("lost")
	// ErrExpired: the server says that it has expired the session.
	ErrExpired = errors.New("expired by the server")
	// ErrTrustRanOut: no proof arrived in time that the server still keeps
	// the session, so it was given up before the server could expire it.
	ErrTrustRanOut = errors.New("trust ran out: no proof in time that the servers still keep it")
	// ErrClosed: the client was closed.
	ErrClosed = errors.New("closed by its owner")
	// ErrAuthFailed: the server refuses the credentials.
	ErrAuthFailed = errors.New("the server refused the credentials")

	// ErrNodeDeleted ends a [Hold] whose znode somebody deleted.
	ErrNodeDeleted = errors.New("its znode was deleted")
	// ErrUnknownOutcome is wrapped by [UnknownOutcomeError].
	ErrUnknownOutcome = errors.New("outcome unknown")
	// ErrTooLarge: a request is longer than a server accepts (jute.maxbuffer,
	// 1,048,575 bytes by default). Nothing was sent.
	ErrTooLarge = wire.ErrTooLarge
	// ErrReplyTooLarge: a server's answer is longer than Options.MaxReply. It
	// costs the connection, so the request is not repeated.
	ErrReplyTooLarge = wire.ErrReplyTooLarge
	// ErrInvalidPath: a path is not one. Nothing was sent.
	ErrInvalidPath = errors.New("invalid path")
	// ErrInvalidServers: the server list of [Connect] cannot be read.
	ErrInvalidServers = errors.New("invalid server list")
	// ErrInvalidOption: an option of [Connect] is out of its range.
	ErrInvalidOption = errors.New("invalid option")
	// ErrUnreachable: no server could be reached before the context ended.
	ErrUnreachable = errors.New("no server could be reached")
	// ErrTimeoutRefused: the servers do not grant the session timeout that
	// was asked for; ask for one within their limits.
	ErrTimeoutRefused = errors.New("the servers do not grant this session timeout")
	// ErrTimeoutTooShort: with the given tick time no rule can tell in time
	// that a session of this timeout is lost; ask for a longer one.
	ErrTimeoutTooShort = errors.New("the session timeout is too short for the servers' tick time")
	// ErrSequenceExhausted: the parent's sequence has reached 2147483647.
	// Its numbers no longer say who came first; delete and re-create it.
	ErrSequenceExhausted = errors.New("the parent's sequence numbers are used up: delete the parent, when nobody uses it, and create it again")
	// ErrUnsupported: the server does not know this request, or has it
	// switched off (TTL nodes need zookeeper.extendedTypesEnabled=true).
	ErrUnsupported = errors.New("not supported by this server")
	// ErrNotRun is the result of an operation of a failed transaction that
	// is not the one that failed.
	ErrNotRun = errors.New("not run: another operation of the transaction failed")
)

// OpError says which operation on which path failed. It unwraps to the reason.
type OpError struct {
	Op   string
	Path string
	Err  error
}

func (e *OpError) Error() string { return fmt.Sprintf("session: %s %s: %v", e.Op, e.Path, e.Err) }

// Unwrap returns the reason.
func (e *OpError) Unwrap() error { return e.Err }

// UnknownOutcomeError says that a write was sent and no answer came: it may
// have been carried out, or not. Never repeat such a write blindly; read, and
// decide by what is there. errors.Is(err, ErrUnknownOutcome) holds, and
// errors.Is for the reason as well (a context's error, a lost session).
type UnknownOutcomeError struct {
	Op   string
	Path string
	// Reason is why no answer came.
	Reason error
}

func (e *UnknownOutcomeError) Error() string {
	return fmt.Sprintf("session: %s %s: %v: %v", e.Op, e.Path, ErrUnknownOutcome, e.Reason)
}

// Unwrap returns ErrUnknownOutcome and the reason.
func (e *UnknownOutcomeError) Unwrap() []error { return []error{ErrUnknownOutcome, e.Reason} }

// lost wraps a reason in ErrLost.
func lost(reason error) error {
	if errors.Is(reason, ErrLost) {
		return reason
	}
	return fmt.Errorf("the session is %w: %w", ErrLost, reason)
}

// codeError turns a server's code into an error; 0 is nil.
func codeError(code int32) error {
	if err, ok := verdicts(code); ok {
		return err
	}
	return fmt.Errorf("server error %d", code)
}

func verdicts(code int32) (error, bool) {
	switch code {
	case wire.CodeOK:
		return nil, true
	case -8:
		return ErrBadArguments, true
	case -101:
		return ErrNoNode, true
	case -102:
		return ErrNoAuth, true
	case -103:
		return ErrBadVersion, true
	case -108:
		return ErrNoChildrenForEphemerals, true
	case -110:
		return ErrNodeExists, true
	case -111:
		return ErrNotEmpty, true
	case wire.CodeSessionExpired:
		return ErrExpired, true
	case -114:
		return ErrInvalidACL, true
	case wire.CodeAuthFailed:
		return ErrAuthFailed, true
	case wire.CodeUnimplemented:
		return ErrUnsupported, true
	case wire.CodeInconsistency:
		return ErrNotRun, true
	}
	return nil, false
}

// errDeleted is the cause of a hold whose znode was deleted.
var errDeleted = fmt.Errorf("%w: %w", ErrLost, ErrNodeDeleted)

// ended is the error of a context that is over, with its cause.
func ended(ctx context.Context) error {
	err, cause := ctx.Err(), context.Cause(ctx)
	if err == nil || cause == nil || errors.Is(cause, err) {
		return cause
	}
	return fmt.Errorf("%w: %w", err, cause)
}

// Passing reports whether err is the loss of a session after which the client
// makes another: what failed with it may be begun anew there. Losses that the
// next session would share (ErrClosed, ErrAuthFailed) are not.
func Passing(err error) bool {
	return errors.Is(err, ErrLost) && !errors.Is(err, ErrClosed) && !errors.Is(err, ErrAuthFailed)
}
