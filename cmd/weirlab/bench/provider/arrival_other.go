//go:build !linux

package provider

import (
	"errors"
	"net"
	"time"
)

func stampArrivals(net.Listener) {}

type stamped struct{}

func newStamped(net.Conn) *stamped { return nil }

func (*stamped) read([]byte) (int, time.Time, error) { return 0, time.Time{}, errors.ErrUnsupported }
