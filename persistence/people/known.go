package people

import (
	"bytes"
	"context"
	"encoding/binary"
	"math/bits"
	"slices"
	"sync"

	"weir/people"
	"weir/persistence/commit"
)

// known are the hashes that a table may have, so that a claim reads nothing of people of whom
// there is nothing. It may say yes of a hash that the table lacks, and never no of one that it
// has:
//
//   - Until the whole table has been read, it says yes of every hash.
//   - It is begun before anything is read, and the owner of the database, who alone writes the
//     table, adds each hash before it writes the row. So a row is either read or added.
//   - Nothing is taken out of it. What it has too much goes when it is read anew.
type known struct {
	table string

	mu    sync.Mutex
	whole *filter // nil: the table has not been read
	next  *filter // into which it is being read; nil: none
	after []byte  // up to which hash it has been read
	least int     // how many hashes whole had when it was read
}

// begin forgets everything: the table is to be read.
func (k *known) begin() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.whole, k.least = nil, 0
	k.next, k.after = &filter{}, []byte{}
}

// add notes that a row of a hash is about to be written.
func (k *known) add(h people.Hash) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, f := range []*filter{k.whole, k.next} {
		if f != nil {
			f.add(h)
		}
	}
}

// may reports whether the table may have a hash.
func (k *known) may(h people.Hash) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.whole == nil || k.whole.may(h)
}

// of returns those of the hashes that the table may have, in the memory of the list.
func (k *known) of(hashes []people.Hash) []people.Hash {
	return slices.DeleteFunc(hashes, func(h people.Hash) bool { return !k.may(h) })
}

// anew is how many hashes may be added to what was read before the table is read again, for many
// of its rows may have been deleted since.
const anew = 1 << 20

// hashesSQL reads a page of a table's hashes.
func hashesSQL(table string) string {
	return "SELECT hash FROM " + table + " WHERE hash > ? ORDER BY hash LIMIT ?"
}

// read reads a page of so many hashes, if the table is not known, or has to be read again. It
// returns whether more is to be read.
func (k *known) read(ctx context.Context, db *commit.DB, limit int) (more bool, err error) {
	into, after := k.reading()
	if into == nil {
		return false, nil
	}
	var rows [][]byte
	if err := db.Read.SelectContext(ctx, &rows, hashesSQL(k.table), after, limit); err != nil {
		return false, db.Failure("read whom the rules know", err)
	}
	n := len(rows)
	for part := range slices.Chunk(slices.CompactFunc(rows, bytes.Equal), heldFor) {
		if !k.addTo(into, part) {
			return true, nil // it was begun again meanwhile
		}
	}
	return k.turn(into, n == limit), nil
}

// heldFor is for how many hashes the writer may have to wait.
const heldFor = 500

// reading returns into what the table is read, and behind which hash; nil: it is known.
func (k *known) reading() (into *filter, after []byte) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if w := k.whole; k.next == nil && w != nil && !w.full && w.n >= 2*k.least+anew {
		k.next, k.after = &filter{}, []byte{}
	}
	return k.next, k.after
}

// addTo adds hashes that were read, and returns false if nothing is read into this filter any more.
func (k *known) addTo(into *filter, rows [][]byte) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.next != into {
		return false
	}
	for _, r := range rows {
		into.add(people.Hash(r))
	}
	k.after = rows[len(rows)-1]
	return true
}

// turn ends the reading, unless there is more to read.
func (k *known) turn(into *filter, more bool) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.next != into || more && !into.full {
		return true
	}
	k.whole, k.least, k.next, k.after = into, into.n, nil, nil
	return false
}

// filter is a Bloom filter that grows: each layer takes as many hashes as all before it. One hash
// in 1,750 that a full layer lacks is taken for one that it has.
type filter struct {
	layers []layer
	n      int
	full   bool // it says yes of every hash
}

// layer is a Bloom filter for a number of hashes that is a power of two.
type layer struct {
	bits []uint64
	left int // how many more it takes
}

const (
	bitsPerHash = 16
	probes      = 8
	firstLayer  = 1 << 16 // hashes: 128 kB
	mostKnown   = 1 << 25 // hashes: 64 MB
)

// may reports whether the filter may have a hash.
func (f *filter) may(h people.Hash) bool {
	if f.full {
		return true
	}
	for i := range f.layers {
		if f.layers[i].has(h) {
			return true
		}
	}
	return false
}

// add adds a hash.
func (f *filter) add(h people.Hash) {
	if f.may(h) {
		return
	}
	last := len(f.layers) - 1
	if last < 0 || f.layers[last].left == 0 {
		if f.n >= mostKnown {
			*f = filter{n: f.n, full: true}
			return
		}
		size := max(firstLayer, f.n)
		f.layers = append(f.layers, layer{bits: make([]uint64, size*bitsPerHash/64), left: size})
		last++
	}
	l := &f.layers[last]
	l.left--
	f.n++
	l.each(h, func(word int, bit uint64) bool { l.bits[word] |= bit; return true })
}

// has reports whether a layer has all bits of a hash.
func (l *layer) has(h people.Hash) bool {
	return l.each(h, func(word int, bit uint64) bool { return l.bits[word]&bit != 0 })
}

// each calls a function with the bits of a hash as long as it returns true, and returns whether it
// did for all of them. A hash is of a keyed function, so that its halves are as good as two others.
func (l *layer) each(h people.Hash, do func(word int, bit uint64) bool) bool {
	at, step := binary.LittleEndian.Uint64(h[:8]), binary.LittleEndian.Uint64(h[8:])|1
	mask := uint64(len(l.bits))*64 - 1 // a power of two less one
	for range probes {
		bit := at & mask
		if !do(int(bit>>6), bits.RotateLeft64(1, int(bit&63))) {
			return false
		}
		at += step
	}
	return true
}
