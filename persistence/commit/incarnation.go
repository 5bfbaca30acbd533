package commit

import (
	"context"

	"weir"
)

// Incarnate begins an incarnation of a channel's broker, or with channel 0 of the router.
// What an earlier one has left in the queue of the writer is written before, and what it
// submits later is refused. Nothing is written for it.
func (s *DB) Incarnate(ctx context.Context, channel weir.ChannelID) (weir.Incarnation, error) {
	w := &incarnating{channel: channel}
	if err := s.Await(ctx, &Request{Work: w}); err != nil {
		return weir.Incarnation{}, err
	}
	return weir.Incarnation{Channel: channel, Number: w.number}, nil
}

// incarnating is the work of [DB.Incarnate].
type incarnating struct {
	channel weir.ChannelID
	number  int64
}

// Write implements [Work].
func (i *incarnating) Write(t *Tx, _ *Request) error {
	i.begin(t.w, t.b)
	return nil
}

func (i *incarnating) begin(w *writer, b *batch) {
	w.incarnation++
	i.number = w.incarnation
	if b.incarnations == nil {
		b.incarnations = map[weir.ChannelID]int64{}
	}
	b.incarnations[i.channel] = i.number
}

// beginInMemory does the work of a batch that only begins incarnations, without a transaction; done is false for
// any other.
func (w *writer) beginInMemory(b *batch) (done bool) {
	for _, r := range b.requests {
		if _, ok := r.Work.(*incarnating); !ok {
			return false
		}
	}
	for _, r := range b.requests {
		r.Work.(*incarnating).begin(w, b)
	}
	return true
}
