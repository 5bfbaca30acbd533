package weir

import "math"

// StrongBits is the entropy from which guessing a token is infeasible.
const StrongBits = 128

// WeakToken reports whether a configured token could be guessed: it has fewer than
// [StrongBits] for the characters that it uses, or repeats a few of them.
// Punctuation does not count.
func WeakToken(text string) bool {
	var digits, hex, lower, upper, length int
	seen := map[rune]bool{}
	for _, r := range text {
		switch {
		case '0' <= r && r <= '9':
			digits = 10
		case 'a' <= r && r <= 'f':
			hex = 6
		case 'g' <= r && r <= 'z':
			lower = 20
		case 'A' <= r && r <= 'Z':
			upper = 26
		default:
			continue
		}
		length++
		seen[r] = true
	}
	if lower > 0 {
		hex = 6
	}
	if upper > 0 && lower > 0 {
		digits = 12 // base64
	}
	return float64(length)*math.Log2(float64(max(1, digits+hex+lower+upper))) < StrongBits || len(seen) < 8
}
