package machine

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

// Server is a broker in a process of its own, with its log in a folder.
type Server struct {
	Program, Folder string
	URL             string
	Env             []string
	Cmd             *exec.Cmd       // nil: no process runs
	Ended           <-chan struct{} // closed when the process has ended
}

// NewServer prepares a broker on a free port; nothing runs yet.
func NewServer(ctx context.Context, program, folder string, env ...string) (*Server, error) {
	addr, err := FreeAddr(ctx)
	if err != nil {
		return nil, err
	}
	return &Server{Program: program, Folder: folder, URL: "http://" + addr, Env: append([]string{"LISTEN_ADDR=" + addr}, env...)}, nil
}

// Log returns the path of the broker's log.
func (s *Server) Log() string { return filepath.Join(s.Folder, "weir.log") }

// Start starts the process and waits until it is ready, at most for a limit.
func (s *Server) Start(ctx context.Context, limit time.Duration) error {
	if err := s.spawn(); err != nil {
		return fmt.Errorf("start the broker: %w", err)
	}
	limited, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	for !s.ready(limited) {
		select {
		case <-s.Ended:
			return s.EndedBy()
		default:
		}
		if !Sleep(limited, 5*time.Millisecond) {
			return errors.Join(ctx.Err(), fmt.Errorf("the broker is not ready after %s", limit))
		}
	}
	return nil
}

func (s *Server) spawn() error {
	log, err := os.OpenFile(s.Log(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer func() { _ = log.Close() }()      // the child has it
	cmd := exec.Command(s.Program, "serve") //nolint:gosec,noctx // our own program; it is killed or stopped below
	cmd.Env, cmd.Dir, cmd.Stdout, cmd.Stderr = s.Env, s.Folder, log, log
	ended, err := Spawn(cmd)
	if err != nil {
		return err
	}
	s.Cmd, s.Ended = cmd, ended
	return nil
}

func (s *Server) ready(ctx context.Context) bool {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, s.URL+"/readyz", nil)
	if err != nil {
		return false
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return false
	}
	_ = answer.Body.Close()
	return answer.StatusCode == http.StatusOK
}

// EndedBy returns the error of a process that has ended without being asked to.
func (s *Server) EndedBy() error {
	return fmt.Errorf("the broker has ended by itself: %s", s.Cmd.ProcessState)
}

// Kill ends the process like kill -9, and waits until it has ended.
func (s *Server) Kill() {
	if s.Cmd != nil {
		_ = s.Cmd.Process.Kill() // it may have ended already
		<-s.Ended
		s.Cmd = nil
	}
}

// Stop asks the process to end, and waits for it.
func (s *Server) Stop() {
	if s.Cmd != nil {
		End(s.Cmd, s.Ended)
		s.Cmd = nil
	}
}
