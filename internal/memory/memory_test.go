package memory

import (
	"math/rand/v2"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"strconv"
	"testing"
	"testing/fstest"
	"time"

	"weir/internal/polling"
)

const mib = 1 << 20

// TestDecide_SoftLimitAndGOGC lists what is set for a limit of the container and the user's variables.
func TestDecide_SoftLimitAndGOGC(t *testing.T) {
	for _, c := range []struct {
		name      string
		container int64
		v         Variables
		soft      int64 // that Go has read
		want      Settings
	}{
		{"nothing is known", 0, Variables{}, noLimit, Settings{}},
		{"container", 500 * mib, Variables{}, noLimit, Settings{SoftLimit: 450 * mib, Limit: 450 * mib}},
		{"container, GOGC of the user", 500 * mib, Variables{GOGC: "100"}, noLimit, Settings{SoftLimit: 450 * mib}},
		{"container, GOGC off", 500 * mib, Variables{GOGC: "off"}, noLimit, Settings{SoftLimit: 450 * mib}},
		{"container, lower GOMEMLIMIT of the user", 500 * mib, Variables{GOMEMLIMIT: "300MiB"}, 300 * mib, Settings{Limit: 300 * mib}},
		{"container, higher GOMEMLIMIT of the user", 500 * mib, Variables{GOMEMLIMIT: "1GiB"}, 1024 * mib, Settings{Limit: 500 * mib}},
		{"container, no limit for the user", 500 * mib, Variables{GOMEMLIMIT: "off"}, noLimit, Settings{}},
		{"GOMEMLIMIT of the user", 0, Variables{GOMEMLIMIT: "300MiB"}, 300 * mib, Settings{Limit: 300 * mib}},
		{"GOMEMLIMIT and GOGC of the user", 500 * mib, Variables{GOGC: "50", GOMEMLIMIT: "300MiB"}, 300 * mib, Settings{}},
		{"GOGC of the user", 0, Variables{GOGC: "200"}, noLimit, Settings{}},
	} {
		if got := Decide(c.container, c.v, c.soft); got != c.want {
			t.Errorf("%s: %+v, want %+v", c.name, got, c.want)
		}
	}
}

// TestPercent_GrowsToHalfOfTheLimit checks that the heap stays below half of the limit or doubles at most, and uses
// what it may.
func TestPercent_GrowsToHalfOfTheLimit(t *testing.T) {
	for _, c := range []struct {
		live, limit int64
		want        int
	}{
		{0, 460 * mib, 400},
		{32 * mib, 460 * mib, 400},
		{100 * mib, 460 * mib, 120}, // 220 of 230 MiB
		{230 * mib, 460 * mib, 100},
		{400 * mib, 460 * mib, 100},
		{1024 * mib, 1843 * mib, 100}, // nine tenths of 2 GiB
		{32 * mib, 64 * mib, 100},
	} {
		if got := percent(c.live, c.limit); got != c.want {
			t.Errorf("%d of %d MiB alive: %d, want %d", c.live/mib, c.limit/mib, got, c.want)
		}
	}
	random := rand.New(rand.NewPCG(1, 2))
	for range 100_000 {
		live, limit := random.Int64N(1<<random.IntN(44)+1), random.Int64N(1<<random.IntN(44)+1)
		p := percent(live, limit)
		grown := func(p int) float64 { return float64(live) * (1 + float64(p)/100) }
		half := float64(limit/2) * 1.02 // percents are whole numbers of what is alive
		switch {
		case p < minPercent || p > maxPercent || p%step != 0:
			t.Fatalf("%d of %d alive: %d", live, limit, p)
		case p > minPercent && live >= mib && grown(p) > half:
			t.Fatalf("%d of %d alive: %d lets the heap grow to %.0f", live, limit, p, grown(p))
		case p < maxPercent && live >= mib && grown(p+2*step) < float64(limit/2):
			t.Fatalf("%d of %d alive: %d wastes room", live, limit, p)
		}
	}
}

