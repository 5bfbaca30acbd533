package bench

import (
	"regexp"
	"strings"
	"testing"
)

func TestPeers_AreComparedWithTheWeirThatIsUsedLikeThem(t *testing.T) {
	t.Parallel()
	const runs = `{"Peer":"floor","Mode":"live","N":100,"Channels":10,"Batch":1,"PerS":10000,"CPUClient":1}
{"Peer":"inside sqlite","Mode":"live","N":100,"Channels":10,"Batch":1,"PerS":5000,"CPUClient":2}
{"Peer":"inside mysql","Mode":"live","N":100,"Channels":10,"Batch":1,"PerS":4000,"CPUClient":1.5,"CPUServer":0.5}
{"Peer":"http sqlite","Mode":"live","N":100,"Channels":10,"Batch":1,"PerS":3000,"CPUClient":3}
{"Peer":"memory","Mode":"live","N":100,"Channels":10,"Batch":1,"PerS":20000,"CPUClient":0.8}
{"Peer":"memory","Mode":"live","N":100,"Channels":10,"Batch":100,"PerS":1,"CPUClient":1}
{"Peer":"memory+http","Mode":"live","N":100,"Channels":10,"Batch":1,"PerS":6000,"CPUClient":1}
{"Peer":"queue","Mode":"live","N":100,"Channels":10,"Batch":1,"Error":"lost"}
{"Peer":"slow","Mode":"live","N":100,"Channels":10,"Batch":1,"PerS":1000,"CPUClient":1}
{"Peer":"fast","Mode":"live","N":100,"Channels":10,"Batch":1,"PerS":2000,"CPUClient":8}
{"Peer":"actor-mysql","Mode":"live","N":100,"Channels":10,"Batch":1,"PerS":9000,"CPUClient":1,"CPUServer":0.25}
{"Peer":"inside sqlite","Mode":"latency","N":100,"Channels":10,"Batch":1,"P50ms":1.5,"CPUClient":2}
{"Peer":"queue","Mode":"latency","N":100,"Channels":10,"Batch":1,"P50ms":3,"CPUClient":4}
`
	var out strings.Builder
	if err := ComparePeers(strings.NewReader(runs), &out); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`(?m)^ *memory +1 +20000 +80 +0\.00 +0\.25 +2\.50 +0\.20 +2\.50 *$`,
		`(?m)^ *memory\+http +1 +6000 +100 +0\.00 +0\.50 +3\.00 +– +– *$`,
		`(?m)^ *floor +1 +10000 +100 +0\.00 +0\.50 +2\.00 +0\.40 +2\.00 *$`,
		`(?m)^ *queue +1 +3\.00 +400 +0\.00 +0\.50 +0\.50 +– +– *$`,
		`(?m)^live, enqueue in process: contacts/s ÷ memory +≥ 0.58 +0.20 +no +≥ 0.58 +0.25 +no *$`,
		`(?m)^live: CPU of program and server ÷ the sketch's +≤ 1.5 +1.60 +no +≤ 1.3 +– +– *$`,
		`(?m)^live: contacts/s ÷ the fastest other queue's; CPU ÷ the cheapest's +≥ 2; ≤ 1 +2.00; 2.00 +no +≥ 2; ≤ 1 +2.50; 2.00 +no *$`,
	} {
		if !regexp.MustCompile(want).MatchString(out.String()) {
			t.Errorf("no line %s in\n%s", want, out.String())
		}
	}
	for _, wrong := range []string{"", "{"} {
		if ComparePeers(strings.NewReader(wrong), &out) == nil {
			t.Errorf("%q is accepted", wrong)
		}
	}
}
