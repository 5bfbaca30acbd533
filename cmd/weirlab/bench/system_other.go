//go:build !linux

package bench

import (
	"errors"
	"time"
)

func ownCost() cost { return cost{} }

func ownPeak() int64 { return 0 }

func costOf(int) (cost, error) {
	return cost{}, errors.New("what other processes cost can be measured on Linux only")
}

func pssOf(int) int64 { return 0 }

func busy() time.Duration { return 0 }

func freeBytes(string) (int64, bool) { return 0, false }
