package provider

import (
	"net"
	"testing"
	"time"
)

// Arrival follows the order of sending, whichever connection is read first.
func TestArrival_DoesNotDependOnWhoReadsFirst(t *testing.T) {
	t.Parallel()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	stampArrivals(l)
	connect := func() *reader {
		client, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = client.Close() })
		if _, err := client.Write([]byte("GET / HTTP/1.1\r\n\r\n")); err != nil {
			t.Fatal(err)
		}
		c, err := l.Accept()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Close() })
		return &reader{conn: c, stamped: newStamped(c)}
	}
	read := func(r *reader) time.Time {
		m, err := r.next(false)
		if err != nil {
			t.Fatal(err)
		}
		return m.arrived
	}
	// The system begins to record timestamps some time after they were enabled.
	for tries, noted := 0, false; !noted; tries++ {
		if tries == 1000 {
			t.Fatal("the system records no timestamps")
		}
		_, at, err := connect().stamped.read(make([]byte, 64))
		if err != nil {
			t.Fatal(err)
		}
		noted = !at.IsZero()
	}
	first := connect()
	second := connect()
	sent := time.Now()
	later, earlier := read(second), read(first)
	if !earlier.Before(later) || later.After(sent) {
		t.Errorf("sent first: %v; sent second: %v; both before %v", earlier, later, sent)
	}
}
