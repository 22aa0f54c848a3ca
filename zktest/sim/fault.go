package sim

import (
	"fmt"
	"strings"
	"time"

	"github.com/zkrecipes/zkrecipes/zktest"
)

// Kind is a kind of fault.
type Kind string

// The kinds of faults. Faults of the network and of sessions strike the process in
// Fault.Process, or the client of that name; faults of servers strike Fault.Server.
const (
	// Cut breaks the connections of a process; both ends notice at once.
	Cut Kind = "cut"
	// Hole holds back everything between a process and the servers, in one or both
	// directions, silently. As TCP retransmits, everything held back is delivered at the
	// end of the fault, unless the connection was closed.
	Hole Kind = "hole"
	// Delay delays everything between a process and the servers, in one or both
	// directions, by Fault.By.
	Delay Kind = "delay"
	// LoseRequest loses a request, and breaks the connection: request number Fault.Nth of
	// the process since the fault began. Handshakes, pings and heartbeats do not count.
	LoseRequest Kind = "lose-request"
	// LoseReply has the request processed, and breaks the connection before the reply.
	LoseReply Kind = "lose-reply"
	// CutAfter has the request processed and answered, and breaks the connection then.
	CutAfter Kind = "cut-after"
	// SwallowRequest loses a request, and everything after it on the connection, silently.
	SwallowRequest Kind = "swallow-request"
	// SwallowReply has the request processed, and loses its reply, and everything after it
	// on the connection, silently.
	SwallowReply Kind = "swallow-reply"
	// Expire ends the session of a process at the servers, early: the process cannot know
	// until a server tells it.
	Expire Kind = "expire"
	// Kill ends a process without a goodbye: its connections break, its context ends, and
	// what it does afterwards does not count. It is started again at the end of the fault.
	Kill Kind = "kill"
	// Freeze stops a process, as SIGSTOP or a long garbage collection do: nothing gets to
	// it or from it, and every method of Process stands still. With Fault.Nth, the process
	// freezes at its effect of that number since the fault began, behind all checks of the
	// program and ahead of the effect. See the package comment.
	Freeze Kind = "freeze"
	// FreezeServer stops a server, as SIGSTOP does: its connections stay.
	FreezeServer Kind = "freeze-server"
	// StopServer kills a server, which is started again at the end of the fault.
	StopServer Kind = "stop-server"
	// Isolate cuts a server off from all other servers, not from the processes.
	Isolate Kind = "isolate"
	// IsolateLeader does so with the server that is the leader when the fault begins.
	IsolateLeader Kind = "isolate-leader"
	// CutServers cuts the link between Fault.Server and Fault.Other, in one direction or
	// both: zktest.ToServer is from Server to Other.
	CutServers Kind = "cut-servers"
	// Lag stops the replication to a server: its clients read stale data, and their writes
	// wait.
	Lag Kind = "lag"
	// Empty replaces all servers by new ones without any data, as when an ensemble is
	// recreated. Tokens begin again, so that no invariant about tokens holds across Empty.
	Empty Kind = "empty"
)

// DefaultKinds are all kinds but Empty. Freeze, the hardest one for most programs, stands in
// the list twice, and so is drawn twice as often.
func DefaultKinds() []Kind {
	return []Kind{
		Cut, Hole, Delay, LoseRequest, LoseReply, CutAfter, SwallowRequest, SwallowReply, Expire, Kill,
		Freeze, Freeze, FreezeServer, StopServer, Isolate, IsolateLeader, CutServers, Lag,
	}
}

// ofServer reports whether the kind strikes a server that Fault.Server names.
func (k Kind) ofServer() bool {
	switch k {
	case FreezeServer, StopServer, Isolate, CutServers, Lag:
		return true
	}
	return false
}

// ofEnsemble reports whether the kind needs several servers.
func (k Kind) ofEnsemble() bool {
	return k == Isolate || k == IsolateLeader || k == CutServers || k == Lag
}

