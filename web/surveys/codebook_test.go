package surveys_test

import (
	"strings"
	"testing"

	"weir/web/webtest"
)

// The codebook has each question with answers and each of its choices, under the name that its column has
// in the results.
func TestCodebook_ExplainsTheColumnsOfQuestions(t *testing.T) {
	t.Parallel()
	r := webtest.New(t)
	text := func(en, es string) string { return `{"en":"` + en + `","es":"` + es + `"}` }
	g := r.Do("PUT", "/v1/surveys/s1", `{"schedule":{"time_zone":"UTC","weekdays":["mon"],"windows":[{"from":"09:00","to":"18:00"}]},"modes":{"sms":{"channel":"texts"}},"arms":[{"modes":["sms"]}],"questions":{"languages":[{"code":"en"},{"code":"es"}],"questions":[
		{"name":"hello","kind":"statement","text":`+text("Hello", "Hola")+`},
		{"name":"by","kind":"choice","text":`+text("=which?", "¿Cuál?")+`,"choices":[{"name":"a","text":`+text("Bus", "Autobús")+`},{"name":"b","text":`+text("Car", "Carro")+`}]},
		{"name":"age","kind":"number","min":0,"max":120.5,"constraint":". != 7","relevant":"${by} = 'a'","text":`+text("How old?", "¿Edad?")+`}]}}`)
	if g.Status != 201 {
		t.Fatalf("%d %s", g.Status, g.Body)
	}
	g = r.Do("GET", "/v1/surveys/s1/codebook.csv", "")
	want := strings.Join([]string{
		"column,question,kind,code,label_en,label_es,asked_if,allowed",
		"by,by,choice,,'=which?,¿Cuál?,,",
		"by,by,choice,a,Bus,Autobús,,",
		"by,by,choice,b,Car,Carro,,",
		"age,age,number,,How old?,¿Edad?,${by} = 'a',. >= 0 and . <= 120.5 and . != 7", "",
	}, "\n")
	if got := strings.ReplaceAll(g.Body, "\r\n", "\n"); g.Status != 200 || got != want {
		t.Errorf("%d\n%s\nwant\n%s", g.Status, got, want)
	}
	if header := strings.SplitN(r.Do("GET", "/v1/surveys/s1/results.csv", "").Body, "\n", 2)[0]; !strings.Contains(header, ",by,age,") {
		t.Errorf("the results have %s", header)
	}
	if g := r.Do("GET", "/v1/surveys/s1/codebook.csv?spreadsheet=semicolon", ""); !strings.HasPrefix(g.Body, "\ufeffcolumn;question") {
		t.Errorf("for Excel: %q", g.Body)
	}
	if g := r.Do("GET", "/v1/surveys/none/codebook.csv", ""); g.Status != 404 {
		t.Errorf("of no survey: %d", g.Status)
	}
}
