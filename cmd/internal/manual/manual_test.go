package manual_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"

	"weir/cmd/internal/manual"
)

func paper() *manual.Paper {
	root := &cobra.Command{Use: "weir", Short: "A broker", Long: "Weir is a broker.\n\nSame everywhere."}
	one := &cobra.Command{Use: "one NAME", Short: "Do one thing", Long: "Does it.\n\nSame everywhere.\n\n.dots and 'quotes' and \\back-slashes… stay:\n  a  list | of <things>", Example: "  weir one x\n      --more", Run: func(*cobra.Command, []string) {}}
	one.Flags().StringP("file", "f", "a.txt", "where `NAME|-` is, *perhaps*")
	one.Flags().Bool("yes", false, "do not ask")
	one.Flags().String("watch", "", "again and again")
	one.Flags().Lookup("watch").NoOptDefVal = "2s"
	hidden := &cobra.Command{Use: "docs", Short: "no", Hidden: true, Run: func(*cobra.Command, []string) {}}
	group := &cobra.Command{Use: "many", Short: "Hold others"}
	group.AddCommand(&cobra.Command{Use: "list", Short: "List them", Run: func(*cobra.Command, []string) {}})
	root.AddCommand(one, hidden, group)
	return &manual.Paper{Root: root, Common: []string{"Same everywhere."}, Sections: []manual.Section{{Title: "Exit status", Text: "Same everywhere."}}}
}

const man = `.\" Written by "weir docs man"; do not change it.
.TH WEIR 1 "" "Weir" "User Commands"
.SH NAME
weir \- a broker
.SH SYNOPSIS
.B weir
.I COMMAND
[\fIflags\fR]
.SH DESCRIPTION
.PP
Weir is a broker.
.SH COMMANDS
.SS weir many
.nf
\fBweir many COMMAND\fR
.fi
.PP
Hold others.
.SS weir many list
.nf
\fBweir many list\fR
.fi
.PP
List them.
.SS weir one
.nf
\fBweir one NAME [flags]\fR
.fi
.PP
Does it.
.PP
.nf
\&.dots and 'quotes' and \eback\-slashes\[u2026] stay:
  a  list | of <things>
.fi
.TP
\fB\-f, \-\-file NAME|\-\fR
where NAME|\- is, *perhaps* (default a.txt)
.TP
\fB\-\-watch[=string]\fR
again and again; without a value 2s
.TP
\fB\-\-yes\fR
do not ask
.PP
.nf
  weir one x
      \-\-more
.fi
.SH EXIT STATUS
.PP
Same everywhere.
`

func TestMan(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	if err := paper().Man(&b); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(man, b.String()); diff != "" {
		t.Error(diff)
	}
}

func TestMarkdown(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	if err := paper().Markdown(&b); err != nil {
		t.Fatal(err)
	}
	got := b.String()
	for _, want := range []string{
		"# The command line of weir\n", "## Exit status\n\nSame everywhere.\n", "- [`weir many`](#weir-many): Hold others\n", "### weir many list\n",
		"```\n.dots and 'quotes' and \\back-slashes… stay:\n  a  list | of <things>\n```\n", "| `-f, --file NAME\\|-` | where NAME\\|- is, *perhaps* (default a.txt) |\n", "```sh\nweir one x\n    --more\n```\n",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("it lacks %q:\n%s", want, got)
		}
	}
	if strings.Contains(got, "docs\n") || strings.Count(got, "Same everywhere.") != 1 {
		t.Errorf("hidden commands, or what is common, stand in it:\n%s", got)
	}
}
