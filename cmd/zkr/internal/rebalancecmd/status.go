package rebalancecmd

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/cli"
	"github.com/zkrecipes/zkrecipes/rebalanser"
)

// Member is a member of a group in JSON.
type Member struct {
	Client       string    `json:"client"` // the name of its znode
	ID           string    `json:"id"`
	Instance     string    `json:"instance,omitempty"`
	State        string    `json:"state"` // coordinator, member, gone, excluded
	Zone         string    `json:"zone,omitempty"`
	Weight       int       `json:"weight"`
	Assignor     string    `json:"assignor,omitempty"`
	Subscription []string  `json:"subscription,omitempty"`
	Assigned     int       `json:"assigned"`
	Owned        int       `json:"owned"`
	Missing      int       `json:"missing,omitempty"` // resources that the member waits for before it starts new ones
	Since        time.Time `json:"since,omitzero"`    // by the servers' clock
	Error        string    `json:"error,omitempty"`   // why the member is excluded
}

// Move is a moving resource in JSON.
type Move struct {
	Resource string    `json:"resource"`
	For      string    `json:"for"`              // the client with the assignment
	Owner    string    `json:"owner,omitempty"`  // the present owner
	Since    time.Time `json:"since,omitzero"`   // by the servers' clock
	ForID    string    `json:"for_id,omitempty"` // id or instance of the client
	OwnerID  string    `json:"owner_id,omitempty"`
}

// groupFault is a resource that its owner retries after a failure, in JSON.
type groupFault struct {
	Resource string    `json:"resource"`
	Client   string    `json:"client"`
	Error    string    `json:"error"`
	Failures int       `json:"failures"` // in a row
	Since    time.Time `json:"since"`    // by the member's clock
	Next     time.Time `json:"next"`
}

// groupUnreadable is an unreadable record in JSON.
type groupUnreadable struct {
	Path     string `json:"path"`
	Resource string `json:"resource,omitempty"` // the resource whose owner is unknown for this reason
	Error    string `json:"error"`
}

// Columns of the tables.
const (
	MemberColumns   = "ID STATE INSTANCE ZONE WEIGHT ASSIGNED OWNED SINCE AGE CLIENT"
	MoveColumns     = "RESOURCE FOR OWNER SINCE AGE"
	ResourceColumns = "RESOURCE STATE OWNER SINCE AGE FOR"
)

// groupPause is the pause of a group.
type groupPause struct {
	By    string    `json:"by"`
	Since time.Time `json:"since"` // by the clock of the pausing client
}

// Status is a rebalanser.Status in JSON.
type Status struct {
	Group       string       `json:"group"`
	Mode        string       `json:"mode"`
	Coordinator string       `json:"coordinator"` // client; "" if there is none
	Epoch       int64        `json:"epoch,string"`
	Generation  int64        `json:"generation,string"`
	State       string       `json:"state,omitempty"` // global mode: stop, assigned, confirmed
	Paused      *groupPause  `json:"paused"`
	Members     []Member     `json:"members"`
	Resources   int          `json:"resources"`
	Unowned     []string     `json:"unowned"`
	Waiting     []Move       `json:"waiting"`
	Uncovered   []string     `json:"uncovered,omitempty"` // no member's subscription has them
	Failing     []groupFault `json:"failing,omitempty"`   // their owner retries them

	Unreadable []groupUnreadable `json:"unreadable,omitempty"`

	labels map[string]string // names of clients for people
	owners map[string]owned  // of each resource that exists or is owned
	dark   map[string]bool   // resources whose owner is not known
}

// owned is the owner of a resource.
type owned struct {
	client string // "": none
	since  time.Time
}