// ofProcess reports whether the kind strikes what Fault.Process names.
func (k Kind) ofProcess() bool { return !k.ofServer() && k != IsolateLeader && k != Empty }

// directed reports whether the kind has a direction.
func (k Kind) directed() bool { return k == Hole || k == Delay || k == CutServers }

// instant reports whether the kind has no duration.
func (k Kind) instant() bool { return k == Cut || k == Expire || k == Empty }

// onRequest is what happens to the request that a fault strikes, if the kind strikes one.
func (k Kind) onRequest() (zktest.Fault, bool) {
	switch k {
	case LoseRequest:
		return zktest.CutBefore, true
	case LoseReply:
		return zktest.DropReplyCut, true
	case CutAfter:
		return zktest.CutAfter, true
	case SwallowRequest:
		return zktest.DropRequest, true
	case SwallowReply:
		return zktest.DropReplyHole, true
	}
	return zktest.Pass, false
}

// Fault is a fault at its time. Fields that the kind does not use are zero.
type Fault struct {
	// At is when the fault begins, since the beginning of the schedule.
	At time.Duration
	// For is how long the fault lasts. A fault of a single request is called off after
	// that if there was no such request. Cut, Expire and Empty do not last.
	For time.Duration
	// Kind says what happens.
	Kind Kind
	// Process is the process, or the client by the name in zktest.Server.Client.
	Process string
	// Server and Other are numbers of servers, from 1.
	Server, Other int
	// Direction is that of Hole, Delay and CutServers.
	Direction zktest.Direction
	// By is the delay of Delay.
	By time.Duration
	// Nth is the number of the request to strike, or for Freeze of the effect (Process.Do),
	// from 1. 0 is a Freeze at once.
	Nth int
}

// String is the fault in one line, as Parse reads it, for example
// "12.5s +3s delay process=web-1 direction=to-server by=800ms".
func (f Fault) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%v", f.At)
	if f.For > 0 {
		fmt.Fprintf(&b, " +%v", f.For)
	}
	fmt.Fprintf(&b, " %s", f.Kind)
	if f.Process != "" {
		fmt.Fprintf(&b, " process=%s", f.Process)
	}
	for _, n := range []struct {
		name  string
		value int
	}{{"server", f.Server}, {"other", f.Other}, {"nth", f.Nth}} {
		if n.value != 0 {
			fmt.Fprintf(&b, " %s=%d", n.name, n.value)
		}
	}
	if i := int(f.Direction); i > 0 && i < len(directions()) {
		fmt.Fprintf(&b, " direction=%s", directions()[i])
	}
	if f.By > 0 {
		fmt.Fprintf(&b, " by=%v", f.By)
	}
	return b.String()
}

func directions() []string { return []string{"both", "to-server", "to-client"} }

// end is when the fault is over.
func (f Fault) end() time.Duration {
	if f.Kind.instant() {
		return f.At
	}
	return f.At + f.For
}

// check reports what is invalid about the fault.
func (f Fault) check() error {
	what := ""
	switch {
	case f.At < 0 || f.For < 0 || f.By < 0 || f.Server < 0 || f.Other < 0 || f.Nth < 0:
		what = "a number is negative"
	case f.Direction < zktest.Both || f.Direction > zktest.ToClient:
		what = "the direction is not one of zktest's"
	case f.Kind != Empty && !kindExists(f.Kind):
		what = fmt.Sprintf("the kind %q does not exist", f.Kind)
	case f.Kind.ofProcess() && f.Process == "":
		what = "it needs process="
	case f.Kind.ofServer() && f.Server == 0:
		what = "it needs server="
	case f.Kind == CutServers && (f.Other == 0 || f.Other == f.Server):
		what = "it needs other=, another server"
	case f.Kind == Delay && f.By == 0:
		what = "it needs by="
	}
	if _, strikes := f.Kind.onRequest(); strikes && f.Nth == 0 {
		what = "it needs nth="
	}
	if what == "" {
		return nil
	}
	return fmt.Errorf("sim: fault %q: %s: %w", f.String(), what, ErrFault)
}
