package fence

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"

	"github.com/zkrecipes/zkrecipes/internal/holding"
	"github.com/zkrecipes/zkrecipes/internal/receiver"
	"github.com/zkrecipes/zkrecipes/session"
)

// Issuer makes the tokens of holds, with the epoch that a persistent znode of the
// ensemble keeps. All writers of a resource use the same znode.
type Issuer struct {
	client *session.Client
	path   string
	acl    []session.ACL
	err    error // of an invalid argument
}

// Options of an [Issuer]; nil and the zero value mean all defaults.
type Options struct {
	// ACL of the epoch's znode; default: the client's. A client that may write the
	// znode can lock all other writers out.
	ACL []session.ACL
}

// NewIssuer makes an issuer whose epoch is in the znode at path, such as
// "/fence/epoch". NewIssuer sends no request; the first call of a method reports an
// invalid argument. o may be nil.
func NewIssuer(client *session.Client, path string, o *Options) *Issuer {
	i := &Issuer{client: client, path: path}
	if o != nil {
		i.acl = slices.Clone(o.ACL)
	}
	switch err := session.ValidatePath(path); {
	case client == nil:
		i.err = fmt.Errorf("%w: client is nil", ErrInvalidArgument)
	case err != nil:
		i.err = fmt.Errorf("%w: path: %w", ErrInvalidArgument, err)
	case path == "/":
		i.err = fmt.Errorf("%w: path is the root; the epoch's znode must be below it", ErrInvalidArgument)
	}
	return i
}

// Token returns the token of a hold: the number is held.Token(), and the epoch is the
// present one, which is created if the ensemble has none. A transaction proves that
// the hold and the epoch exist at the same time. Call Token once per hold, not once
// per write: a call takes one read and one transaction.
//
// held belongs to a client of the same ensemble. If the hold has ended, the error wraps
// session.ErrLost or session.ErrReleased if this process knows, and otherwise
// session.ErrNoNode or session.ErrBadVersion. ErrCorruptEpoch says that the znode has
// to be repaired. Other errors are the context's, or those of package session.
func (i *Issuer) Token(ctx context.Context, held session.Held) (Token, error) {
	i = receiver.OrZero(i)
	err := holding.Begin(ctx, i.client, "fence.NewIssuer", i.err, ErrInvalidArgument)
	if err == nil && held == nil {
		err = fmt.Errorf("%w: held is nil", ErrInvalidArgument)
	}
	var token Token
	if err == nil {
		// One session lives in one incarnation of the ensemble: the epoch that f
		// reads, and the hold that its transaction proves, belong together.
		err = i.client.Retry(ctx, func(s *session.Session) error {
			token, err = i.issue(ctx, s, held)
			return err
		})
	}
	if err != nil {
		return Token{}, holding.Failure(ctx, "fence", "token with the epoch of", i.path, err)
	}
	return token, nil
}

// issue makes the token in one session. Only an operator changes an epoch: the loop
// ends when the operator does.
func (i *Issuer) issue(ctx context.Context, s *session.Session, held session.Held) (Token, error) {
	for {
		if held.Context().Err() != nil {
			return Token{}, fmt.Errorf("the hold has ended: %w", context.Cause(held.Context()))
		}
		token := Token{Number: held.Token()}
		epoch, version, err := i.ensureEpoch(ctx, s)
		if err != nil {
			return Token{}, err
		}
		token.Epoch = epoch
		_, err = s.Txn(ctx, held.Guard(), s.CheckOp(i.path, version))
		var refused *session.TxnError
		switch {
		case errors.As(err, &refused) && refused.Index == 1 && isChanged(refused.Err):
			continue // the epoch was advanced, or its znode deleted, since the read
		case errors.As(err, &refused) && refused.Index == 0 && isChanged(refused.Err):
			return Token{}, fmt.Errorf("the hold has ended: %w", err)
		case err != nil:
			return Token{}, err
		case held.Token() != token.Number:
			continue // a registration was made again; the guard may be of either one
		}
		return token, token.Validate()
	}
}

// isChanged reports whether a check failed because the znode has changed or is gone.
func isChanged(err error) bool {
	return errors.Is(err, session.ErrBadVersion) || errors.Is(err, session.ErrNoNode)
}

// ensureEpoch reads the epoch and the version of its znode, and creates a missing one.
func (i *Issuer) ensureEpoch(ctx context.Context, s *session.Session) (epoch int64, version int32, err error) {
	for {
		data, stat, err := s.Get(ctx, i.path)
		if err == nil {
			epoch, err := decodeEpoch(data)
			return epoch, stat.Version, err
		}
		if !errors.Is(err, session.ErrNoNode) {
			return 0, 0, err
		}
		if err := i.createEpoch(ctx, s, newEpoch(0)); err != nil && !errors.Is(err, session.ErrNodeExists) {
			return 0, 0, err
		}
	}
}

