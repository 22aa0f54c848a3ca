//go:build unix

package interop_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"sync"
	"time"

	"github.com/zkrecipes/zkrecipes/barrier"
	"github.com/zkrecipes/zkrecipes/discovery"
	"github.com/zkrecipes/zkrecipes/lock"
	"github.com/zkrecipes/zkrecipes/session"
)

// request is an [ask] to our peer; only the fields that the command needs are set.
type request struct {
	ID      int
	Do      string
	Client  string
	Recipe  string
	Layout  string
	Path    string
	As      string
	Who     string
	Witness string
	Rounds  int
	Permits int
	Writes  int
	Pause   int // milliseconds
	Base    string
	Name    string
	Address string
	Value   string
}

// player is this module as a peer.
type player struct {
	ctx     context.Context
	servers string
	timeout time.Duration
	all     sync.WaitGroup // commands and workers

	mu sync.Mutex
	// The keys of the maps are the names that requests give.
	clients map[string]*session.Client
	holds   map[string]turn
	workers map[string]*worker
	mutexes map[string]*lock.Mutex
	members map[string]*discovery.Membership
	listed  map[string]*discovery.Registration
}

// playOurs carries out the commands of in, one a line, each in a goroutine of its
// own. It ends with its input; args are servers and session timeout in milliseconds.
func playOurs(in io.Reader, out io.Writer, args []string) error {
	ms, err := strconv.Atoi(args[1])
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(context.Background())
	p := &player{
		ctx: ctx, servers: args[0], timeout: time.Duration(ms) * time.Millisecond,
		clients: map[string]*session.Client{}, holds: map[string]turn{}, workers: map[string]*worker{}, mutexes: map[string]*lock.Mutex{}, members: map[string]*discovery.Membership{}, listed: map[string]*discovery.Registration{},
	}
	var writing sync.Mutex
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var r request
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
			cancel()
			return err
		}
		// Waited for below; ends with the command, at the latest with ctx.
		p.all.Go(func() {
			answer := map[string]any{"id": r.ID}
			if got, err := p.run(r); err != nil {
				answer["error"] = err.Error()
			} else {
				answer["ok"] = got
			}
			text, err := json.Marshal(answer)
			if err != nil {
				panic(err) // the answer cannot be encoded as JSON
			}
			writing.Lock()
			defer writing.Unlock()
			_, _ = out.Write(append(text, '\n'))
		})
	}
	cancel()
	p.all.Wait()
	return lines.Err()
}

func (p *player) run(r request) (any, error) {
	switch r.Do {
	case "hello":
		_, err := p.client(r.Client)
		return "zkrecipes", err
	case "bye":
		return nil, p.closeSessions()
	case "hold":
		return p.hold(r)
	case "release":
		return nil, p.held(r.As).leave(p.ctx)
	case "lost":
		return p.describeLoss(r)
	case "gate.set", "gate.remove", "gate.wait":
		return nil, p.gate(r)
	case "group.join", "group.leave":
		return nil, p.member(r)
	case "registry.register":
		return nil, p.register(r)
	case "registry.state":
		p.mu.Lock()
		defer p.mu.Unlock()
		state := p.listed[r.As].State()
		return standing{state.Registered, state.Token, errors.Is(state.Err, discovery.ErrConflict)}, nil
	case "hammer":
		return p.hammer(r)
	case "stop":
		return p.stop()
	}
	return nil, fmt.Errorf("no such command: %s", r.Do)
}

// client is the session's that a request names, made when it is first named.
func (p *player) client(name string) (*session.Client, error) {
	p.mu.Lock()
	c := p.clients[name]
	p.mu.Unlock()
	if c != nil {
		return c, nil
	}
	ctx, cancel := context.WithTimeout(p.ctx, time.Minute)
	defer cancel()
	c, err := session.Connect(ctx, p.servers, &session.Options{Timeout: p.timeout})
	if err != nil {
		return nil, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if there := p.clients[name]; there != nil {
		// Two commands were first at the same time.
		// Waited for by playOurs; ends with the session.
		p.all.Go(func() { _ = c.Close(p.ctx) })
		return there, nil
	}
	p.clients[name] = c
	return c, nil
}

func (p *player) closeSessions() error {
	p.mu.Lock()
	clients := p.clients
	p.clients = map[string]*session.Client{}
	p.mu.Unlock()
	for _, c := range clients {
		if err := c.Close(p.ctx); err != nil {
			return err
		}
	}
	return nil
}

func (p *player) hold(r request) (any, error) {
	turn, err := p.newTurn(r.Recipe, r)
	if err != nil {
		return nil, err
	}
	token, err := turn.enter(p.ctx)
	if err != nil {
		return nil, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.holds[r.As] = turn
	return token, nil
}

func (p *player) held(as string) turn {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.holds[as]
}

// describeLoss returns the error of a hold's context, and the result of a write to
// Path behind the guard of the hold.
func (p *player) describeLoss(r request) (any, error) {
	h := p.held(r.As).hold()
	out := map[string]string{"context": "holds", "write": "applied"}
	if h.Context().Err() != nil {
		out["context"] = context.Cause(h.Context()).Error()
	}
	c, err := p.client(r.Client)
	if err != nil {
		return nil, err
	}
	s, err := c.Session(p.ctx)
	if err != nil {
		return nil, err
	}
	if _, err := s.Txn(p.ctx, h.Guard(), session.SetOp(r.Path, []byte(r.Value), -1)); err != nil {
		out["write"] = err.Error()
	}
	return out, nil
}

func (p *player) gate(r request) error {
	c, err := p.client(r.Client)
	if err != nil {
		return err
	}
	gate := barrier.NewGate(c, r.Path, nil)
	switch r.Do {
	case "gate.set":
		return gate.Set(p.ctx)
	case "gate.remove":
		return gate.Remove(p.ctx)
	}
	return gate.Wait(p.ctx)
}

// layouts are those of groups, by the words of requests.
func layouts() map[string]discovery.Layout {
	return map[string]discovery.Layout{"curator": discovery.Curator, "kazoo": discovery.Kazoo, "shallow": discovery.KazooShallow}
}

// member joins a group as As, or leaves it.
func (p *player) member(r request) error {
	if r.Do == "group.leave" {
		p.mu.Lock()
		m := p.members[r.As]
		p.mu.Unlock()
		return m.Leave(p.ctx)
	}
	c, err := p.client(r.Client)
	if err != nil {
		return err
	}
	var data []byte // Kazoo's members have none
	if r.Value != "" {
		data = []byte(r.Value)
	}
	m, err := discovery.NewGroup(c, r.Path, &discovery.Options{Layout: layouts()[r.Layout]}).Join(p.ctx, r.As, data)
	if err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.members[r.As] = m
	return nil
}

// register registers an instance As of service Name, which stays until the
// process ends.
func (p *player) register(r request) error {
	c, err := p.client(r.Client)
	if err != nil {
		return err
	}
	reg, err := discovery.NewRegistry(c, r.Base, nil).Register(p.ctx, discovery.Instance{Service: r.Name, ID: r.As, Address: r.Address})
	if err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.listed[r.As] = reg
	return nil
}

// standing is the state of a registration.
type standing struct {
	Registered bool
	Token      int64
	Conflict   bool
}
