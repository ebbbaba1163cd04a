// Command coppice analyses event traces of parallel programs. Each verb, or family of verbs, is one file of this package. The
// packages below do the work.
package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/coppice-hpc/coppice/jobs"
	"github.com/coppice-hpc/coppice/mpi"
	"github.com/coppice-hpc/coppice/report/conditions"
	"github.com/coppice-hpc/coppice/report/numbers"
	"github.com/coppice-hpc/coppice/xtf"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// version is the version of coppice. Files contain it, because it decides their bytes.
const version = "0.1.0"

func init() { cobra.EnableCommandSorting = false }

func main() {
	os.Exit(run(os.Args[1:], os.Stdout, os.Stderr))
}

// streams are where a verb writes: results to out, everything else to err.
type streams struct {
	out, err io.Writer
	verb     string    // the current verb, such as "capacity solve"
	runs     *openRuns // of the verb
}

// say writes a line for the user.
func (s streams) say(format string, args ...any) {
	fmt.Fprintf(s.err, "coppice: "+format+"\n", args...)
}

// run runs one verb and returns the exit code.
func run(args []string, out, errs io.Writer) int {
	s := streams{out: out, err: errs, runs: &openRuns{}}
	args = slices.Clone(args)
	if len(args) > 0 && args[0] == "--version" {
		args[0] = "version"
	}
	root := commands(s, args...)
	if len(args) > 0 && strings.HasPrefix(args[0], cobra.ShellCompRequestCmd) {
		completeFlags(root)
	}
	root.SetArgs(append([]string{}, args...)) // nil would mean the arguments of the process
	c, err := root.ExecuteC()
	s.verb = nameOf(c)
	return conclude(s.runs.close(err), s)
}

// conclude prints the error of a verb and returns its exit code.
func conclude(err error, s streams) int {
	if err == nil {
		return jobs.ExitDone
	}
	code := jobs.ExitCode(err)
	if errors.Is(err, errSilent) {
		return code // possibly the status of a recorded program
	}
	verb := ""
	if of := (ofVerb{}); errors.As(err, &of) && s.verb != "" {
		verb = s.verb + ": "
	}
	text := err.Error()
	if agreed := (*mpi.AgreedError)(nil); errors.As(err, &agreed) && !mpi.Launched() {
		text = strings.Replace(text, agreed.Error(), agreed.Text, 1) // ranks of one process mean nothing to a user
	}
	if of := (*mpi.RankError)(nil); errors.As(err, &of) && !mpi.Launched() {
		text = strings.Replace(text, of.Error(), of.Err.Error(), 1)
	}
	text = packages.ReplaceAllString(text, "$1")
	if !strings.HasSuffix(text, "?") {
		text = strings.TrimSuffix(text, ".") + "."
	}
	if unknown := (*conditions.Unknown)(nil); errors.As(err, &unknown) {
		text += similar(unknown.Name, unknown.Among)
	}
	s.say("%s%s%s", verb, text, advice(err))
	if code == jobs.ExitInternal {
		s.say("this is a bug of coppice; please report it with the input's `coppice info` and the command line.")
	}
	return code
}

// packages matches names of packages in front of error texts, which mean nothing to a user.
var packages = regexp.MustCompile(`(^|: )(?:(?:xtf|xtfwriter|otf2|paraver|recording|receivelog|ccg|ccgmerge|column|simnet|callpath|interval|causes|cluster|synthetic|results): )+`)

// ofVerb is an error whose message begins with the name of the verb.
type ofVerb struct{ error }

func (e ofVerb) Unwrap() error { return e.error }

// fail is an error of a verb with its exit code.
func fail(code int, format string, args ...any) error {
	return jobs.Fail(code, ofVerb{fmt.Errorf(format, args...)})
}

// usage is an error of the command line.
func usage(format string, args ...any) error { return fail(jobs.ExitUsage, format, args...) }

// maker makes a verb.
type maker func(streams) *cobra.Command

