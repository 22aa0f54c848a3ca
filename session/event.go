package session

import "github.com/go-zookeeper/zk"

// EventType is the kind of an event of a watch.
type EventType int32

// The events of a watch. The first four come from the server; they say that a change
// happened, not which change. EventDisconnected ends a one-shot [Watch]: the connection
// of the watch is gone, and changes may have been missed. A [Subscription] gets
// EventReattached instead, once it is set again on the new connection. After either
// event: read again. EventSessionOver is the last event of a lost or closed session.
const (
	EventCreated         EventType = EventType(zk.EventNodeCreated)
	EventDeleted         EventType = EventType(zk.EventNodeDeleted)
	EventDataChanged     EventType = EventType(zk.EventNodeDataChanged)
	EventChildrenChanged EventType = EventType(zk.EventNodeChildrenChanged)
	EventDisconnected    EventType = 100
	EventReattached      EventType = 101
	EventSessionOver     EventType = 102
)

func (t EventType) String() string {
	switch t {
	case EventCreated:
		return "created"
	case EventDeleted:
		return "deleted"
	case EventDataChanged:
		return "data changed"
	case EventChildrenChanged:
		return "children changed"
	case EventDisconnected:
		return "disconnected"
	case EventReattached:
		return "reattached"
	case EventSessionOver:
		return "session over"
	}
	return "unknown"
}

// Event is an event of a watch. Path is the client's path; empty for the last
// three types.
type Event struct {
	Type EventType
	Path string
}
