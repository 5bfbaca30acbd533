package validation

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// MaxDelay is the longest delay.
const MaxDelay = 365 * 24 * time.Hour

// ParseDelay parses one delay: a whole number above zero and s, m, h or d.
func ParseDelay(text string) (time.Duration, error) {
	wrong := fmt.Errorf("%q is not a delay; write a whole number followed by s, m, h or d, like 10m", Clip(text))
	if text == "" {
		return 0, wrong
	}
	unit, ok := map[byte]time.Duration{'s': time.Second, 'm': time.Minute, 'h': time.Hour, 'd': 24 * time.Hour}[text[len(text)-1]]
	digits := text[:len(text)-1]
	if !ok || strings.Trim(digits, "0123456789") != "" || digits == "" {
		return 0, wrong
	}
	n, err := strconv.Atoi(digits)
	switch {
	case err != nil || n > int(MaxDelay/unit):
		return 0, fmt.Errorf("%q is too long; at most 365d is allowed", Clip(text))
	case n == 0:
		return 0, fmt.Errorf("%q is not a delay; it must be longer than zero", Clip(text))
	}
	return time.Duration(n) * unit, nil
}