// statusOf makes sense of a group's status.
func statusOf(path string, st rebalanser.Status) Status {
	s := Status{
		Group: path, Mode: st.Mode.String(), Epoch: st.Epoch, Generation: st.Generation, State: st.State,
		Members: []Member{}, Resources: st.Resources, Unowned: append([]string{}, st.Unowned...), Waiting: []Move{},
		Uncovered: st.Uncovered,
		labels:    map[string]string{}, owners: map[string]owned{}, dark: map[string]bool{},
	}
	if st.Paused {
		s.Paused = &groupPause{By: st.PausedBy, Since: st.PausedSince}
	}
	for _, f := range st.Failing {
		s.Failing = append(s.Failing, groupFault{f.Resource, f.Client, f.Err, f.Failures, f.Since, f.Next})
	}
	for _, u := range st.Unreadable {
		s.Unreadable = append(s.Unreadable, groupUnreadable{u.Path, u.Resource, u.Err.Error()})
		s.dark[u.Resource] = true
	}
	for _, name := range st.Unowned {
		s.owners[name] = owned{}
	}
	for _, m := range st.Members {
		c := Member{
			Client: m.Client, ID: m.ID, Instance: m.Instance, State: "member", Zone: m.Zone, Weight: m.Weight, Assignor: m.Assignor,
			Subscription: m.Subscription, Assigned: m.Assigned, Owned: len(m.Owned), Missing: m.Missing, Since: m.Since,
		}
		switch {
		case m.Gone && m.Instance == "" && len(m.Owned) == 0:
			continue // the member never comes back, and has nothing
		case m.Gone:
			c.State = "gone"
		case m.Err != nil:
			c.State, c.Error = "excluded", m.Err.Error()
		case m.Client == st.Coordinator:
			c.State, s.Coordinator = "coordinator", m.Client
		}
		s.Members = append(s.Members, c)
		s.labels[m.Client] = cli.OrElse(cli.OrElse(m.Instance, m.ID), m.Client)
		if m.Gone {
			continue // resources that a gone member has not given back have no owner
		}
		for name, since := range m.Owned {
			s.owners[name] = owned{m.Client, since}
		}
	}
	for _, w := range st.Waiting {
		if s.labels[w.For] == "" {
			continue // for a member that has gone for good: there is no new plan yet
		}
		s.Waiting = append(s.Waiting, Move{
			Resource: w.Resource, For: w.For, Owner: w.On, Since: w.Since, ForID: s.labels[w.For], OwnerID: s.labels[w.On],
		})
	}
	return s
}

// label is a client's name for people.
func (s *Status) label(client string) string {
	return cli.Readable([]byte(cli.OrElse(s.labels[client], client)))
}

// Resource is a resource in JSON.
type Resource struct {
	Name    string    `json:"resource"`
	State   string    `json:"state"` // owned, unowned, unknown, moving (to For), removed (and not given up yet)
	Owner   string    `json:"owner,omitempty"`
	OwnerID string    `json:"owner_id,omitempty"`
	Since   time.Time `json:"since,omitzero"` // owned, by the servers' clock
	For     string    `json:"for,omitempty"`
	ForID   string    `json:"for_id,omitempty"`
}

// resources are all resources that exist or are still owned, in order. names
// are the existing resources.
func (s *Status) resources(names []string) []Resource {
	all := map[string]*Resource{}
	for _, name := range names {
		all[name] = &Resource{Name: name, State: "unowned"}
		if s.dark[name] {
			all[name].State = "unknown"
		}
	}
	for name, o := range s.owners {
		r := all[name]
		switch {
		case r == nil && o.client == "":
			continue // removed since
		case r == nil:
			r = &Resource{Name: name, State: "removed"}
			all[name] = r
		case o.client != "":
			r.State = "owned"
		}
		r.Owner, r.OwnerID, r.Since = o.client, s.labels[o.client], o.since
	}
	for _, w := range s.Waiting {
		if r := all[w.Resource]; r != nil && r.State != "removed" {
			r.For, r.ForID = w.For, w.ForID
			if r.State != "unknown" {
				r.State = "moving"
			}
		}
	}
	list := make([]Resource, 0, len(all))
	for _, name := range slices.Sorted(maps.Keys(all)) {
		list = append(list, *all[name])
	}
	return list
}

// read reads the group's status.
func (c *rebalance) read(ctx context.Context, admin *rebalanser.Admin) (Status, error) {
	st, err := admin.Status(ctx)
	if err != nil {
		return Status{}, err
	}
	return statusOf(c.path, st), nil
}
