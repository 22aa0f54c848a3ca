package cluster

import "github.com/zkrecipes/zkrecipes/internal/subprocess"

// tag is a word in a colored field.
type tag struct{ Class, Text, Title string }

// Kind is the node's state as far as known: good only by the node's own present
// answer.
func (r Row) Kind() tag {
	switch {
	case r.Process != nil && r.Process.State == exited:
		return tag{"bad", "dead", r.Process.Exit}
	case r.Role == Leader && r.Source == byRegistry:
		return tag{"warn", "leader?", "The node is registered as coordinator, and does not answer as the leader"}
	case r.Role == Leader:
		return tag{"good", "leader", ""}
	case r.Role == Worker:
		return tag{"", "worker", ""}
	}
	return tag{"warn", "joining", ""}
}

// Stale reports whether the row is not the node's own present answer.
func (r Row) Stale() bool { return r.Error != "" || r.Source == byRegistry }

// Text is the order in a list of causes.
func (o Order) Text() string {
	if o == "" {
		return "by itself"
	}
	return string(o)
}

// button is an order for a reader of the page to give.
type button struct {
	Node        string
	What        Order
	Text, Title string
	Token       string
}

// rowWith is a row with the reader's token.
type rowWith struct {
	Row
	token string
}

// With is the row for a reader with the permission to give orders.
func (r Row) With(token string) rowWith { return rowWith{r, token} }

// Orders are the orders valid in the node's present state. A former life of a
// process takes no orders: they would reach the present life.
func (r rowWith) Orders() []button {
	if r.twin {
		return nil
	}
	var out []button
	add := func(what Order, text, title string) {
		out = append(out, button{r.Name, what, text, title, r.token})
	}
	p := r.Process
	alive := p == nil && r.Source != byProcess && r.Error == "" || p != nil && p.State == running
	if alive && r.Role == Leader {
		add(Resign, "Resign", "The leader steps down and joins again, last in the order")
	}
	if p != nil {
		switch {
		case p.State == running && subprocess.CanFreeze:
			add(Freeze, "Freeze", "SIGSTOP: the process does not run until it is resumed")
		case p.State == frozen:
			add(Resume, "Resume", "SIGCONT: the process runs again, and finds out what it has missed")
		case p.State == exited:
			add(Start, "Start", "The node joins again, last in the order")
		}
		if p.Cut {
			add(Heal, "Reconnect", "Packets between the node and ZooKeeper get through again")
		} else if p.State == running {
			add(Cut, "Cut off", "All packets between the node and ZooKeeper are dropped silently")
		}
	}
	if alive || p != nil && p.State == frozen {
		add(Kill, "Kill", "The process exits at once, without closing its session")
	}
	return out
}
