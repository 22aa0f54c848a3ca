package session

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/go-zookeeper/zk"
	"github.com/zkrecipes/zkrecipes/internal/znode"
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
	// ErrLost is wrapped by every error that the loss of a session or of a hold
	// causes. The reason is wrapped beside it: ErrExpired, ErrTrustRanOut,
	// ErrRefused, ErrReplaced, ErrClosed, ErrAuthFailed or ErrNodeDeleted.
	ErrLost = errors.New("lost")
	// ErrExpired: the server reports that it has expired the session.
	ErrExpired = errors.New("expired by the server")
	// ErrTrustRanOut: no proof arrived in time that the servers still keep the
	// session, so the client gave the session up before a server could expire it.
	ErrTrustRanOut = errors.New("trust ran out: no proof in time that the servers still keep it")
	// ErrRefused: for two session timeouts servers have refused each attempt to
	// resume the session, and then made a new session. Servers refuse sessions
	// that have seen newer data than they have: the ensemble was recreated empty, or
	// restored from a backup.
	ErrRefused = errors.New("the servers refuse the session, but make new ones: the ensemble may have been recreated empty, or restored from a backup")
	// ErrReplaced: a server has not resumed the session, nor said that it has expired:
	// ClickHouse Keeper makes another session on every new connection, and RaftKeeper
	// refuses all sessions while it has no leader. The former session, with its ephemeral
	// znodes, may exist until its timeout.
	ErrReplaced = errors.New("a server has not resumed the session, nor said that it has expired")
	// ErrClosed: the client was closed.
	ErrClosed = errors.New("closed by its owner")
	// ErrAuthFailed: the server refuses the credentials.
	ErrAuthFailed = errors.New("the server refused the credentials")

	// ErrNodeDeleted ends a [Hold] whose znode was deleted.
	ErrNodeDeleted = errors.New("its znode was deleted")
	// ErrUnknownOutcome is wrapped by [UnknownOutcomeError].
	ErrUnknownOutcome = errors.New("outcome unknown")
	// ErrTooLarge: a request is longer than a server accepts (jute.maxbuffer,
	// 1,048,575 bytes by default). Nothing was sent.
	ErrTooLarge = wire.ErrTooLarge
	// ErrReplyTooLarge: a server's reply is longer than Options.MaxReply. It
	// costs the connection, so the request is not retried.
	ErrReplyTooLarge = wire.ErrReplyTooLarge
	// ErrInvalidArgument: an argument is invalid. No request was sent. Every package of
	// this module returns errors that wrap this one for invalid arguments, but
	// rebalanser/assignor, which imports no other package of it.
	ErrInvalidArgument = errors.New("invalid argument")
	// ErrInvalidPath: a path is invalid. No request was sent. ErrInvalidPath wraps
	// ErrInvalidArgument.
	ErrInvalidPath error = argumentError("invalid path")
	// ErrInvalidServers: the server list of [Connect] is invalid. ErrInvalidServers wraps
	// ErrInvalidArgument.
	ErrInvalidServers error = argumentError("invalid server list")
	// ErrInvalidOption: an option of [Connect] is out of its range. ErrInvalidOption wraps
	// ErrInvalidArgument.
	ErrInvalidOption error = argumentError("invalid option")
	// ErrTooManyNodes: a tree has more znodes than [DeleteAllOptions] allows. Nothing was
	// deleted.
	ErrTooManyNodes = errors.New("too many znodes")
	// ErrUnreachable: no server could be reached before the context ended.
	ErrUnreachable = errors.New("no server could be reached")
	// ErrTimeoutRefused: the servers do not grant the requested session timeout;
	// use a timeout within their limits.
	ErrTimeoutRefused = errors.New("the servers do not grant this session timeout")
	// ErrTimeoutTooShort: with the given tick time, no rule can report the loss
	// of a session of this timeout in time; use a longer timeout.
	ErrTimeoutTooShort = errors.New("the session timeout is too short for the servers' tick time")
	// ErrSequenceExhausted: the parent's sequence has reached 2147483647. Its
	// numbers no longer tell the order of arrival; delete the parent and create
	// it again.
	ErrSequenceExhausted = znode.ErrExhausted
	// ErrAuthRequired: the servers serve only clients that have authenticated by a scheme
	// that Options.Credentials and Options.SASL lack (zookeeper.enforce.auth.schemes). A server closes
	// the session with this reply. ErrAuthRequired wraps ErrAuthFailed.
	ErrAuthRequired error = authRequired{}
	// ErrQuotaExceeded: the write would exceed the hard quota of a znode above, and has
	// changed nothing.
	ErrQuotaExceeded = errors.New("the quota of a znode above is exhausted")
	// ErrThrottled: a server with too many requests has not carried out this one
	// (zookeeper.throttled_op_wait_time). The methods that wait for a reply send the request
	// again, with pauses of Options.Backoff; the futures of the Start methods do not.
	ErrThrottled = errors.New("the server is overloaded, and has not carried out the request")
	// ErrReadOnly: the server has no quorum, and carries out reads only.
	ErrReadOnly = errors.New("the server is read-only")
	// ErrUnsupported: the server does not know this request, or the request is
	// switched off (TTL nodes need zookeeper.extendedTypesEnabled=true).
	ErrUnsupported = errors.New("not supported by this server")
	// ErrNotRun is the result of the operations of a failed transaction other
	// than the failed operation.
	ErrNotRun = errors.New("not run: another operation of the transaction failed")
)

