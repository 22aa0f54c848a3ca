package observe

import (
	"context"
	"fmt"
	"log/slog"
	"time"
)

// Log returns an Observer that writes each event as one line to logger, with the event's
// name as the message and its fields as attributes:
//
//   - at level Warn what is, or may become, a loss: a hold that is lost, or whose release
//     no server has confirmed; a suspended or lost session, no connection, trust that runs
//     low; an unknown outcome; a stale cache, a wait or another operation that failed,
//     unless the reason is the end of its context;
//   - at level Info what changes rarely: leaderships, registrations, memberships, workers,
//     sessions, caches, assignments of resources;
//   - at level Debug the rest, heartbeats among it: without an answer to them the
//     connection is lost.
func Log(logger *slog.Logger) Observer { return logObserver{logger} }

type logObserver struct{ to *slog.Logger }

func (l logObserver) Observe(ctx context.Context, e Event) {
	level := levelOf(e)
	if !l.to.Enabled(ctx, level) {
		return
	}
	l.to.LogAttrs(ctx, level, e.Name(), attributes(e)...)
}

func levelOf(e Event) slog.Level {
	quiet := slog.LevelDebug
	var err error
	switch e := e.(type) {
	case WaitEnded:
		if e.Outcome() == Failed {
			return slog.LevelWarn
		}
	case HoldBegun:
		quiet = levelOfKind(e.Kind)
	case HoldEnded:
		if e.End == Lost || e.End == Unconfirmed {
			return slog.LevelWarn
		}
		quiet, err = levelOfKind(e.Kind), e.Err
	case BatchWritten:
		if !e.Declined {
			err = e.Err
		}
	case TransactionEnded:
		if !e.Declined {
			err = e.Err
		}
	case CacheStale:
		quiet, err = slog.LevelInfo, e.Err
	case CacheEnded:
		err = e.Err
	case NoConnection, TrustLow, OutcomeUnknown:
		return slog.LevelWarn
	case MemberChanged, CacheSynced, CoordinationEnded, AssignmentTaken:
		return slog.LevelInfo
	case Rebalanced:
		quiet, err = slog.LevelInfo, e.Err
	case SessionChanged:
		if e.Status == "suspended" || e.Status == "lost" {
			return slog.LevelWarn
		}
		return slog.LevelInfo
	}
	if err == nil || IsContextEnd(err) {
		return quiet
	}
	return slog.LevelWarn
}

// levelOfKind is the level at which a hold begins and ends.
func levelOfKind(k Kind) slog.Level {
	switch k {
	case Leadership, Registration, Membership, Node, Worker:
		return slog.LevelInfo
	}
	return slog.LevelDebug
}

