package record

import (
	"cmp"
	"context"
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// kind is an implementation of MPI.
type kind int

const (
	unknownMPI kind = iota
	openMPI
	mpich
)

func (k kind) String() string { return [...]string{"an unknown MPI library", "Open MPI", "MPICH"}[k] }

// ErrProgram says that the program cannot be recorded.
var ErrProgram = errors.New("no program that can be recorded")

// ProgramAt returns the index of the MPI program in a command. The launcher and its options precede it, the program's arguments follow.
func ProgramAt(ctx context.Context, command []string) (int, error) {
	i, _, err := programAt(ctx, command)
	return i, err
}

// programAt returns the index of the first word that is a program linked to an MPI library, and which library. It asks ldd, because the MPI
// library may be a dependency of another library.
func programAt(ctx context.Context, command []string) (at int, k kind, err error) {
	var missing error // a file that does not exist, for the error if no program is found
	l, launches := launcherOf(ctx, command)
	for i, arg := range command {
		path, err := exec.LookPath(arg)
		if missing == nil && strings.HasPrefix(arg, ".") && errors.Is(err, fs.ErrNotExist) {
			missing = fmt.Errorf("%w: %s: %w", ErrProgram, arg, fs.ErrNotExist)
		}
		if err != nil || i == launches && l != noLauncher {
			continue
		}
		b, err := exec.CommandContext(ctx, "ldd", path).CombinedOutput()
		if err != nil {
			continue
		}
		if k := libraryOf(string(b)); k != unknownMPI {
			return i, k, nil
		}
	}
	if missing != nil {
		return 0, unknownMPI, missing
	}
	return 0, unknownMPI, fmt.Errorf("%w: none of the words of %q is a program that is linked dynamically with Open MPI or MPICH (see ldd PROGRAM). "+
		"A statically linked program cannot be recorded; for sh -c that starts one, give --cc", ErrProgram, strings.Join(command, " "))
}

// libraryOf returns the MPI library that the output of ldd names.
func libraryOf(ldd string) kind {
	for line := range strings.Lines(ldd) {
		name, _, _ := strings.Cut(strings.TrimSpace(line), " ")
		switch {
		case strings.HasPrefix(name, "libmpich"), strings.HasPrefix(name, "libmpi.so.12"):
			return mpich
		case strings.HasPrefix(name, "libmpi.so"), strings.HasPrefix(name, "libmpi_cxx.so"), strings.HasPrefix(name, "libmpi_mpifh.so"):
			return openMPI
		}
	}
	return unknownMPI
}

// launcher is the kind of command that starts the ranks. It decides how they get environment variables.
type launcher int

const (
	noLauncher launcher = iota
	openMPILauncher
	hydra
	srun
)

// starters are programs that run the command after their options. That command may be a launcher.
var starters = []string{"env", "ionice", "nice", "nohup", "numactl", "salloc", "setsid", "stdbuf", "taskset", "time", "timeout"}

// launcherOf returns the launcher of a command and its index.
func launcherOf(ctx context.Context, command []string) (l launcher, at int) {
	for at, word := range command {
		base := filepath.Base(word)
		switch {
		case strings.Contains(word, "="): // an assignment for env
		case base == "srun":
			return srun, at
		case strings.HasPrefix(base, "mpirun"), strings.HasPrefix(base, "mpiexec"), base == "orterun", base == "prterun":
			b, err := exec.CommandContext(ctx, word, "--version").CombinedOutput()
			for _, name := range [...]string{"HYDRA", "hydra", "Intel(R) MPI"} { // they take the same options as Hydra
				if err == nil && strings.Contains(string(b), name) {
					return hydra, at
				}
			}
			return openMPILauncher, at
		case at == 0 && !slices.Contains(starters, base):
			return noLauncher, 0
		}
	}
	return noLauncher, 0
}

// variables are environment variables of the processes: names and values.
type variables [][2]string

// text adds a variable unless its text is empty.
func (v *variables) text(name, text string) {
	if text != "" {
		*v = append(*v, [2]string{name, text})
	}
}

// number adds a variable with a number unless that is 0 or less.
func (v *variables) number(name string, n int64) {
	if n > 0 {
		v.text(name, strconv.FormatInt(n, 10))
	}
}

func (v variables) value(name string) string {
	for _, x := range v {
		if x[0] == name {
			return x[1]
		}
	}
	return ""
}

// preload names the libraries that the dynamic linker loads first.
const preload = "LD_PRELOAD"

// withEnvironment returns the command (the launcher is word at) with options that set vars for the ranks only, and env, the variables that
// the command itself must have.
func withEnvironment(ctx context.Context, l launcher, at int, command []string, vars variables) (args, env []string) {
	var extra []string
	before, command := command[:at], command[at:]
	for _, word := range before { // env LD_PRELOAD=... mpirun: vars replace this value, so they include it
		if own, ok := strings.CutPrefix(word, preload+"="); ok {
			vars = append(variables{{preload, own + ":" + vars.value(preload)}}, slices.DeleteFunc(slices.Clone(vars), func(v [2]string) bool { return v[0] == preload })...)
		}
	}
	for _, v := range vars {
		switch l {
		case openMPILauncher:
			extra = append(extra, "-x", v[0]+"="+v[1])
		case hydra:
			extra = append(extra, "-genv", v[0], v[1])
		case srun:
			if strings.ContainsAny(v[1], `,'"`) { // srun cannot quote these in --export: it passes such a variable on from its own environment
				extra, env = append(extra, v[0]), append(env, v[0]+"="+v[1])
				continue
			}
			extra = append(extra, v[0]+"="+v[1])
		case noLauncher:
			env = append(env, v[0]+"="+v[1])
		}
	}
	if l == srun {
		args, command = slices.Concat(before, command[:1]), command[1:]
		for more := true; more; { // each program of a heterogeneous job has its own --export
			part, end := command, slices.Index(command, ":")
			if more = end >= 0; more {
				part, command = command[:end+1], command[end+1:]
			}
			args = append(args, exporting(ctx, part, strings.Join(extra, ","))...)
		}
		return args, env
	}
	args = slices.Concat(before, command[:1], extra)
	for i, word := range command[1:] {
		if strings.HasPrefix(word, preload+"=") || command[i] == preload && l == hydra { // the command's own would override ours
			word += ":" + vars.value(preload)
		} else if word == preload && command[i] == "-x" { // -x LD_PRELOAD passes on the launcher's value, which ours includes
			word += "=" + vars.value(preload)
		}
		if args = append(args, word); word == ":" && l == openMPILauncher { // -x holds for one program only
			args = append(args, extra...)
		}
	}
	return args, env
}

// exporting returns the options, program and arguments of an srun command with an --export that adds vars. An existing --export, or
// SLURM_EXPORT_ENV, is extended.
func exporting(ctx context.Context, words []string, vars string) []string {
	const option = "--export"
	program, err := ProgramAt(ctx, words)
	for i := 0; err != nil && i <= len(words); i++ { // else the first executable word that is not an option's value
		program = i
		if i < len(words) && (i == 0 || !strings.HasPrefix(words[i-1], "-") || strings.Contains(words[i-1], "=")) {
			_, err = exec.LookPath(words[i])
		}
	}
	at, end, value := 0, 0, cmp.Or(os.Getenv("SLURM_EXPORT_ENV"), "ALL")
	for i, word := range words[:program] {
		if v, joined := strings.CutPrefix(word, option+"="); joined {
			at, end, value = i, i+1, v
		} else if word == option && i+1 < program {
			at, end, value = i, i+2, words[i+1]
		}
	}
	list := strings.Split(value, ",")
	if k := slices.IndexFunc(list, func(v string) bool { return strings.HasPrefix(v, preload+"=") }); k >= 0 {
		vars = strings.Replace(vars, preload+"=", list[k]+":", 1)
		value = strings.Join(slices.Delete(list, k, k+1), ",")
	}
	if value == "NONE" || value == "" {
		value = vars
	} else {
		value += "," + vars
	}
	return slices.Concat(words[:at], []string{option + "=" + value}, words[end:])
}

// findCompiler returns the compiler wrapper of an MPI library, or ErrCompiler.
func findCompiler(ctx context.Context, k kind) (string, error) {
	names := []string{"mpicc", "mpicc.openmpi", "mpicc.mpich"}
	if k == mpich {
		names = []string{"mpicc", "mpicc.mpich"}
	}
	for _, cc := range names {
		if _, err := exec.LookPath(cc); err != nil {
			continue
		}
		b, err := output(ctx, cc, "-dM", "-E", "-include", "mpi.h", "-x", "c", os.DevNull)
		if err != nil {
			continue
		}
		if k == openMPI && strings.Contains(b, "#define OPEN_MPI ") || k == mpich && strings.Contains(b, "#define MPICH_VERSION ") {
			return cc, nil
		}
	}
	return "", fmt.Errorf("%w: the program uses %s, and none of %s belongs to it; load its module, install its development package, or give --cc",
		ErrCompiler, k, strings.Join(names, ", "))
}

// compiled calls compile with cc. If cc is "", it finds the compiler wrapper of the MPI library that the command's program uses.
func compiled(ctx context.Context, compile func(ctx context.Context, cc, folder string) (string, error), cc string, command []string, cache string) (string, error) {
	if queue := filepath.Base(command[0]); slices.Contains([]string{"sbatch", "qsub", "bsub"}, queue) {
		return "", fmt.Errorf("%w: %s puts a job into the queue and ends before that begins: write coppice record before srun or mpirun in the script, or see coppice plan record", ErrProgram, queue)
	}
	if cc == "" {
		_, k, err := programAt(ctx, command)
		if err != nil && loads(ctx, command) {
			k, err = likely(ctx, command)
		}
		if err != nil {
			return "", err
		}
		if cc, err = findCompiler(ctx, k); err != nil {
			return "", err
		}
	}
	return compile(ctx, cc, cache)
}

// loads reports whether a word of a command is a program that can load libraries at run time (it or a library of it calls dlopen), or a
// script, which may start any program.
func loads(ctx context.Context, command []string) bool {
	l, launches := launcherOf(ctx, command)
	for i, arg := range command {
		path, err := exec.LookPath(arg)
		if err != nil || i == launches && l != noLauncher {
			continue
		}
		if isScript(path) {
			return true
		}
		b, err := exec.CommandContext(ctx, "ldd", path).Output()
		if err == nil && opens(path) {
			return true
		}
		for name := range strings.FieldsSeq(string(b)) {
			if err == nil && filepath.IsAbs(name) && !strings.HasPrefix(filepath.Base(name), "libc.so") && opens(name) {
				return true
			}
		}
	}
	return false
}

// isScript reports whether the first line of a file names an interpreter.
func isScript(path string) bool {
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	var mark [2]byte
	_, err = io.ReadFull(f, mark[:])
	return err == nil && string(mark[:]) == "#!"
}

// opens reports whether a program or library calls dlopen.
func opens(path string) bool {
	f, err := elf.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	list, _ := f.ImportedSymbols()
	return slices.ContainsFunc(list, func(s elf.ImportedSymbol) bool { return s.Name == "dlopen" })
}

// likely guesses the MPI library of a program that loads it at run time: that of its launcher, or the only one with a compiler wrapper.
func likely(ctx context.Context, command []string) (kind, error) {
	switch l, _ := launcherOf(ctx, command); l {
	case openMPILauncher:
		return openMPI, nil
	case hydra:
		return mpich, nil
	}
	var found []kind
	for _, k := range [...]kind{openMPI, mpich} {
		if _, err := findCompiler(ctx, k); err == nil {
			found = append(found, k)
		}
	}
	if len(found) == 1 {
		return found[0], nil
	}
	return unknownMPI, fmt.Errorf("%w: no word of %q names an MPI library. If the program loads one while it runs, give --cc the compiler wrapper of that one",
		ErrProgram, strings.Join(command, " "))
}
