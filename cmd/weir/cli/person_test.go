package cli_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"weir/client"
	"weir/cmd/internal/clitest"
	"weir/cmd/weir/cli/app"
)

func TestPerson_IsShownByNumberAndContact(t *testing.T) {
	t.Parallel()
	b := newBroker(t)
	b.channel("texts")
	clitest.Check(t, b.run("purpose", "put", "marketing", "--consent", "recorded"), app.OK, "", "")
	clitest.Check(t, b.run("contact", "send", "texts", "--to", "+525512345678", "--message", "hello"), app.OK, "", "")
	clitest.Check(t, b.run("consent", "refuse", "+525512345678", "--words", "no more"), app.OK, "", "")
	var list []client.ContactView
	if err := json.Unmarshal([]byte(b.run("contact", "list", "-o", "json").Out), &list); err != nil || len(list) != 1 {
		t.Fatalf("%v %v", list, err)
	}
	const shown = `(?s)^For default the person is not contacted: refused: a refusal was recorded
For marketing the person is not contacted: [^\n]*

TIME +WHAT +STATE +CHANNEL +FOR +TEXT +REASON\n[^\n]*consent +refused +- +all +no more +api\n[^\n]*contact [^\n]*queued +texts +- +hello +channel texts is paused`
	clitest.Check(t, b.run("person", "show", "52 1 55 1234 5678"), app.OK, shown, "^$")
	clitest.Check(t, b.run("person", "show", "--contact", list[0].ID), app.OK, shown, "^$")
	clitest.Check(t, at(t, b.url, "+525512345678\n", "person", "show", "-"), app.OK, shown, "^$")
	var is client.PersonView
	if err := json.Unmarshal([]byte(b.run("person", "show", "+525512345678", "-o", "json").Out), &is); err != nil || len(is.Contacts) != 1 || len(is.Consents) != 1 || is.NextCursor != "" {
		t.Errorf("%+v %v", is, err)
	}
	for _, args := range [][]string{{}, {"+525512345678", "--contact", list[0].ID}, {"+525512345678", "--limit", "0"}, {" "}} {
		clitest.Check(t, b.run(append([]string{"person", "show"}, args...)...), app.Usage, "^$", "NUMBER|--limit")
	}
	clitest.Check(t, b.run("person", "show", "--contact", "1-zz"), app.NotFound, "^$", "no contact 1-zz")
}

func TestPerson_IsExportedInFull(t *testing.T) {
	t.Parallel()
	b := newBroker(t)
	b.channel("texts")
	const n = 1050 // more than a page
	list := "to,message\n"
	for i := range n {
		list += fmt.Sprintf("+525512345678,hello %d\n", i)
	}
	clitest.Check(t, at(t, b.url, list, "contact", "send", "texts", "-f", "-", "--format", "csv"), app.OK, "", "")
	file := filepath.Join(t.TempDir(), "person.json")
	clitest.Check(t, b.run("person", "export", "+525512345678", "--file", file), app.OK, "^$", "^$")
	text, err := os.ReadFile(file)
	var is client.PersonView
	if err != nil || json.Unmarshal(text, &is) != nil || len(is.Contacts) != n || is.NextCursor != "" || is.To != "+525512345678" {
		t.Errorf("%d contacts, %v", len(is.Contacts), err)
	}
	clitest.Check(t, b.run("person", "show", "+525512345678", "--limit", "5"), app.OK, "(?s)hello", "there is more: raise --limit")
}
