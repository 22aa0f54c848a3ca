package core

// The model is a small group on a model of ZooKeeper. Its machines are the real machines;
// a runner around each machine sends one request at a time, as docs/rebalanser.md says.
// All interleavings are tried.
//
// ZooKeeper does one write at a time. Each client reads from a view of its own,
// which may lag behind by some writes ([bounds]), never goes back, and includes
// the client's own writes. A watch is a hint at any time: a client may read a
// znode again at any time, if the result would differ. A late reply is a late
// step.
//
// A lost client has crashed, or its trust in the session has run out: it owns nothing by
// its own belief, and its node lives on until the server expires it at any later time. An
// isolated client that still believes that it owns resources takes no step. A request that
// was sent before the loss and is carried out after it leads to the same state as if it
// had been carried out before the loss: no other client can tell the difference.

const (
	modelClients   = 4 // client nodes, of all times together
	modelResources = 3
	modelWindow    = 3 // states of the database still readable by a client
)

// The life of a client.
const (
	unborn uint8 = iota
	live
	paused // inactive with its former beliefs; its session may expire
	lost   // without any beliefs; its session has not expired
	zombie // its node was deleted by hand, unknown to the client
	gone
)

// mask is a set of clients, or of resources, by number.
type mask = uint8

// mshard is a Shard; client counts from 1.
type mshard struct {
	client, gen uint8
	rs          mask
}

type mstatus struct{ gen, state uint8 }

// mbarrier is a barrier's node.
type mbarrier struct {
	there          bool
	owner, version uint8 // owner from 1
}

// database is the content of ZooKeeper.
type database struct {
	alive, born mask // client nodes
	resources   mask
	epoch       uint8
	shards      [modelClients]mshard // by key
	barriers    [modelResources]mbarrier
	swept       uint8 // how often any was
	status      mstatus
	stopped     [modelClients]uint8 // generation, or 0
}

// The steps by which a client acquires a resource.
const (
	acqNone    uint8 = iota
	acqRead          // reads the barrier
	acqOwned         // reads the owner's client node, or waits for its end
	acqSend          // sends the transaction
	acqUnknown       // reads the outcome
)

type acquisition struct {
	pc, owner, version uint8
	swept              uint8 // at the time of the read
	seen               mask  // for a wrong rule: the live clients
	there, drop        bool
}

// client is the life of a client node, with its runner.
type client struct {
	life   uint8
	f, c   uint16 // the machines, by number; 0: none
	behind uint8  // how many writes its view may be behind

	use, calling mask  // resources in use; those of the handler's call
	call         uint8 // 1: Start, 2: Revoke
	early        bool  // has started a resource before owning all, with a live node

	told    mshard // resource mode
	acq     [modelResources]acquisition
	version [modelResources]uint8 // of its barriers
	release mask

	reading     bool // global mode: the status was read, the shard not yet
	read, heard mstatus
	first       mshard // for a wrong rule: the shard read before the status
	word        uint8  // 1: Ack, 2: Unack is to be sent
	wordGen     uint8

	leaving bool

	leads              bool
	epoch              uint8
	members, resources mask // as told last
	knows              bool // resources were told
	write              uint16
	written            uint8 // applied operations of the write
	setting            bool
	status             mstatus
	candidates         mask // for a wrong rule: the clients at its election
}

// faults are how many disruptions there may still be.
type faults struct {
	losses, stops, pauses, replies, kicks, changes, epochs uint8
}

// state is comparable, and therefore its own key.
type state struct {
	now     [modelWindow]database // the last ones, the newest first
	clients [modelClients]client
	left    faults
}

// set carries out a write of client i.
func (s *state) set(m *model, i int, change func(d *database)) {
	before := s.now[0]
	change(&s.now[0])
	if after := s.now[0]; after != before {
		for k := m.lag; k > 0; k-- {
			s.now[k] = s.now[k-1]
		}
		s.now[0] = after
		if m.lag > 0 {
			s.now[1] = before
		}
		for j := range s.clients {
			s.clients[j].behind = min(s.clients[j].behind+1, uint8(m.lag))
		}
	}
	if i >= 0 {
		s.clients[i].behind = 0
	}
}

// settle forgets everything that no client can see any more.
func (s *state) settle() {
	oldest := uint8(0)
	for i := range s.clients {
		if c := &s.clients[i]; c.life == unborn || c.life == lost || c.life == gone {
			*c = client{life: c.life}
		} else {
			oldest = max(oldest, c.behind)
		}
	}
	for k := int(oldest) + 1; k < modelWindow; k++ {
		s.now[k] = database{}
	}
}

// removeClientNode removes a client's node.
func (s *state) removeClientNode(m *model, i int) {
	s.set(m, -1, func(d *database) {
		d.alive &^= 1 << i
		d.stopped[i] = 0
	})
}

// resourceNames are the names of rs; clientName is the name of client i.
func resourceNames(rs mask) []string {
	var out []string
	for r := range modelResources {
		if rs&(1<<r) != 0 {
			out = append(out, "xyz"[r:r+1])
		}
	}
	return out
}

func resourceMask(rs []string) (out mask) {
	for _, r := range rs {
		out |= 1 << (r[0] - 'x')
	}
	return out
}

func clientName(i int) string { return "abcd"[i : i+1] }
