package main

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"weir/internal/polling"
)

// repository is the root of the module.
const repository = "../.."

// block is a block of code in the README, with the output below it.
type block struct{ code, output string }

// blocks returns the blocks in a language, in order.
func blocks(readme, language string) (list []block) {
	for _, m := range regexp.MustCompile("(?s)```"+language+"\n(.*?)```\n(?:\n```\n(.*?)```\n)?").FindAllStringSubmatch(readme, -1) {
		list = append(list, block{m[1], m[2]})
	}
	return list
}

// shows reports whether an output ends with the one in the README, where … stands for what
// differs from run to run. Only a terminal replaces the former views of a command with --watch.
func shows(readme, output string) bool {
	pattern := strings.ReplaceAll(regexp.QuoteMeta(readme), "…", ".*")
	return regexp.MustCompile("(?:^|\n)" + pattern + "$").MatchString(output)
}

// The README's commands, run as they stand in three terminals, print what it shows below them,
// and its Go program what its last comment says. Only the ports are others.
// Scenario 412.
func TestReadme_CommandsPrintWhatItShows(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join(repository, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	weir, gateway := freePort(t), freePort(t)
	readme := strings.NewReplacer(":8080", weir, ":8092", gateway).Replace(string(text))
	shell := blocks(readme, "sh")
	if len(shell) != 6 {
		t.Fatalf("the README has %d blocks of commands", len(shell))
	}
	folder := workshop(t, gateway)
	env := append(os.Environ(), "LISTEN_ADDR=127.0.0.1"+weir, "WEIR_URL=http://127.0.0.1"+weir)
	for i, ready := range []string{weir + "/readyz", gateway + "/_simulator/records"} {
		in, out := terminal(t, folder, env)
		_, _ = io.WriteString(in, shell[i].code)
		go func() { _, _ = io.Copy(io.Discard, out) }()
		if !polling.Until(30*time.Second, 10*time.Millisecond, func() bool { return answers(t, "http://127.0.0.1"+ready) }) {
			t.Fatalf("nothing answers at %s", ready)
		}
	}
	in, out := terminal(t, folder, env)
	lines := bufio.NewReader(out)
	_, _ = io.WriteString(in, "trap 'echo \"failed: $BASH_COMMAND\"' ERR\n")
	for _, b := range shell[2:] {
		_, _ = io.WriteString(in, b.code+"echo '# end'\n")
		printed := ""
		for line := ""; line != "# end\n"; printed += line {
			if line, err = lines.ReadString('\n'); err != nil {
				t.Fatalf("%v after %s", err, printed)
			}
		}
		printed = strings.TrimSuffix(printed, "# end\n")
		if !shows(b.output, printed) {
			t.Errorf("%s\nprints\n%s\nand the README shows\n%s", b.code, printed, b.output)
		}
	}
	goProgram(t, folder, blocks(readme, "go")[0].code)
}

// workshop makes a folder with the programs, which are those of this test, and a target build
// that has nothing to do.
func workshop(t *testing.T, gateway string) string {
	t.Helper()
	folder := t.TempDir()
	if err := os.Mkdir(filepath.Join(folder, "bin"), 0o700); err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string]string{
		"Makefile":    "build:\n\t@:\n",
		"bin/weir":    fmt.Sprintf("#!/bin/sh\n%s=weir exec %q \"$@\"\n", asProgram, os.Args[0]),
		"bin/weirlab": fmt.Sprintf("#!/bin/sh\n%s=weirlab exec %q \"$@\" --listen 127.0.0.1%s\n", asProgram, os.Args[0], gateway),
	} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(content), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	return folder
}

// terminal starts a shell. It ends with the test, or after two minutes, with everything that it
// started.
func terminal(t *testing.T, folder string, env []string) (in io.Writer, out io.Reader) {
	t.Helper()
	cmd := exec.Command("bash", "--norc") // the end of the test ends its whole group
	cmd.Dir, cmd.Env, cmd.SysProcAttr = folder, env, &syscall.SysProcAttr{Setpgid: true}
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stdout, cmd.Stderr = write, write
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	_ = write.Close()
	end := func() { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	late := time.AfterFunc(2*time.Minute, end)
	t.Cleanup(func() {
		late.Stop()
		end()
		_ = cmd.Wait()
		_ = read.Close()
	})
	return in, read
}

// freePort returns a port that nothing uses, with a colon before it.
func freePort(t *testing.T) string {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	_, port, _ := net.SplitHostPort(l.Addr().String())
	return ":" + port
}

func answers(t *testing.T, url string) bool {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		return false
	}
	_ = response.Body.Close()
	return response.StatusCode == http.StatusOK
}

// goProgram builds and runs a program with the body that the README shows.
func goProgram(t *testing.T, folder, body string) {
	t.Helper()
	token, err := os.ReadFile(filepath.Join(folder, "token"))
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(folder, "main.go")
	program := "package main\n\nimport (\n\"context\"\n\"fmt\"\n\"log\"\n\"os\"\n\"time\"\n\n\"weir/client\"\n)\n\n" +
		"func main() {\nif err := run(context.Background(), os.Args[1]); err != nil {\nlog.Fatal(err)\n}\n}\n\n" +
		"func run(ctx context.Context, token string) error {\n" + body + "return nil\n}\n"
	if err := os.WriteFile(file, []byte(program), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "go", "run", file, strings.TrimSpace(string(token)))
	cmd.Dir = repository
	printed, err := cmd.CombinedOutput()
	_, want, _ := strings.Cut(strings.TrimSpace(body[strings.LastIndex(body, "fmt.Println"):]), " // ")
	if got := strings.TrimSpace(string(printed)); err != nil || got != want || want == "" {
		t.Errorf("the program prints %q (%v), and the README shows %q", got, err, want)
	}
}
