package config

import "testing"

// A process cannot listen twice at one address, however it is written.
func TestConfig_OneAddressIsNotListenedAtTwice(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		a, b string
		want bool
	}{
		{"10.0.0.1:8080", "10.0.0.1:8080", true},
		{":8080", "0.0.0.0:8080", true},
		{":8080", "[::]:8080", true},
		{"0.0.0.0:8080", "[::]:8080", true},
		{":8080", "127.0.0.1:8080", true},
		{"0.0.0.0:8080", "[::1]:8080", true},
		{"[::]:8080", "10.0.0.1:8080", true},
		{":8080", "weir.example:8080", true},
		{":8080", "localhost:8080", true},
		{":8080", ":08080", true},
		{"localhost:8080", "127.0.0.1:8080", true},
		{"localhost:8080", "[::1]:8080", true},
		{"localhost:8080", "LocalHost:8080", true},
		{"[::ffff:10.0.0.1]:8080", "10.0.0.1:8080", true},
		{"[0:0::1]:8080", "[::1]:8080", true},
		{":8080", ":8081", false},
		{"10.0.0.1:8080", "10.0.0.2:8080", false},
		{"127.0.0.1:8080", "10.0.0.1:8080", false},
		{"127.0.0.1:8080", "127.0.0.2:8080", false},
		{"localhost:8080", "127.0.0.2:8080", false},
		{"localhost:8080", "10.0.0.1:8080", false},
		{"weir.example:8080", "10.0.0.1:8080", false},
		{":0", ":0", false},
		{"8080", "8080", false},
	} {
		if collide(c.a, c.b) != c.want || collide(c.b, c.a) != c.want {
			t.Errorf("%s and %s: want %v", c.a, c.b, c.want)
		}
	}
}
