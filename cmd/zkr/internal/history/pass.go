package history

import (
	"encoding/binary"
	"slices"
	"time"

	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/ui/recognize"
	"github.com/zkrecipes/zkrecipes/session"
)

// pass appends values to bytes, or takes them off again in the same order: one description of a
// type serves both directions.
type pass struct {
	bytes []byte
	off   bool // takes off
}

func passInt[T ~int | ~int32 | ~int64](p *pass, v *T) {
	if !p.off {
		p.bytes = binary.AppendVarint(p.bytes, int64(*v))
		return
	}
	n, size := binary.Varint(p.bytes)
	*v, p.bytes = T(n), p.bytes[size:]
}

func passBool(p *pass, v *bool) {
	var n int
	if *v {
		n = 1
	}
	passInt(p, &n)
	*v = n == 1
}

// passBytes calls take with the bytes to be copied, or appends v.
func passBytes[T ~string | ~[]byte](p *pass, v T, take func([]byte)) {
	n := len(v)
	passInt(p, &n)
	if !p.off {
		p.bytes = append(p.bytes, v...)
		return
	}
	take(p.bytes[:n])
	p.bytes = p.bytes[n:]
}

func passText[T ~string](p *pass, v *T) {
	passBytes(p, *v, func(b []byte) { *v = T(b) })
}

// passTime passes a moment exactly. Files have local times, and recordings times of UTC.
func passTime(p *pass, v *time.Time) {
	seconds, nanos, utc := v.Unix(), v.Nanosecond(), v.Location() == time.UTC
	passInt(p, &seconds)
	passInt(p, &nanos)
	passBool(p, &utc)
	if !p.off {
		return
	}
	if *v = time.Unix(seconds, int64(nanos)); utc {
		*v = v.UTC()
	}
}

func passMoment(p *pass, v *Moment) {
	passTime(p, &v.Time)
	passInt(p, &v.Zxid)
}

// passOptional passes what a pointer points to, or nil.
func passOptional[T any](p *pass, v **T, value func(*pass, *T)) {
	is := *v != nil
	if passBool(p, &is); !is {
		return
	}
	if p.off {
		*v = new(T)
	}
	value(p, *v)
}

func passPlace(p *pass, v *place) {
	passText(p, &v.thing)
	passText(p, &v.znode)
	passText(p, &v.resource)
}

// passNode passes a znode without its path.
func passNode(p *pass, n *recognize.Node) {
	passBytes(p, n.Data, func(b []byte) {
		if len(b) > 0 {
			n.Data = slices.Clone(b)
		}
	})
	passInt(p, &n.Size)
	passBool(p, &n.Denied)
	passStat(p, &n.Stat)
}

func passStat(p *pass, s *session.Stat) {
	for _, v := range []*int64{&s.Czxid, &s.Mzxid, &s.Pzxid, &s.Ctime, &s.Mtime, &s.EphemeralOwner} {
		passInt(p, v)
	}
	for _, v := range []*int32{&s.Version, &s.Cversion, &s.Aversion, &s.DataLength, &s.NumChildren} {
		passInt(p, v)
	}
}

// passStay passes a stay without its place.
func passStay(p *pass, s *Stay) {
	for _, v := range []*string{&s.Name, &s.As, &s.BrokenBy, &s.Reason} {
		passText(p, v)
	}
	passText(p, &s.Kind)
	passText(p, &s.How)
	for _, v := range []*recognize.SessionID{&s.Session, &s.By} {
		passInt(p, v)
	}
	for _, v := range []*int64{&s.Token, &s.czxid, &s.ctime} {
		passInt(p, v)
	}
	passInt(p, &s.Permits)
	passBool(p, &s.Before)
	passMoment(p, &s.Entered)
	for _, v := range []**Moment{&s.Granted, &s.Ended} {
		passOptional(p, v, passMoment)
	}
	for _, v := range []**time.Time{&s.GrantedAfter, &s.EndedAfter} {
		passOptional(p, v, passTime)
	}
}

// passLayer passes a layer. The value of a key is passed without what the key tells.
func passLayer[K comparable, V any](p *pass, l *layer[K, V], key func(*pass, *K), value func(*pass, *V), name func(*V, K)) {
	n := len(*l)
	passInt(p, &n)
	entry := func(k *K, c *change[V]) {
		key(p, k)
		passBool(p, &c.fresh)
		passOptional(p, &c.value, value)
	}
	if !p.off {
		for k, c := range *l {
			entry(&k, &c)
		}
		return
	}
	*l = make(layer[K, V], n)
	for range n {
		var k K
		var c change[V]
		if entry(&k, &c); c.value != nil {
			name(c.value, k)
		}
		(*l)[k] = c
	}
}
