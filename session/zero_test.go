package session_test

import (
	"testing"

	"github.com/zkrecipes/zkrecipes/internal/world"
	"github.com/zkrecipes/zkrecipes/session"
)

func TestMisuseOfNilAndZeroValuesPanicsWithAClearText(t *testing.T) {
	none := struct{}{} // no method of these fails
	world.Misuse{
		Invalid: session.ErrInvalidOption,
		Zero: map[string]any{
			"Client": new(session.Client), "Session": new(session.Session),
			"Hold":         new(session.Hold),
			"Watch":        new(session.Watch),
			"Subscription": new(session.Subscription),
			"Future":       new(session.Future[session.Node]),
			"Creation":     new(session.Creation),
			"Op":           new(session.Op), "EventType": new(session.EventType), "Status": new(session.Status),
			"OpError": none, "TxnError": none, "UnknownOutcomeError": none,
		},
	}.Check(t)
}
