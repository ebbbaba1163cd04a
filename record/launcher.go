package record

import (
	"bufio"
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

// kind is an MPI library.
type kind int

const (
	unknownMPI kind = iota
	openMPI
	mpich
)

func (k kind) String() string { return [...]string{"an unknown MPI library", "Open MPI", "MPICH"}[k] }

// ErrProgram says that the program cannot be recorded.
var ErrProgram = errors.New("no program that can be recorded")

// ProgramAt returns the place in a command of the MPI program: what is before it is its launcher, what is after it its arguments.
func ProgramAt(ctx context.Context, command []string) (int, error) {
	i, _, err := programAt(ctx, command)
	return i, err
}

// programAt returns the place of a word of a command that is a program with a dynamic MPI library, and which library that is. The
// dynamic linker is asked, because the library may be one of a library's.
func programAt(ctx context.Context, command []string) (at int, k kind, err error) {
	var missing error // a path that is none, where no program is found
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
		"A statically linked program cannot be recorded; for a script that starts one, give --cc", ErrProgram, strings.Join(command, " "))
}

// libraryOf tells the MPI library in the output of ldd.
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

// launcher is how ranks are started, which decides how they get their environment.
type launcher int

const (
	noLauncher launcher = iota
	openMPILauncher
	hydra
	srun
)

// starters run the command that follows their options: what they start may be a launcher.
var starters = []string{"env", "ionice", "nice", "nohup", "numactl", "salloc", "setsid", "stdbuf", "taskset", "time", "timeout"}

// launcherOf returns how a command starts ranks, and where in it the launcher is.
func launcherOf(ctx context.Context, command []string) (l launcher, at int) {
	for at, word := range command {
		base := filepath.Base(word)
		switch {
		case strings.Contains(word, "="): // a variable of env
		case base == "srun":
			return srun, at
		case strings.HasPrefix(base, "mpirun"), strings.HasPrefix(base, "mpiexec"), base == "orterun", base == "prterun":
			b, err := exec.CommandContext(ctx, word, "--version").CombinedOutput()
			for _, name := range [...]string{"HYDRA", "hydra", "Intel(R) MPI"} { // they take the same options
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

// variables are what processes get in their environment, names and values.
type variables [][2]string

// text adds a variable, if there is a text for it.
func (v *variables) text(name, text string) {
	if text != "" {
		*v = append(*v, [2]string{name, text})
	}
}

// number adds one whose value is a number, if that is more than 0.
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

// preload is the variable with the libraries that the dynamic linker loads first.
const preload = "LD_PRELOAD"

// withEnvironment returns the command, whose launcher is the word number at, with what gives the ranks, and only them, the variables.
func withEnvironment(ctx context.Context, l launcher, at int, command []string, vars variables) (args, env []string) {
	var extra []string
	before, command := command[:at], command[at:]
	for _, word := range before { // env LD_PRELOAD=... mpirun: what the ranks get takes its place
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
			if strings.ContainsAny(v[1], `,'"`) { // which srun does not take as they are: it has it in its own environment
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
		for more := true; more; { // of a heterogeneous job each program has options of its own
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
		if strings.HasPrefix(word, preload+"=") || command[i] == preload && l == hydra { // the command's own, which would win
			word += ":" + vars.value(preload)
		} else if word == preload && command[i] == "-x" { // that of the launcher, which is part of the value
			word += "=" + vars.value(preload)
		}
		if args = append(args, word); word == ":" && l == openMPILauncher { // another program: -x is for one alone
			args = append(args, extra...)
		}
	}
	return args, env
}

// exporting gives a program of srun, with the options before it, the variables. Its option may be there already: what that says stays.
func exporting(ctx context.Context, words []string, vars string) []string {
	const option = "--export"
	program, err := ProgramAt(ctx, words)
	for i := 0; err != nil && i <= len(words); i++ { // a script, or a program that loads its library: a word that can be run, and is no option's value
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

// findCompiler returns the compiler wrapper of an MPI library.
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

// compiled returns the library that compile makes with cc or, where that is "", with the compiler wrapper of the MPI library of
// the command's program.
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

// loads reports whether a command has a program that loads libraries while it runs, or a script for one, such as Python.
func loads(ctx context.Context, command []string) bool {
	l, launches := launcherOf(ctx, command)
	for i, arg := range command {
		path, err := exec.LookPath(arg)
		if err != nil || i == launches && l != noLauncher {
			continue
		}
		if interpreter := interpreterOf(path); interpreter != "" {
			path = interpreter
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

// interpreterOf returns the program that runs a script, "" for what is none.
func interpreterOf(path string) string {
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	line, _ := bufio.NewReaderSize(io.LimitReader(f, 256), 256).ReadString('\n')
	words, script := strings.CutPrefix(line, "#!")
	list := strings.Fields(words)
	if !script || len(list) == 0 {
		return ""
	}
	if filepath.Base(list[0]) == "env" {
		list = list[len(list)-1:]
	}
	path, _ = exec.LookPath(list[0])
	return path
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

// likely returns the MPI library of a program that does not name one: its launcher's, or the only one there is a compiler for.
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