// createEpoch creates the znode, and missing znodes above it.
func (i *Issuer) createEpoch(ctx context.Context, s *session.Session, epoch int64) error {
	o := &session.CreateOptions{ACL: i.acl}
	_, err := s.Create(ctx, i.path, encodeEpoch(epoch), session.Persistent, o)
	if !errors.Is(err, session.ErrNoNode) {
		return err
	}
	// The ACL of the znodes above is the client's: others may have znodes there, too.
	if err := s.EnsurePath(ctx, path.Dir(i.path), session.Persistent, nil); err != nil {
		return err
	}
	_, err = s.Create(ctx, i.path, encodeEpoch(epoch), session.Persistent, o)
	return err
}

// Epoch returns the ensemble's epoch, and 0 if the ensemble has none yet: the first call of
// [Issuer.Token] creates one. Epoch changes nothing, and sees every epoch that was committed
// before the call. ErrCorruptEpoch says that the znode's data is not an epoch. Other errors
// are the context's, or those of package session.
func (i *Issuer) Epoch(ctx context.Context) (int64, error) {
	i = receiver.OrZero(i)
	err := holding.Begin(ctx, i.client, "fence.NewIssuer", i.err, ErrInvalidArgument)
	var epoch int64
	if err == nil {
		err = i.client.Retry(ctx, func(s *session.Session) error {
			return s.ReadFresh(ctx, i.path, func() error {
				data, _, err := s.Get(ctx, i.path)
				if errors.Is(err, session.ErrNoNode) {
					epoch = 0
					return nil
				}
				if err == nil {
					epoch, err = decodeEpoch(data)
				}
				return err
			})
		})
	}
	if err != nil {
		return 0, holding.Failure(ctx, "fence", "read the epoch of", i.path, err)
	}
	return epoch, nil
}

// Advance makes the ensemble's epoch higher than its present one and higher than above,
// and returns the new epoch. Call Advance after the ensemble was restored from a backup,
// before the writers start; and with the epoch of [StaleError.Highest] as above if
// receivers refuse the tokens of new holds. above is 0 otherwise. Advance also replaces
// data that is not an epoch.
//
// Holds keep their tokens until their owners call [Issuer.Token] again: restart the
// writers, or let them do so after ErrStale.
//
// If the error wraps session.ErrUnknownOutcome, the epoch may have been advanced; it is
// safe to call Advance again.
func (i *Issuer) Advance(ctx context.Context, above int64) (int64, error) {
	i = receiver.OrZero(i)
	err := holding.Begin(ctx, i.client, "fence.NewIssuer", i.err, ErrInvalidArgument)
	if err == nil && (above < 0 || above == maxEpoch) {
		err = fmt.Errorf("%w: above must be at least 0 and less than %d, got %d", ErrInvalidArgument, maxEpoch, above)
	}
	var epoch int64
	if err == nil {
		err = i.client.Retry(ctx, func(s *session.Session) error {
			epoch, err = i.advance(ctx, s, above)
			return err
		})
	}
	if err != nil {
		return 0, holding.Failure(ctx, "fence", "advance the epoch of", i.path, err)
	}
	return epoch, nil
}

// advance advances the epoch in one session. Each write is on condition of the state
// that was read, so that no advance of another client is undone.
func (i *Issuer) advance(ctx context.Context, s *session.Session, above int64) (int64, error) {
	for {
		if err := s.Sync(ctx, i.path); err != nil {
			return 0, err
		}
		data, stat, err := s.Get(ctx, i.path)
		var next int64
		switch {
		case errors.Is(err, session.ErrNoNode):
			next = newEpoch(above)
			err = i.createEpoch(ctx, s, next)
		case err == nil:
			present, wrong := decodeEpoch(data)
			if wrong != nil {
				present = 0
			}
			if present == maxEpoch {
				return 0, fmt.Errorf("%w: the epoch is the highest possible, %d: delete the znode, and the tokens of the receivers",
					ErrCorruptEpoch, int64(maxEpoch))
			}
			next = newEpoch(max(above, present))
			_, err = s.Set(ctx, i.path, encodeEpoch(next), stat.Version)
		}
		if err == nil || !isChanged(err) && !errors.Is(err, session.ErrNodeExists) {
			return next, err
		}
	}
}
