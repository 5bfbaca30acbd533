package demo

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The rule by which contacts.csv was made, for n from 1 to 2,000:
//
//   - an odd n is a call, an even one an SMS; the key is the channel and n
//   - the number is +1555 and seven digits of n, so that no two are alike
//   - 1, 40, 41, 80, 81, … are of high priority; 50, 150, … are replies
//   - the surveys take turns, two contacts each
//   - every tenth n has a second message, every thirtieth a third one
func byTheRule() []byte {
	var out bytes.Buffer
	w := csv.NewWriter(&out)
	_ = w.Write(names())
	for n := 1; n <= 2000; n++ {
		_ = w.Write(ruleRow(n))
	}
	w.Flush()
	return out.Bytes()
}

func ruleRow(n int) []string {
	survey := []string{"water", "clinics", "schools"}[n/2%3]
	said := map[string]string{
		"water":   "Hello. This is the yearly survey on clean water, it takes two minutes.",
		"clinics": "Hello. Your clinic would like to know how your last visit was.",
		"schools": "Hello. We ask parents about the way to school. Please stay on the line.",
	}
	written := map[string]string{
		"water":   "Survey on clean water: how many minutes do you walk to the well? Answer with a number.",
		"clinics": "Your next visit is on Tuesday at 9:00. Please bring your card, and answer 1 if you will come.",
		"schools": "Survey for parents: how many of your children go to school? Answer with a number.",
	}
	row := []string{calls, "", fmt.Sprintf("+1555%07d", n), "normal", survey, said[survey], "", ""}
	if n%2 == 0 {
		row[0], row[5] = sms, written[survey]
	}
	row[1] = fmt.Sprintf("%s-%04d", row[0], n)
	switch {
	case n%40 < 2:
		row[3] = "high"
	case n%100 == 50:
		row[3] = "reply"
	}
	if n%10 == 0 {
		row[6] = "You may answer until Friday. It costs you nothing."
	}
	if n%30 == 0 {
		row[7] = "If you do not want to be asked again, answer STOP."
	}
	return row
}

