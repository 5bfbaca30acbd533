package label

import (
	"strings"
	"testing"
)

// Results of the Power Fx expressions in rules.
func TestExpressions(t *testing.T) {
	t.Parallel()
	s := Scope{
		Job:    Set{"Age": Number(4), "Name": Text("Jo"), "Vip": Bool(true), "two words": Number(2)},
		Worker: Set{"Age": Number(6)},
	}
	for text, want := range map[string]Value{
		`1 + 2 * 3`:                         Number(7),
		`(1 + 2) * 3`:                       Number(9),
		`-job.Age - -1`:                     Number(-3),
		`8 / 2 / 2`:                         Number(2),
		`job.Age + job.Nothing`:             Number(4),
		`job.Name = "Jo"`:                   Bool(true),
		`job.Name <> "Jo"`:                  Bool(false),
		`job.Nothing = true`:                Bool(false),
		`job.Nothing = ""`:                  Bool(false),
		`job.Nothing = job.Other`:           Bool(true),
		`job.Age < worker.Age`:              Bool(true),
		`job.Nothing < 1`:                   Bool(false),
		`job.Age >= 4 && !(worker.Age > 6)`: Bool(true),
		`false || job.Vip`:                  Bool(true),
		`And(job.Vip, 1 = 1, 2 = 3)`:        Bool(false),
		`Or(job.Vip = false, true)`:         Bool(true),
		`job.Vip And Not(job.Age = 5)`:      Bool(true),
		`Not job.Vip or true`:               Bool(true),
		`If(job.Vip = true, 10, 5)`:         Number(10),
		`If(false, 1, false, 2)`:            {},
		`If(false, 1, true, 2, 3)`:          Number(2),
		`if(false; 1; 3)`:                   Number(3),
		`= "a ""b""" & job.Age`:             Text(`a "b"4`),
		`job.'two words' * 0.5`:             Number(1),
	} {
		e, err := ParseExpression(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if got, err := e.Eval(s); got != want || err != nil {
			t.Errorf("%s gives %v, %v; want %v", text, got, err, want)
		}
	}
	for _, text := range []string{``, `1 +`, `(1`, `job`, `job.`, `jobs.A`, `If(1)`, `If(1,2`, `"open`, `'open`, `1 2`, `1.2.3`, `#`, `And()`, strings.Repeat("(", 9000), strings.Repeat("!", 5000) + "1"} {
		if _, err := ParseExpression(text); err == nil {
			t.Errorf("%.20q was read", text)
		}
	}
	for _, text := range []string{`job.Name + 1`, `1 / 0`, `job.Name < "x"`} {
		e, err := ParseExpression(text)
		if err != nil {
			t.Fatal(err)
		}
		if v, err := e.Eval(s); err == nil {
			t.Errorf("%s gives %v", text, v)
		}
	}
}

func FuzzExpression(f *testing.F) {
	f.Add(`If(job.Vip = true, 10, worker.Age * 2)`)
	f.Add(`job.'a b' <> "x" && Not(1 >= 2)`)
	f.Fuzz(func(t *testing.T, text string) {
		e, err := ParseExpression(text)
		if err != nil {
			return
		}
		if v, err := e.Eval(Scope{Job: Set{"Vip": Bool(true)}}); err == nil && !v.Valid() {
			t.Errorf("%v", v)
		}
	})
}
