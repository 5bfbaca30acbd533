//go:build !linux

package machine

import (
	"errors"
	"time"
)

// Own returns nothing: only Linux is measured.
func Own() Usage { return Usage{} }

// OwnPeak returns 0.
func OwnPeak() int64 { return 0 }

// Of fails.
func Of(int) (Usage, error) {
	return Usage{}, errors.New("what other processes cost can be measured on Linux only")
}

// PSS returns 0.
func PSS(int) int64 { return 0 }

func busy() time.Duration { return 0 }
