package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"math"
	"os"
	"os/exec"
	"os/signal"
	"runtime/debug"
	"strings"
	"syscall"
	"testing"
	"time"
)

// pipedCommand is a command line that another process asks for, and pipedAnswer what came of it.
type (
	pipedCommand struct {
		Args     []string          // nil: the lines of damageCommands are asked for, or an announced server is to end
		Dir      string            // to run in
		Env      map[string]string // in addition
		Announce string            // answer once standard output has a line with this text, before the verb ends
	}
	pipedAnswer struct {
		Code      int
		Out, Errs []byte
		Lines     []string `json:",omitempty"`
	}
)

// announced passes on what is written until the line that was waited for is there.
type announced struct {
	bytes.Buffer
	text string
	seen chan string
}

func (a *announced) Write(b []byte) (int, error) {
	n, err := a.Buffer.Write(b)
	if a.text != "" && strings.Contains(a.String(), a.text) && strings.HasSuffix(a.String(), "\n") {
		a.text = ""
		a.seen <- a.String()
	}
	return n, err
}

// TestCommandPipe is the tool for a driver with very many small inputs, such as bench/soak: one process for all commands. With
// COPPICE_PIPE it reads command lines as JSON from file 3 and answers on file 4. A panic of any goroutine ends it, as it would
// the tool. Without, it is that driver, of three commands.
func TestCommandPipe(t *testing.T) {
	if os.Getenv("COPPICE_PIPE") == "" {
		askPiped(t)
		return
	}
	held := make(chan os.Signal, 1)
	signal.Notify(held, syscall.SIGTERM) // one that comes before or after a server waits for it ends nothing
	in, out := json.NewDecoder(os.NewFile(3, "commands")), json.NewEncoder(os.NewFile(4, "answers"))
	for {
		var c pipedCommand
		if err := in.Decode(&c); errors.Is(err, io.EOF) {
			return
		} else if err != nil {
			t.Fatal(err)
		}
		a := pipedAnswer{Lines: damageCommands()}
		if c.Args != nil {
			a = c.run(t, in, out)
		}
		if err := out.Encode(a); err != nil {
			t.Fatal(err)
		}
	}
}

func askPiped(t *testing.T) {
	commands, ask, err1 := os.Pipe()
	answer, answers, err2 := os.Pipe()
	if err := errors.Join(err1, err2); err != nil {
		t.Fatal(err)
	}
	child := exec.Command(os.Args[0], "-test.run", "^TestCommandPipe$")
	child.Env, child.ExtraFiles = append(os.Environ(), "COPPICE_PIPE=1"), []*os.File{commands, answers}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	commands.Close()
	answers.Close()
	in, out := json.NewDecoder(answer), json.NewEncoder(ask)
	for _, x := range []struct {
		args []string
		code int
	}{{[]string{"version"}, 0}, {[]string{"no-such-verb"}, 2}, {nil, 0}} {
		var a pipedAnswer
		if err := errors.Join(out.Encode(pipedCommand{Args: x.args, Dir: t.TempDir()}), in.Decode(&a)); err != nil {
			t.Fatal(err)
		}
		if a.Code != x.code || len(a.Out)+len(a.Errs)+len(a.Lines) == 0 {
			t.Errorf("%q: %+v", x.args, a)
		}
	}
	ask.Close()
	if err := child.Wait(); err != nil {
		t.Error(err)
	}
}

// run calls the command. A server is announced, and ends when the next line is read.
func (c pipedCommand) run(t *testing.T, in *json.Decoder, out *json.Encoder) (a pipedAnswer) {
	if err := os.Chdir(c.Dir); err != nil {
		t.Fatal(err)
	}
	for k, v := range c.Env {
		os.Setenv(k, v)
	}
	stdout := announced{text: c.Announce, seen: make(chan string, 1)}
	var errs bytes.Buffer
	done := make(chan struct{})
	go func() {
		defer close(done)
		a.Code = run(c.Args, &stdout, &errs)
	}()
	select {
	case <-done:
	case text := <-stdout.seen:
		if err := errors.Join(out.Encode(pipedAnswer{Out: []byte(text)}), in.Decode(&pipedCommand{})); err != nil {
			t.Fatal(err)
		}
		for ended := false; !ended; {
			_ = syscall.Kill(os.Getpid(), syscall.SIGTERM)
			select {
			case <-done:
				ended = true
			case <-time.After(20 * time.Millisecond):
			}
		}
		debug.SetMemoryLimit(math.MaxInt64) // of the server
	}
	a.Out, a.Errs = stdout.Bytes(), errs.Bytes()
	return a
}
