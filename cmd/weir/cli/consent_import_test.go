package cli_test

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"weir/cmd/internal/clitest"
	"weir/cmd/weir/cli/app"
)

// refusals returns a list of refusals without instants.
func refusals(rows int) string {
	var b strings.Builder
	b.WriteString("Phone Number,words\n")
	for i := range rows {
		fmt.Fprintf(&b, "+1555%07d,no %d\n", i, i)
	}
	return b.String()
}

// history returns the consents of a person, newest first, and whether the person refused.
func history(b *broker, address string) (is struct {
	Refused  bool
	Consents []struct{ Key, Status, Source, At, Words string }
}) {
	b.t.Helper()
	if err := json.Unmarshal([]byte(b.run("consent", "show", address, "-o", "json").Out), &is); err != nil {
		b.t.Error(err)
	}
	return is
}

func TestConsentImport_RecordsAListOnce(t *testing.T) {
	t.Parallel()
	b := newBroker(t)
	clitest.Check(t, b.run("consent", "refuse", "+525512345679", "--at", "2026-01-02T10:00:00Z"), app.OK, "", "")
	list := `OptedOutNumber,status,OptedOutTimestamp,weir_line
+525512345678,refused,1767348000.5,
+525512345679,opted-in,2026-01-03T10:00:00Z,
+525512345677,refused,2026-01-02 10:00:00,
5.25512E+12,refused,2026-01-02 10:00:00,
+525512345676,refused,2199-01-02 10:00:00,
+525512345677,given,2026-01-01 10:00:00,
`
	name, bad := file(t, "list.csv", list), filepath.Join(t.TempDir(), "bad.csv")
	clitest.Check(t, b.run("consent", "import", name), app.Usage, "^$", "column 2 may say who refused")
	clitest.Check(t, b.run("consent", "import", name, "--status", "status", "--dry-run"), app.Rejected, `(?s)^LINE .*   2  \+525512345678 +refused  2026-01-02 10:00:00Z .*
list\.csv: 2 refusals, 2 consents, 2 rows rejected; nothing was recorded
  addresses are in OptedOutNumber, refused or given in status, instants in OptedOutTimestamp, no words, for all purposes
  line 5, OptedOutNumber: is a number that a spreadsheet has rounded; export the column as text
  line 6, OptedOutTimestamp: must not be in the future
$`, "^weir: 2 rows were rejected; nothing was recorded\n$")
	if is := history(b, "+525512345678"); is.Refused {
		t.Errorf("a preview has recorded %+v", is)
	}
	for range 2 {
		clitest.Check(t, b.run("consent", "import", name, "--status", "status", "--errors", bad, "--show", "0"), app.Rejected,
			`^list\.csv: 2 refusals recorded, 2 consents recorded, 2 rows rejected
  1 row changes nothing: something later is known of the person, .*
  2 rejected rows are in .*bad\.csv
$`, "^weir: 2 rows were rejected\n$")
	}
	for address, want := range map[string]int{"5215512345678": 1, "+525512345677": 2, "+525512345679": 2} {
		is := history(b, address)
		if len(is.Consents) != want || is.Refused == (address == "+525512345679") || is.Consents[0].Source != "import" || !strings.HasPrefix(is.Consents[0].Key, "import:") {
			t.Errorf("%s: %+v", address, is)
		}
	}
	// The rows are mended in the file of the rejected ones. Its remarks are no columns.
	mended := strings.NewReplacer("5.25512E+12", "+525512345675", "2199", "2026").Replace(read(t, bad))
	if !strings.HasPrefix(mended, "weir_line,weir_column,weir_reason,OptedOutNumber,status,OptedOutTimestamp\n5,OptedOutNumber,is a number") {
		t.Error(mended)
	}
	clitest.Check(t, at(t, b.url, mended, "consent", "import", "-", "--status", "", "-o", "json"), app.OK,
		`^\{"dry_run":false,"rows":2,"refused":2,"given":0,"superseded":0,"rejected":0,"errors":\[\]\}\n$`, "^$")
	clitest.Check(t, at(t, b.url, list, "consent", "import", "-", "--status", "status", "--source-name", "crm", "--show", "0"), app.Rejected, "^standard input: 2 refusals recorded", "")
	if is := history(b, "+525512345678"); len(is.Consents) != 2 || !strings.HasPrefix(is.Consents[0].Key, "import:crm:") {
		t.Errorf("under another name: %+v", is)
	}
}