// OpError names the operation and the path of a failure. It unwraps to the
// reason.
type OpError struct {
	Op   string
	Path string
	Err  error
}

func (e *OpError) Error() string {
	return fmt.Sprintf("session: %s %s: %v%s", e.Op, e.Path, e.Err, permissionHint(e.Op, e.Err))
}

// permissionHint says which permission op lacks, if err is the refusal of a server.
func permissionHint(op string, err error) string {
	if right := missingRight(op); right != "" && errors.Is(err, ErrNoAuth) {
		return " (the client lacks the " + right + ")"
	}
	return ""
}

// missingRight returns the permission that the ACL does not grant if a server refuses
// op.
func missingRight(op string) string {
	switch op {
	case "get", "exists", "children", "check":
		return "READ permission of the znode"
	case "set":
		return "WRITE permission of the znode"
	case "create":
		return "CREATE permission of the parent znode"
	case "delete":
		return "DELETE permission of the parent znode"
	}
	return ""
}

// Unwrap returns the reason.
func (e *OpError) Unwrap() error { return e.Err }

// UnknownOutcomeError says that a write was sent and no reply came: the write may
// have been carried out, or not. Never retry such a write blindly; read, and
// decide by the state. errors.Is(err, ErrUnknownOutcome) is true, and so is
// errors.Is for the reason (a context's error, a lost session).
type UnknownOutcomeError struct {
	Op   string
	Path string
	// Reason says why no reply came.
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
	case wire.CodeReadOnly:
		return ErrReadOnly, true
	case wire.CodeAuthRequired:
		return ErrAuthRequired, true
	case -125:
		return ErrQuotaExceeded, true
	case wire.CodeThrottled:
		return ErrThrottled, true
	case wire.CodeUnimplemented:
		return ErrUnsupported, true
	case wire.CodeInconsistency:
		return ErrNotRun, true
	}
	return nil, false
}

// errDeleted is the cause of a hold whose znode was deleted.
var errDeleted = fmt.Errorf("%w: %w", ErrLost, ErrNodeDeleted)

// endError is the error of a context that is over, with its cause.
func endError(ctx context.Context) error {
	err, cause := ctx.Err(), context.Cause(ctx)
	switch {
	case err == nil || cause == nil || cause == err: //nolint:errorlint // wrapped in other errors, it is one of those below
		return cause
	case errors.Is(cause, err):
		return endedError{cause}
	}
	return endedError{fmt.Errorf("%w: %w", err, cause)}
}

// endedError is the end of a context with a cause. errors.Is and errors.As find the cause,
// but not what a server or a connection has said in it about another request: a group of
// goroutines cancels its context with the error of the first that fails.
type endedError struct{ err error }

func (e endedError) Error() string { return e.err.Error() }

// Is implements errors.Is.
func (e endedError) Is(target error) bool {
	return !slices.Contains(verdictsOfRequests(), target) && errors.Is(e.err, target)
}

// As implements errors.As.
func (e endedError) As(target any) bool {
	switch target.(type) {
	case **OpError, **TxnError, **UnknownOutcomeError:
		return false
	}
	return errors.As(e.err, target)
}

// verdictsOfRequests are the errors that say what has become of one request.
func verdictsOfRequests() []error {
	return []error{
		ErrNoNode, ErrNodeExists, ErrBadVersion, ErrNotEmpty, ErrNoAuth, ErrInvalidACL, ErrNoChildrenForEphemerals, ErrBadArguments,
		ErrUnknownOutcome, ErrTooLarge, ErrReplyTooLarge, ErrUnsupported, ErrNotRun, ErrQuotaExceeded, ErrThrottled, ErrReadOnly, wire.ErrNotSent, wire.ErrUnanswered,
	}
}

// isOfOneRequest reports whether err says what has become of one request.
func isOfOneRequest(err error) bool {
	return slices.ContainsFunc(verdictsOfRequests(), func(v error) bool { return errors.Is(err, v) })
}

// IsSessionLoss reports whether err is the loss of a session after which the client
// makes another: the failed operation may be begun again in the next session.
// Losses that the next session would share (ErrClosed, ErrAuthFailed) are
// excluded.
func IsSessionLoss(err error) bool {
	return errors.Is(err, ErrLost) && !errors.Is(err, ErrClosed) && !errors.Is(err, ErrAuthFailed)
}

// authRequired is ErrAuthRequired.
type authRequired struct{}

func (authRequired) Error() string {
	return "the servers require authentication: set Credentials, or SASL, of a scheme that they accept (zookeeper.enforce.auth.schemes)"
}

func (authRequired) Unwrap() error { return ErrAuthFailed }

// argumentError is a sentinel that wraps ErrInvalidArgument, without its text.
type argumentError string

func (e argumentError) Error() string { return string(e) }
func (argumentError) Unwrap() error   { return ErrInvalidArgument }