// commands makes the tree of verbs, in the order of the help text, or only the verb that is called: making all takes as long as
// the work of some.
func commands(s streams, args ...string) *cobra.Command {
	root := &cobra.Command{Use: "coppice", Args: cobra.ArbitraryArgs, SilenceErrors: true, SilenceUsage: true}
	root.CompletionOptions.DisableDefaultCmd = true // verb completion has examples and a manual page
	root.SetOut(s.out)
	root.SetErr(s.err)
	type named struct {
		name string // verbs that do not need to know the others
		made maker
	}
	verbs := []named{
		{"info", infoVerb},
		{"analyze", analyzeVerb},
		{"report", reportVerb},
		{"levers", leversVerb},
		{"diff", diffVerb},
		{"serve", serveVerb},
		{"query", queryVerb},
		{"export", exportVerb},
		{"check", checkVerb},
		{"run", runVerb},
		{"record", recordVerb},
		{"replay", replayVerb},
		{"plan", planVerb},
		{"platform", parts("platform", "the machine of a prediction", platformShow, platformConvert, platformMeasure)},
		{"predict", predictVerb},
		{"capacity", parts("capacity", "how long jobs take that work in stages on chunks, alone and with others, and what machines a target needs",
			capacityExtract, capacitySolve, capacitySweep, capacityCheck, capacityPlan)},
		{"demo", demoVerb},
		{"", completionVerb},
		{"", manualVerb},
		{"version", versionVerb},
	}
	if i := slices.IndexFunc(verbs, func(v named) bool { return len(args) > 0 && v.name == args[0] }); i >= 0 && args[0] != "" {
		verbs = verbs[i : i+1]
	}
	for _, v := range verbs {
		root.AddCommand(v.made(s))
	}
	root.SetHelpCommand(helpVerb(s))
	root.SetHelpFunc(func(c *cobra.Command, _ []string) { printUsage(s.out, c) })
	root.SetFlagErrorFunc(flagError)
	root.RunE = func(_ *cobra.Command, args []string) error {
		if len(args) == 0 {
			printHelp(s.err, root)
			return fail(jobs.ExitUsage, "%w", errSilent)
		}
		return usage("%q is not a verb.%s Run coppice help for the list", args[0], similar(args[0], names(root)))
	}
	return root
}

// verb makes a command with least to most operands. use is its name with the operands.
func verb(use, short string, least, most int, examples ...string) *cobra.Command {
	c := &cobra.Command{Use: use, Short: short, Example: strings.Join(examples, "\n")}
	c.Args = func(c *cobra.Command, args []string) error {
		if n := len(args); n < least || n > most {
			return usage("%s given. Write %s, or --help for more", numbers.Plural(n, "operand"), synopsis(c))
		}
		return nil
	}
	f := c.Flags()
	f.SortFlags = false
	f.BoolP("help", "h", false, "show operands, examples and flags")
	_ = f.MarkHidden("help") // it exists in any case
	return c
}

// completeFlags registers the words of flags for completion by shells, for a verb and its parts. Cobra keeps them for the life of
// the process.
func completeFlags(c *cobra.Command) {
	c.Flags().VisitAll(func(f *pflag.Flag) {
		if w, ok := f.Value.(word); ok {
			_ = c.RegisterFlagCompletionFunc(f.Name, cobra.FixedCompletions(w.from, cobra.ShellCompDirectiveNoFileComp)) // an error means that they are registered already
		}
	})
	for _, p := range c.Commands() {
		completeFlags(p)
	}
}

// does sets what a verb does after the checks of its flags.
func (s streams) does(c *cobra.Command, run func(operands []string, s streams) error, checks ...func() error) *cobra.Command {
	c.RunE = func(c *cobra.Command, operands []string) error {
		s.verb = nameOf(c)
		for _, check := range checks {
			if err := check(); err != nil {
				return err
			}
		}
		return run(operands, s)
	}
	return c
}

