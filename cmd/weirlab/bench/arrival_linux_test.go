package bench

import (
	"net"
	"testing"
	"time"
)

// Arrival follows the order of sending, whichever connection is read first.
func TestArrivalDoesNotDependOnWhoReadsFirst(t *testing.T) {
	t.Parallel()
	plain, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = plain.Close() }()
	l := newArrivals(plain)
	connect := func() (client net.Conn, server *arriving) {
		client, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", plain.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = client.Close() })
		if _, err := client.Write([]byte("x")); err != nil {
			t.Fatal(err)
		}
		c, err := l.Accept()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Close() })
		return client, c.(*arriving)
	}
	read := func(c *arriving) time.Time {
		if n, err := c.Read(make([]byte, 1)); n != 1 || err != nil {
			t.Fatalf("%d, %v", n, err)
		}
		return time.Unix(0, c.first.Load())
	}
	// The system begins to record timestamps some time after they were enabled.
	for tries, noted := 0, false; !noted; tries++ {
		if tries == 1000 {
			t.Fatal("the system notes no instants")
		}
		_, c := connect()
		_, at, err := c.stamped.read(make([]byte, 1))
		if err != nil {
			t.Fatal(err)
		}
		noted = !at.IsZero()
	}
	_, first := connect()
	_, second := connect()
	sent := time.Now()
	later, earlier := read(second), read(first)
	if !earlier.Before(later) || later.After(sent) {
		t.Errorf("sent first: %v; sent second: %v; both before %v", earlier, later, sent)
	}
}
