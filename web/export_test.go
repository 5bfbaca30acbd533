package web

import (
	"net/netip"
	"time"

	"weir/ops"
)

// Served makes the handler call f with every pattern that it serves.
func (o *Options) Served(f func(pattern string)) { o.served = f }

// Bucket is a bucket with its rate and burst.
type Bucket struct {
	b           bucket
	Rate, Burst float64
}

// Take takes one.
func (b *Bucket) Take(now time.Time) time.Duration { return b.b.take(now, b.Rate, b.Burst) }

// Addresses holds the rate limit state of addresses.
type Addresses struct{ a *addresses }

// NewAddresses returns an empty Addresses.
func NewAddresses(rate float64) Addresses { return Addresses{newAddresses(rate)} }

// Refusal counts a request with a wrong token.
func (a Addresses) Refusal(from netip.Addr, wrong string, now time.Time) time.Duration {
	hash := ops.HashToken(wrong)
	return a.a.refusal(from, &hash, now)
}

// Known returns how many addresses are remembered.
func (a Addresses) Known() int { return len(a.a.known) }

// MostAddresses is the max number of remembered addresses.
const MostAddresses = mostAddresses

// MaskText masks the numbers in a text.
func MaskText(text string) string { return maskText(text) }

// MaskValue masks a value that is or contains a number.
func MaskValue(value string) string { return maskValue(value) }

// Guarded returns a cell as downloads write it.
func Guarded(cell string) string { return guarded(cell) }