func attributes(e Event) []slog.Attr {
	switch e := e.(type) {
	case WaitBegun:
		return e.attributes()
	case WaitQueued:
		return append(e.attributes(), slog.String("znode", e.Znode), slog.Int("ahead", e.Ahead))
	case WaitEnded:
		return withError(append(e.attributes(), slog.Duration("took", e.Took)), e.Err)
	case HoldBegun:
		return e.attributes()
	case HoldEnded:
		out := append(e.attributes(), slog.Duration("took", e.Took), slog.String("end", string(e.End)))
		if e.End == Lost {
			out = append(out, slog.Duration("trust_left", e.TrustLeft))
		}
		return withError(out, e.Err)
	case RoundPassed:
		return []slog.Attr{slog.String("path", e.Path), slog.Uint64("wait", e.Wait), slog.Int64("round", e.Round), slog.Int("parties", e.Parties)}
	case BatchWritten:
		return withError([]slog.Attr{
			slog.String("path", e.Path), slog.Int("operations", e.Operations), slog.Int("conflicts", e.Conflicts),
			slog.Int("unknown", e.Unknown), slog.Duration("took", e.Took), slog.Bool("declined", e.Declined),
		}, e.Err)
	case TransactionEnded:
		return withError([]slog.Attr{slog.Int("attempts", e.Attempts), slog.Int("unknown", e.Unknown), slog.Duration("took", e.Took), slog.Bool("declined", e.Declined)}, e.Err)
	case CacheSynced:
		return []slog.Attr{slog.String("path", e.Path), slog.Uint64("cache", e.Cache), slog.Int("entries", e.Entries), slog.Duration("took", e.Took), slog.Bool("again", e.Again)}
	case CacheBegun:
		return []slog.Attr{slog.String("path", e.Path), slog.Uint64("cache", e.Cache)}
	case CacheEnded:
		return withError([]slog.Attr{slog.String("path", e.Path), slog.Uint64("cache", e.Cache)}, e.Err)
	case CacheStale:
		return withError([]slog.Attr{slog.String("path", e.Path), slog.Uint64("cache", e.Cache)}, e.Err)
	case MemberChanged:
		return []slog.Attr{slog.String("path", e.Path), slog.Int("worker", e.Worker), slog.String("change", e.Change)}
	case Rebalanced:
		return withError([]slog.Attr{
			slog.String("path", e.Path), slog.Int64("generation", e.Generation), slog.Int("members", e.Members),
			slog.Int("resources", e.Resources), slog.Int("moves", e.Moves), slog.Duration("took", e.Took),
		}, e.Err)
	case CoordinationEnded:
		return []slog.Attr{slog.String("path", e.Path)}
	case AssignmentTaken:
		return []slog.Attr{
			slog.String("path", e.Path), slog.Int64("generation", e.Generation), slog.Int("resources", e.Resources), slog.Duration("took", e.Took),
		}
	case OutcomeUnknown:
		return withError([]slog.Attr{slog.String("recipe", e.Recipe), slog.String("path", e.Path), slog.String("op", e.Op)}, e.Err)
	case TaskChanged:
		return []slog.Attr{
			slog.String("path", e.Path), slog.String("task", e.Task), slog.String("from", e.From), slog.String("to", e.To),
			slog.Int("attempt", e.Attempt), slog.Duration("took", e.Took),
		}
	}
	return sessionAttributes(e)
}

func sessionAttributes(e Event) []slog.Attr {
	switch e := e.(type) {
	case SessionChanged:
		return withError([]slog.Attr{
			sessionID(e.Session), slog.String("server", e.Server), slog.String("before", e.Before), slog.Duration("took", e.Took),
		}, e.Err)
	case NoConnection:
		return withError(append(endangered(e.Session, e.Holds, e.TrustLeft), slog.String("status", e.Status), slog.Duration("for", e.For)), e.Err)
	case TrustLow:
		return endangered(e.Session, e.Holds, e.TrustLeft)
	case SessionSampled:
		return append(endangered(e.Session, e.Holds, e.TrustLeft), slog.Int("watches", e.Watches), slog.Int("deletions", e.Deletions))
	case HeartbeatEnded:
		return withError(append(endangered(e.Session, e.Holds, e.TrustLeft), slog.Duration("took", e.Took)), e.Err)
	}
	return nil
}

func (w Wait) attributes() []slog.Attr {
	return []slog.Attr{slog.String("kind", string(w.Kind)), slog.String("path", w.Path), slog.Uint64("wait", w.ID), slog.Bool("try", w.Try)}
}

func (h Hold) attributes() []slog.Attr {
	return []slog.Attr{
		slog.String("kind", string(h.Kind)), slog.String("path", h.Path), slog.Uint64("hold", h.ID),
		slog.String("znode", h.Znode), slog.Int64("token", h.Token), sessionID(h.Session), slog.Bool("local", h.Local),
	}
}

func endangered(session int64, holds int, left time.Duration) []slog.Attr {
	return []slog.Attr{sessionID(session), slog.Int("holds", holds), slog.Duration("trust_left", left)}
}

// sessionID is a session's id as the servers log it.
func sessionID(id int64) slog.Attr { return slog.String("session", fmt.Sprintf("%#x", id)) }

func withError(attrs []slog.Attr, err error) []slog.Attr {
	if err == nil {
		return attrs
	}
	return append(attrs, slog.String("err", err.Error()))
}