// WEIR_WRITE_CONTACTS=1 makes the test write the file.
func TestTheShippedContactsFollowTheRule(t *testing.T) {
	t.Parallel()
	if os.Getenv("WEIR_WRITE_CONTACTS") != "" {
		if err := os.WriteFile("contacts.csv", byTheRule(), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	onDisk, err := os.ReadFile("contacts.csv")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(byTheRule()), string(onDisk)); diff != "" {
		t.Errorf("contacts.csv is not what the rule makes (-rule +file):\n%s", diff)
	}
	contacts, err := load("")
	if err != nil {
		t.Fatal(err)
	}
	count := map[string]int{}
	for _, c := range contacts {
		count[c.Channel]++
		count[c.Channel+" units"] += c.units()
	}
	want := map[string]int{calls: 1000, "calls units": 1000, sms: 1000, "sms units": 1266}
	if diff := cmp.Diff(want, count); diff != "" {
		t.Error(diff)
	}
}

const head = "channel,key,to,priority,survey,text,text2,text3\n"

func TestContactsAreRead(t *testing.T) {
	t.Parallel()
	got, err := parse("c.csv", strings.NewReader("\uFEFF"+head+
		"calls,a,+15550001,normal,,\"Hello, \"\"you\"\"\",,\n\n"+
		"sms,a,15550001,reply,s 1,one,two,three\n"))
	if err != nil {
		t.Fatal(err)
	}
	want := []Contact{
		{Channel: "calls", Key: "a", To: "+15550001", Priority: "normal", Texts: []string{`Hello, "you"`}},
		{Channel: "sms", Key: "a", To: "15550001", Priority: "reply", Survey: "s 1", Texts: []string{"one", "two", "three"}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestBadRowsAreNamed(t *testing.T) {
	t.Parallel()
	good := "sms,k,+15550001,normal,s,hello,,\n"
	tests := []struct{ name, file, want string }{
		{"nothing", "", "c.csv: line 1, column 1 (channel): the first line must be channel,key,to,priority,survey,text,text2,text3"},
		{"other header", "channel,key,number\n", "c.csv: line 1, column 3 (to): the first line must be channel,key,to,priority,survey,text,text2,text3"},
		{"long header", strings.TrimSpace(head) + ",text4\n", "c.csv: line 1, column 9: one column too many; the first line must be channel,key,to,priority,survey,text,text2,text3"},
		{"no rows", head, "c.csv: no contact is in it"},
		{"channel", head + "fax,k,+15550001,normal,s,hello,,\n", "c.csv: line 2, column 1 (channel): want calls or sms"},
		{"no key", head + good + "sms,,+15550001,normal,s,hello,,\n", "c.csv: line 3, column 2 (key): must not be empty"},
		{"long key", head + "sms," + strings.Repeat("k", 201) + ",+15550001,normal,s,hello,,\n", "c.csv: line 2, column 2 (key): 201 characters, at most 200"},
		{"control character", head + "sms,k\a,+15550001,normal,s,hello,,\n", "c.csv: line 2, column 2 (key): holds a character that is not printable"},
		{"same key", head + good + good, "c.csv: line 3, column 2 (key): line 2 has the same key"},
		{"number", head + "sms,k,+1555 0001,normal,s,hello,,\n", "c.csv: line 2, column 3 (to): want a phone number: a plus sign and 5 to 15 digits"},
		{"short number", head + "sms,k,+15,normal,s,hello,,\n", "c.csv: line 2, column 3 (to): want a phone number: a plus sign and 5 to 15 digits"},
		{"priority", head + "sms,k,+15550001,urgent,s,hello,,\n", "c.csv: line 2, column 4 (priority): want normal or high or reply"},
		{"survey", head + "sms,k,+15550001,normal," + strings.Repeat("s", 65) + ",hello,,\n", "c.csv: line 2, column 5 (survey): 65 characters, at most 64"},
		{"no text", head + "sms,k,+15550001,normal,s,,,\n", "c.csv: line 2, column 6 (text): must not be empty"},
		{"not UTF-8", head + "sms,k,+15550001,normal,s,\xff,,\n", "c.csv: line 2, column 6 (text): not UTF-8"},
		{"two texts for a call", head + "calls,k,+15550001,normal,s,one,two,\n", "c.csv: line 2, column 7 (text2): a call has one text"},
		{"no second text", head + "sms,k,+15550001,normal,s,one,,three\n", "c.csv: line 2, column 8 (text3): there is a third text and no second one"},
		{"few columns", head + good + "sms,k2,+15550001\n", "c.csv: line 3, column 4 (priority): 3 columns, want 8"},
		{"many columns", head + "sms,k,+15550001,normal,s,one,,,,\n", "c.csv: line 2, column 9: 10 columns, want 8"},
		{"quote", head + "sms,k,+15550001,normal,s,a\"b,,\n", "c.csv: line 2, character 27: bare \" in non-quoted-field"},
		{"open quote", head + "sms,\"k,+15550001,normal,s,hello,,\n", "c.csv: line 2, character 35: extraneous or missing \" in quoted-field"},
		{
			"two mistakes", head + "sms,k,1,loud,s,hello,,\n",
			"c.csv: line 2, column 3 (to): want a phone number: a plus sign and 5 to 15 digits\nc.csv: line 2, column 4 (priority): want normal or high or reply",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, err := parse("c.csv", strings.NewReader(tt.file))
			if err == nil {
				t.Fatalf("no error; want %s", tt.want)
			}
			if diff := cmp.Diff(tt.want, err.Error()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestMistakesAreBounded(t *testing.T) {
	t.Parallel()
	_, err := parse("c.csv", strings.NewReader(head+strings.Repeat("fax,k,+15550001,normal,s,hello,,\n", 1000)))
	if err == nil || strings.Count(err.Error(), "\n") != mostMistakes-1 {
		t.Errorf("got %v; want %d mistakes", err, mostMistakes)
	}
}

func TestAFileThatIsNotThere(t *testing.T) {
	t.Parallel()
	if _, err := load(t.TempDir() + "/none.csv"); err == nil || !strings.Contains(err.Error(), "none.csv") {
		t.Errorf("got %v; want an error with the file's name", err)
	}
}

// What is read has what the broker's API asks for, and survives being written
// and read again.
func FuzzContacts(f *testing.F) {
	f.Add(head + "sms,k,+15550001,normal,s,hello,,\n")
	f.Add(head + "calls,a,+15550001,normal,,\"Hello, \"\"you\"\"\",,\n")
	f.Add("\uFEFF" + head + "sms,\"a\nb\",+15550001,reply,s 1,one,two,three")
	f.Add(head + "sms,k,+15550001\n\"")
	f.Fuzz(func(t *testing.T, file string) {
		contacts, err := parse("f", strings.NewReader(file))
		if err != nil {
			if strings.Count(err.Error(), "\n") > mostMistakes+len(columns()) {
				t.Errorf("too many mistakes: %v", err)
			}
			return
		}
		var out bytes.Buffer
		w := csv.NewWriter(&out)
		_ = w.Write(names())
		for _, c := range contacts {
			if c.Key == "" || c.units() < 1 || c.units() > 3 || c.Channel == calls && c.units() > 1 {
				t.Errorf("%+v passed", c)
			}
			row := []string{c.Channel, c.Key, c.To, c.Priority, c.Survey, "", "", ""}
			copy(row[5:], c.Texts)
			_ = w.Write(row)
		}
		w.Flush()
		again, err := parse("f", &out)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(contacts, again); diff != "" {
			t.Error(diff)
		}
	})
}
