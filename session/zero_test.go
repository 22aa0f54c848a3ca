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
			"Client": new(session.Client), "nil Client": (*session.Client)(nil),
			"Session": new(session.Session), "nil Session": (*session.Session)(nil),
			"Hold": new(session.Hold), "nil Hold": (*session.Hold)(nil),
			"Watch": new(session.Watch), "nil Watch": (*session.Watch)(nil),
			"Subscription": new(session.Subscription), "nil Subscription": (*session.Subscription)(nil),
			"Future": new(session.Future[session.Node]), "nil Future": (*session.Future[session.Node])(nil),
			"Creation": new(session.Creation), "nil Creation": (*session.Creation)(nil),
			"Op": new(session.Op), "EventType": new(session.EventType), "Status": new(session.Status),
			"OpError": none, "TxnError": none, "UnknownOutcomeError": none,
		},
	}.Check(t)
}
