package web

import (
	"net/netip"
	"time"

	"weir"
)

// Served has f hear of every pattern that the handler serves.
func (o *Options) Served(f func(pattern string)) { o.served = f }

// Bucket is a bucket with its figures.
type Bucket struct {
	b           bucket
	Rate, Burst float64
}

// Take takes one.
func (b *Bucket) Take(now time.Time) time.Duration { return b.b.take(now, b.Rate, b.Burst) }

// Addresses is what is remembered of addresses.
type Addresses struct{ a *addresses }

// NewAddresses makes one.
func NewAddresses(rate float64) Addresses { return Addresses{newAddresses(rate)} }

// Refusal counts a request with a wrong token.
func (a Addresses) Refusal(from netip.Addr, wrong string, now time.Time) time.Duration {
	hash := weir.HashToken(wrong)
	return a.a.refusal(from, &hash, now)
}

// Known is how many are remembered.
func (a Addresses) Known() int { return len(a.a.known) }

// MostAddresses is how many are remembered at most.
const MostAddresses = mostAddresses

// MaskText masks the numbers in a text.
func MaskText(text string) string { return maskText(text) }

// MaskValue masks a value that is a number or has one.
func MaskValue(value string) string { return maskValue(value) }

// Guarded is a cell as downloads have it.
func Guarded(cell string) string { return guarded(cell) }
