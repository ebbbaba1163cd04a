package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// pipeMoment is more than a command on a small input needs for itself in a process that runs one after the other.
const pipeMoment = 2 * time.Minute

// A pipe is a process of the tests of cmd/coppice that runs commands one after the other, many times as fast as a process for each. It
// ends with the first panic of any goroutine, and another one begins with the next command.
type pipe struct {
	bin, errs string // the test program, and a file for what the process itself prints
	cmd       *exec.Cmd
	in        *json.Encoder
	out       *json.Decoder
	files     []*os.File
	starts    int
}

// pipeCommand and pipeAnswer are those of the test.
type (
	pipeCommand struct {
		Args     []string
		Dir      string
		Env      map[string]string
		Announce string
	}
	pipeAnswer struct {
		Code      int
		Out, Errs []byte
		Lines     []string
	}
)

func (p *pipe) start() error {
	errs, err := os.Create(p.errs)
	if err != nil {
		return err
	}
	defer errs.Close()
	theirs, in, err := os.Pipe()
	if err != nil {
		return err
	}
	out, answers, err := os.Pipe()
	if err != nil {
		return err
	}
	p.cmd = exec.Command(p.bin, "-test.run", "^TestCommandPipe$", "-test.timeout", "0")
	p.cmd.Env = append(os.Environ(), "COPPICE_PIPE=1", "GOTRACEBACK=all", "GOMAXPROCS=1", "GOGC=400")
	p.cmd.Stdout, p.cmd.Stderr, p.cmd.ExtraFiles = errs, errs, []*os.File{theirs, answers}
	p.in, p.out, p.files = json.NewEncoder(in), json.NewDecoder(out), []*os.File{in, out}
	p.starts++
	err = p.cmd.Start()
	theirs.Close()
	answers.Close()
	return err
}

// end lets the process end and says how.
func (p *pipe) end() (code int) {
	if p.cmd == nil {
		return 0
	}
	for _, f := range p.files {
		f.Close()
	}
	_ = p.cmd.Wait()
	code, p.cmd = p.cmd.ProcessState.ExitCode(), nil
	return code
}

// ask sends a command and gets the answer; the error is that of a process which ended.
func (p *pipe) ask(c pipeCommand) (a pipeAnswer, err error) {
	if p.cmd == nil {
		if err := p.start(); err != nil {
			return a, err
		}
	}
	if err = p.in.Encode(c); err == nil {
		err = p.out.Decode(&a)
	}
	return a, err
}

// file is one of the process in /proc.
func (p *pipe) file(name string) string { return fmt.Sprintf("/proc/%d/%s", p.cmd.Process.Pid, name) }

// peak is the most memory of the process whose status this is, since its mark was last put back.
func peak(status string) int64 {
	b, _ := os.ReadFile(status)
	_, rest, _ := strings.Cut(string(b), "VmHWM:")
	n, _ := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(strings.SplitN(rest, "\n", 2)[0]), " kB"), 10, 64)
	return n << 10
}

// piped runs a command in the process of the pipe: what do does with a process for each. With talk the command is a server, with which
// it speaks.
func (r *round) piped(c command, talk func(announced string)) outcome {
	p := r.pipe
	o := outcome{command: c, code: -1}
	r.commands++
	ask := pipeCommand{Args: c.args, Dir: r.dir, Env: map[string]string{"TMPDIR": r.path("tmp"), "XDG_RUNTIME_DIR": r.path("run")}}
	for _, e := range c.env {
		k, v, _ := strings.Cut(e, "=")
		ask.Env[k] = v
	}
	if talk != nil {
		ask.Announce = "http://127.0.0.1"
	}
	if p.cmd != nil {
		_ = os.WriteFile(p.file("clear_refs"), []byte("5"), 0) // the mark of the most memory
	}
	most := patience(pipeMoment)
	over := time.AfterFunc(most, func() {
		_ = p.cmd.Process.Signal(syscall.SIGQUIT)
		time.Sleep(3 * time.Second)
		_ = p.cmd.Process.Kill()
	})
	a, err := p.ask(ask)
	if err == nil && talk != nil && strings.Contains(string(a.Out), ask.Announce) {
		talk(string(a.Out))
		a, err = p.ask(pipeCommand{})
	}
	inTime := over.Stop()
	if err == nil {
		o.code, o.out, o.errs, o.peak = a.Code, string(a.Out), string(a.Errs), peak(p.file("status"))
	} else {
		o.code = p.end()
		b, _ := os.ReadFile(p.errs)
		o.errs = fmt.Sprintf("%s\n%v\n", b, err)
	}
	r.note(o)
	switch {
	case !inTime:
		r.fail("%s: not done after %s", o, most)
	case err != nil:
		r.fail("%s: exit code %d, it ended the process of all commands: %s", o, o.code, clip(o.errs))
	default:
		r.judge(o)
	}
	return o
}

// buildPipe makes the test program.
func (s *settings) buildPipe() error {
	s.pipe = &pipe{bin: filepath.Join(s.out, "bin", "coppice.test"), errs: filepath.Join(s.work, "pipe.txt")}
	cmd := exec.Command("go", "test", "-c", "-o", s.pipe.bin, "./cmd/coppice")
	cmd.Stdout, cmd.Stderr = os.Stderr, os.Stderr
	return cmd.Run()
}