// TestLimit_LowestOfTheControlGroups reads limits as systems show them.
func TestLimit_LowestOfTheControlGroups(t *testing.T) {
	const (
		machine = "MemTotal:       2097152 kB\nMemFree: 100 kB\n" // 2 GiB
		v2      = "24 1 0:22 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw\n"
		v1      = "30 1 0:26 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n31 1 0:27 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"
		slice   = "sys/fs/cgroup/system.slice/"
	)
	for name, c := range map[string]struct {
		groups, mounts string
		files          map[string]string
		want           int64
	}{
		"no control groups":         {"", "", nil, 0},
		"container, version 2":      {"0::/\n", v2, map[string]string{"sys/fs/cgroup/memory.max": "536870912\n"}, 512 * mib},
		"container without limit":   {"0::/\n", v2, map[string]string{"sys/fs/cgroup/memory.max": "max\n"}, 0},
		"limit above the machine's": {"0::/\n", v2, map[string]string{"sys/fs/cgroup/memory.max": "4294967296\n"}, 0},
		"unit of systemd":           {"0::/system.slice/weir.service\n", v2, map[string]string{slice + "weir.service/memory.max": "536870912", slice + "memory.max": "max"}, 512 * mib},
		"lower limit of a group above": {
			"0::/system.slice/weir.service\n", v2, map[string]string{slice + "weir.service/memory.max": "536870912", slice + "memory.max": "268435456"}, 256 * mib,
		},
		"MemoryHigh of systemd":      {"0::/system.slice/weir.service\n", v2, map[string]string{slice + "weir.service/memory.max": "max", slice + "weir.service/memory.high": "268435456"}, 256 * mib},
		"limit of another unit":      {"0::/system.slice/weir.service\n", v2, map[string]string{slice + "other.service/memory.max": "268435456"}, 0},
		"outside of what is visible": {"0::/../../other\n", v2, map[string]string{"sys/fs/cgroup/memory.max": "268435456"}, 256 * mib},
		"container, version 1": {
			"5:cpu:/docker/ab\n4:memory:/docker/ab\n", "31 1 0:27 /docker/ab /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory\n",
			map[string]string{"sys/fs/cgroup/memory/memory.limit_in_bytes": "536870912"}, 512 * mib,
		},
		"version 1 without limit":    {"4:memory:/a/b\n", v1, map[string]string{"sys/fs/cgroup/memory/a/b/memory.limit_in_bytes": "9223372036854771712"}, 0},
		"version 1, group above":     {"4:memory:/a/b\n", v1, map[string]string{"sys/fs/cgroup/memory/a/memory.limit_in_bytes": "268435456"}, 256 * mib},
		"both, version 1 has memory": {"4:cpuacct,memory:/a\n0::/a\n", v1 + "41 1 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n", map[string]string{"sys/fs/cgroup/memory/a/memory.limit_in_bytes": "268435456"}, 256 * mib},
		"group of a similar name":    {"0::/weird\n", "24 1 0:22 /weir /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n", map[string]string{"sys/fs/cgroup/memory.max": "268435456", "sys/fs/cgroup/d/memory.max": "1048576"}, 256 * mib},
		"nonsense":                   {"memory\n0:\n", "24 1\n - \n" + v2, map[string]string{"sys/fs/cgroup/memory.max": "-5"}, 0},
	} {
		root := fstest.MapFS{"proc/meminfo": {Data: []byte(machine)}, "proc/self/cgroup": {Data: []byte(c.groups)}, "proc/self/mountinfo": {Data: []byte(c.mounts)}}
		for file, text := range c.files {
			root[file] = &fstest.MapFile{Data: []byte(text)}
		}
		if got := Limit(root); got != c.want {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
	}
	if got := Limit(fstest.MapFS{}); got != 0 {
		t.Errorf("without /proc: %d", got)
	}
	root := fstest.MapFS{"proc/self/cgroup": {Data: []byte("0::/\n")}, "proc/self/mountinfo": {Data: []byte(v2)}, "sys/fs/cgroup/memory.max": {Data: []byte(strconv.Itoa(5 * mib))}}
	if got := Limit(root); got != 5*mib {
		t.Errorf("on a machine of unknown memory: %d", got)
	}
}

// TestStart_FollowsWhatIsAlive has GOGC fall with a large heap and rise again, and checks that stop restores all.
func TestStart_FollowsWhatIsAlive(t *testing.T) {
	const soft, gogc = noLimit, 100
	userSoft, userGOGC := debug.SetMemoryLimit(soft), debug.SetGCPercent(gogc) // of the environment
	defer func() { debug.SetMemoryLimit(userSoft); debug.SetGCPercent(userGOGC) }()
	s, stop := Start(500*mib, Variables{})
	defer stop()
	if s.SoftLimit != 450*mib || debug.SetMemoryLimit(-1) != 450*mib {
		t.Errorf("the soft limit is %d", debug.SetMemoryLimit(-1))
	}
	await := func(want int) {
		t.Helper()
		if !polling.Until(20*time.Second, time.Millisecond, func() bool { runtime.GC(); return current(t) == want }) {
			t.Fatalf("GOGC is %d, want %d", current(t), want)
		}
	}
	await(maxPercent)
	large := make([]byte, 200*mib) // 225 MiB may be used, so that it may double
	await(minPercent)
	runtime.KeepAlive(large)
	await(maxPercent)
	stop()
	stop()
	runtime.GC()
	if got := current(t); got != gogc || debug.SetMemoryLimit(-1) != soft {
		t.Errorf("left behind: %d, %d", got, debug.SetMemoryLimit(-1))
	}
}

// TestStart_LeavesTheUsersVariables checks that nothing changes for a user who has set both.
func TestStart_LeavesTheUsersVariables(t *testing.T) {
	soft, gogc := debug.SetMemoryLimit(-1), current(t)
	s, stop := Start(500*mib, Variables{GOGC: "100", GOMEMLIMIT: "1GiB"})
	defer stop()
	if s != (Settings{}) || current(t) != gogc || debug.SetMemoryLimit(-1) != soft {
		t.Errorf("%+v; GOGC is %d, the soft limit %d", s, current(t), debug.SetMemoryLimit(-1))
	}
}

// current returns GOGC as it is now.
func current(t *testing.T) int {
	t.Helper()
	sample := []metrics.Sample{{Name: "/gc/gogc:percent"}}
	metrics.Read(sample)
	return int(sample[0].Value.Uint64())
}
