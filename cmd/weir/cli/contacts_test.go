package cli_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"weir/cmd/internal/clitest"
	"weir/cmd/weir/cli/app"
	"weir/internal/polling"
)

// Scenario 316: what the flags select is counted, and canceled after the question; the same command
// again finds nothing left.
func TestContactCancel_CancelsWhatTheFlagsSelect(t *testing.T) {
	t.Parallel()
	b := newBroker(t)
	b.channel("sms")
	b.channel("other")
	file := filepath.Join(t.TempDir(), "people.csv")
	var rows strings.Builder
	for i := range 1205 {
		fmt.Fprintf(&rows, "+1555%07d,hello,s%d\n", i, i%2)
	}
	if err := os.WriteFile(file, []byte("to,message,survey\n"+rows.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, channel := range []string{"sms", "other"} {
		clitest.Check(t, b.run("contact", "send", channel, "--file", file), app.OK, "1,205 contacts queued", "")
	}
	clitest.Check(t, b.run("contact", "cancel"), app.Usage, "^$", "ID is missing; or select contacts")
	clitest.Check(t, b.run("contact", "cancel", "1-1", "--channel", "sms"), app.Usage, "^$", "cannot be combined")
	clitest.Check(t, b.run("contact", "cancel", "--channel", "sms", "--state", "done"), app.Rejected, "^$", "states")
	clitest.Check(t, b.run("contact", "cancel", "--channel", "none", "--yes"), app.NotFound, "^$", "no channel none")
	clitest.Check(t, b.run("contact", "cancel", "--channel", "sms", "--dry-run"), app.OK, "^1,205 contacts match; nothing was changed\n$", "^$")
	clitest.Check(t, b.run("contact", "cancel", "--channel", "sms"), app.Usage, "^$", "--yes")
	clitest.Check(t, b.run("contact", "cancel", "--channel", "sms", "--limit", "3", "--yes"), app.OK, "^3 contacts canceled\n$", "^$")
	clitest.Check(t, b.run("contact", "cancel", "--channel", "sms", "--survey", "s1", "--state", "queued", "--yes"), app.OK, "^60[0-2] contacts canceled\n$", "^$")
	clitest.Check(t, b.run("contact", "cancel", "--channel", "sms", "--yes"), app.OK, "^60[0-3] contacts canceled\n$", "^$")
	clitest.Check(t, b.run("contact", "cancel", "--channel", "sms", "--yes"), app.OK, "^0 contacts match; nothing was changed\n$", "^$")
	clitest.Check(t, b.run("contact", "cancel", "--all", "--dry-run"), app.OK, "^1,205 contacts match", "^$")
	polling.Until(20*time.Second, 50*time.Millisecond, func() bool { return strings.Contains(b.run("audit").Out, "canceled: - → 60") }) // it is written in the background
	clitest.Check(t, b.run("audit"), app.OK, "cancel-contacts.*canceled: - → 60", "")
}

func TestExports_WriteWholeFilesOnly(t *testing.T) {
	t.Parallel()
	b := newBroker(t)
	b.channel("sms")
	clitest.Check(t, b.run("contact", "send", "sms", "--to", "+15550001", "--message", "=1+1", "--key", "k", "--label", "a=b"), app.OK, "", "")
	out := filepath.Join(t.TempDir(), "contacts.csv")
	clitest.Check(t, b.run("contact", "export", "--channel", "sms", "--file", out), app.OK, "contacts.csv: 1 row,", "")
	text, err := os.ReadFile(out)
	if err != nil || !strings.HasPrefix(string(text), "id,channel,key,to,priority,") || !strings.Contains(string(text), `,sms,k,+15550001,normal,`) || !strings.Contains(string(text), `"[""=1+1""]"`) || !strings.Contains(string(text), `"{""a"":""b""}"`) {
		t.Errorf("the file is %q, %v", text, err)
	}
	clitest.Check(t, b.run("contact", "export", "--file", out), app.Usage, "^$", "add --force")
	none := filepath.Join(t.TempDir(), "none.csv")
	clitest.Check(t, b.run("contact", "export", "--channel", "none", "--file", none), app.NotFound, "^$", "no channel none")
	if _, err := os.Stat(none); err == nil {
		t.Error("a refused export left a file")
	}
	clitest.Check(t, b.run("contact", "export", "--state", "done", "--file", "-"), app.OK, "^id,[^\n]*\n$", "^$")
	clitest.Check(t, b.run("dlq", "export", "--reason", "", "--file", "-"), app.OK, "^at,outcome,reason,contact_id,[^\n]*\n$", "^$")
	clitest.Check(t, b.run("audit", "export", "--file", "-"), app.OK, "^id,at,token,action,subject,status,request,changes\n", "^$")
}
