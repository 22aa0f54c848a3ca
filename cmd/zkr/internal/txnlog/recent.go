package txnlog

import (
	"hash/maphash"
	"sort"
)

// recentSize is the number of transactions whose contents can still be compared.
const recentSize = 1 << 16

// record is what is remembered of a transaction.
type record struct {
	zxid   Zxid
	hash   uint64
	file   string
	offset int64
	has    uint64 // the folders that have the transaction, by index
}

func (r *record) position() Position { return Position{r.file, r.offset} }

// recent remembers the latest transactions, in order of their zxids.
type recent struct {
	seed maphash.Seed
	ring []record
	next int // the place of the next record, and of the oldest in a full ring
}

func newRecent() *recent { return &recent{seed: maphash.MakeSeed()} }

func (r *recent) hashOf(t *Txn) uint64 { return maphash.Bytes(r.seed, t.content) }

// add appends a transaction with a zxid above all others.
func (r *recent) add(t *Txn, has uint64) {
	rec := record{t.Zxid, r.hashOf(t), t.At.File, t.At.Offset, has}
	if len(r.ring) < recentSize {
		r.ring = append(r.ring, rec)
		return
	}
	r.ring[r.next] = rec
	r.next = (r.next + 1) % recentSize
}

// at returns the i-th record from the oldest on.
func (r *recent) at(i int) *record { return &r.ring[(r.next+i)%len(r.ring)] }

// search returns the index of the first record with a zxid of at least z.
func (r *recent) search(z Zxid) int {
	return sort.Search(len(r.ring), func(i int) bool { return r.at(i).zxid >= z })
}

// find returns the record of a zxid, or nil.
func (r *recent) find(z Zxid) *record {
	if i := r.search(z); i < len(r.ring) && r.at(i).zxid == z {
		return r.at(i)
	}
	return nil
}

// last returns the newest record, or nil.
func (r *recent) last() *record {
	if len(r.ring) == 0 {
		return nil
	}
	return r.at(len(r.ring) - 1)
}