func TestConsentImport_PreviewSaysWhatIsLeftOut(t *testing.T) {
	t.Parallel()
	b := newBroker(t)
	list := "Phone,words,opted_out\n+52 1 55 1234 5678,call +525512345679 instead,true\n5512345678901234567,,true\nana@example.org,,true\n+15550100234,,false\n"
	// What looks like a number and is none would count for nobody.
	clitest.Check(t, at(t, b.url, list, "consent", "import", "-", "--status", "opted_out", "--dry-run"), app.Rejected, `(?s)2  \+525512345678 +refused  now  call .*ana@example.org.*standard input: 2 refusals, 0 consents, 1 row rejected; nothing was recorded
  1 row is left out: the person has not opted out
  1 address is no phone number that a country could have
  addresses are in Phone, refused or given in opted_out, all are of now, words in words, for all purposes
  line 3, Phone: looks like a phone number and is none`, "1 row was rejected; nothing was recorded")
}

func TestConsentImport_WrongCommandLinesAndFilesAreExplained(t *testing.T) {
	t.Parallel()
	b := newBroker(t)
	for args, want := range map[string]string{
		"--show -1": "--show must", "--source-name " + strings.Repeat("x", 101): "at most 100", "--address nothing": "the file has no column nothing", "--errors x.ndjson": "--errors needs a file of the same format",
		"--dry-run --errors x.csv": "--errors cannot be combined",
	} {
		clitest.Check(t, at(t, b.url, refusals(1), append([]string{"consent", "import", "-"}, strings.Fields(args)...)...), app.Usage, "^$", want)
	}
	clitest.Check(t, at(t, b.url, "", "consent", "import", "-"), app.Rejected, "^$", "the file is empty")
	clitest.Check(t, at(t, b.url, "+525512345678\n+525512345679\n", "consent", "import", "-"), app.Usage, "^$", "the first line must name the columns")
	clitest.Check(t, at(t, b.url, refusals(1), "consent", "import", "-", "--encoding", "ebcdic"), app.Rejected, "^$", "encoding")
	clitest.Check(t, at(t, b.url, "", "consent", "import", "none.csv"), app.Failure, "^$", "no such file")
	clitest.Check(t, at(t, b.url, "phone\n", "consent", "import", "-"), app.OK, "^standard input: 0 refusals recorded, 0 consents recorded, 0 rows rejected\n$", "^$")
}

// The way is cut, and responses are lost. The same command records what is missing, and nothing twice.
func TestConsentImport_IsRepeatedAfterACut(t *testing.T) {
	t.Parallel()
	const rows = 12_345
	b := newBroker(t)
	way, through := newCutting(t, b.url)
	text := refusals(rows)
	name := file(t, "list.csv", text)
	for _, part := range []int{2, 3, 5} {
		way.after.Store(int64(len(text) / part))
		clitest.Check(t, at(t, through, "", "consent", "import", name), app.Unreachable, "^$", `(?s)no response from Weir.*\nrun the same command again to continue`)
	}
	way.after.Store(0)
	way.lose.Store(1)
	clitest.Check(t, at(t, through, "", "consent", "import", name), app.Unreachable, "^$", `(?s)no response from Weir.*\nrun the same command again to continue`)
	way.lose.Store(0)
	clitest.Check(t, at(t, through, "", "consent", "import", name), app.OK, `^list\.csv: 12,345 refusals recorded, 0 consents recorded, 0 rows rejected\n$`, "^$")
	for _, i := range []int{0, 999, 1000, 6000, rows - 1} {
		if is := history(b, fmt.Sprintf("+1555%07d", i)); len(is.Consents) != 1 || is.Consents[0].Words != fmt.Sprintf("no %d", i) {
			t.Errorf("row %d: %+v", i, is)
		}
	}
}

// What a list without instants says of a person is recorded in its order.
func TestConsentImport_RowsOfAPersonStayInOrder(t *testing.T) {
	t.Parallel()
	const persons = 3000
	b := newBroker(t)
	var list strings.Builder
	list.WriteString("to,said\n")
	for _, said := range []string{"refused", "given"} {
		for person := range persons {
			fmt.Fprintf(&list, "+1555%07d,%s\n", person, said)
		}
	}
	clitest.Check(t, at(t, b.url, list.String(), "consent", "import", "-", "--status", "said"), app.OK, "^standard input: 3,000 refusals recorded, 3,000 consents recorded, 0 rows rejected\n$", "^$")
	for person := 0; person < persons; person += 25 {
		if is := history(b, fmt.Sprintf("+1555%07d", person)); is.Refused || len(is.Consents) != 2 {
			t.Errorf("%d: %+v", person, is)
		}
	}
}
