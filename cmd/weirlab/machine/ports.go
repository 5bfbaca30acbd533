package machine

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
)

// FreeAddr finds a loopback port below the ephemeral range, so that no outgoing
// connection takes it while its program is down.
func FreeAddr(ctx context.Context) (string, error) {
	const low, high, tries = 20_000, 32_000, 100
	var last error
	for range tries {
		addr := net.JoinHostPort("127.0.0.1", strconv.Itoa(low+rand.IntN(high-low)))
		l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", addr)
		if err == nil {
			return addr, l.Close()
		}
		last = err
	}
	return "", fmt.Errorf("no free port on loopback: %w", last)
}