// after completes the operands after the first n with words, and the first n with files.
func after(n int, words []string) cobra.CompletionFunc {
	return func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		if len(args) < n {
			return nil, cobra.ShellCompDirectiveDefault
		}
		return words, cobra.ShellCompDirectiveNoFileComp
	}
}

// parts makes a verb that consists of parts.
func parts(name, short string, made ...maker) maker {
	return func(s streams) *cobra.Command {
		var list []*cobra.Command
		var examples []string
		for _, m := range made {
			p := m(s)
			first, _, _ := strings.Cut(p.Example, "\n")
			list, examples = append(list, p), append(examples, first)
		}
		c := verb(name+" PART", short, 0, 1<<20, examples...)
		c.AddCommand(list...)
		return s.does(c, func(operands []string, _ streams) error {
			hint := ""
			if len(operands) > 0 {
				hint = similar(operands[0], names(c))
			}
			return usage("say what to do: %s.%s Run coppice %s --help", alternatives(names(c)), hint, name)
		})
	}
}

// nameOf is the name of a verb. For a part it includes the verb's name: "capacity solve".
func nameOf(c *cobra.Command) string {
	_, name, _ := strings.Cut(c.CommandPath(), " ")
	return name
}

// names returns the names of the root's verbs, or of a verb's parts.
func names(c *cobra.Command) []string {
	var list []string
	for _, p := range c.Commands() {
		if p.IsAvailableCommand() {
			list = append(list, p.Name())
		}
	}
	return list
}

// everyVerb lists the verbs and their parts.
func everyVerb(root *cobra.Command) []*cobra.Command {
	var list []*cobra.Command
	for _, c := range root.Commands() {
		if c.IsAvailableCommand() {
			list = append(append(list, c), everyVerb(c)...)
		}
	}
	return list
}

// alternatives joins names: "a, b or c".
func alternatives(names []string) string {
	last := len(names) - 1
	if last < 1 {
		return strings.Join(names, "")
	}
	return strings.Join(names[:last], ", ") + " or " + names[last]
}

// similar suggests one of the words if it is spelt nearly like the typed one.
func similar(typed string, words []string) string {
	c := &cobra.Command{SuggestionsMinimumDistance: 2}
	for _, w := range words {
		c.AddCommand(&cobra.Command{Use: w, Run: func(*cobra.Command, []string) {}})
	}
	list := c.SuggestionsFor(typed)
	if len(list) == 0 || len(list) > 3 {
		return ""
	}
	return " Did you mean " + alternatives(list) + "?"
}

// flagError explains what is wrong with a flag.
func flagError(c *cobra.Command, err error) error {
	var unknown *pflag.NotExistError
	var value *pflag.InvalidValueError
	var digits *strconv.NumError
	hint := ""
	switch {
	case errors.As(err, &unknown) && unknown.GetSpecifiedShortnames() == "":
		var flags []string
		c.Flags().VisitAll(func(f *pflag.Flag) { flags = append(flags, "--"+f.Name) })
		hint = similar("--"+unknown.GetSpecifiedName(), flags)
	case errors.As(err, &value):
		what, why := "--"+value.GetFlag().Name, value.Unwrap()
		if errors.As(why, &digits) {
			why = errors.New("not a number that this flag takes")
		}
		if !strings.Contains(why.Error(), strconv.Quote(value.GetValue())) {
			what += " " + value.GetValue()
		}
		return usage("%s: %w", what, why)
	}
	return usage("%w.%s Run %s --help", err, hint, c.CommandPath())
}

func versionVerb(s streams) *cobra.Command {
	return s.does(verb("version", "print versions", 0, 0, "coppice version"), func(_ []string, s streams) error {
		_, err := fmt.Fprintf(s.out, "coppice %s\nXTF %d.%d\n%s %s/%s\n%s\n", version, xtf.Major, xtf.Minor, runtime.Version(), runtime.GOOS, runtime.GOARCH, mpi.LibraryVersion())
		return err
	})
}
