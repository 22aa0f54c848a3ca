package tree

import (
	"hash/fnv"
	"slices"
)

// kids are the names of a node's children, in an order that a list can be
// answered with as it is.
//
// ZooKeeper promises no order, and one by name or age would hide callers that rely on
// it: a new name goes to a place that its hash chooses, and the name from there goes to
// the end. The order depends on nothing but the history, so that replicas agree and
// runs can be repeated. One that depends on the names alone has to be sorted for every
// list, or shifted for every create: with 100,000 children a list took 0.1 s, with the
// lock that all requests wait for.
type kids struct {
	names []string
	at    map[string]int // name to its place in names
}

func (k *kids) add(name string) {
	if k.at == nil {
		k.at = map[string]int{}
	}
	if _, is := k.at[name]; is {
		return
	}
	end := len(k.names)
	i := int(hash(name) % uint64(end+1))
	k.names = append(k.names, name)
	k.put(end, k.names[i])
	k.put(i, name)
}

func (k *kids) remove(name string) {
	i, is := k.at[name]
	if !is {
		return
	}
	end := len(k.names) - 1
	k.put(i, k.names[end])
	k.names[end] = ""
	k.names = k.names[:end]
	delete(k.at, name)
}

func (k *kids) put(i int, name string) {
	k.names[i] = name
	k.at[name] = i
}

func (k *kids) clone() kids {
	c := kids{names: slices.Clone(k.names)}
	if len(c.names) > 0 {
		c.at = make(map[string]int, len(c.names))
	}
	for i, name := range c.names {
		c.at[name] = i
	}
	return c
}

func hash(s string) uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(s))
	return h.Sum64()
}
