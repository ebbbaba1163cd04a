package main

import (
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// commands makes the tree of verbs, in the order of the help text.
func commands(s streams) *cobra.Command {
	cobra.EnableCommandSorting = false
	root := &cobra.Command{Use: "coppice", Args: cobra.ArbitraryArgs, SilenceErrors: true, SilenceUsage: true}
	root.CompletionOptions.DisableDefaultCmd = true // verb completion has examples and a manual page
	root.SetOut(s.out)
	root.SetErr(s.err)
	root.AddCommand(
		infoVerb(s), analyzeVerb(s), reportVerb(s), diffVerb(s), serveVerb(s), queryVerb(s), exportVerb(s), checkVerb(s), recordVerb(s), replayVerb(s), planVerb(s),
		parts(s, "platform", "the machine of a prediction", platformShow(s), platformConvert(s), platformMeasure(s)),
		predictVerb(s),
		parts(s, "capacity", "how long jobs take that work in stages on chunks, alone and with others, and what machines a target needs",
			capacityExtract(s), capacitySolve(s), capacitySweep(s), capacityCheck(s), capacityPlan(s)),
		demoVerb(s), completionVerb(s), manualVerb(s), versionVerb(s),
	)
	root.SetHelpCommand(helpVerb(s))
	root.SetHelpFunc(func(c *cobra.Command, _ []string) { printUsage(s.out, c) })
	root.SetFlagErrorFunc(flagError)
	root.RunE = func(_ *cobra.Command, args []string) error {
		if len(args) == 0 {
			printHelp(s.err, root)
			return fail(2, "%w", errSilent)
		}
		return usage("%q is not a verb.%s Run coppice help for the list", args[0], similar(args[0], names(root)))
	}
	return root
}

// verb makes a command that takes least to most operands: use is its name with them.
func verb(use, short string, least, most int, examples ...string) *cobra.Command {
	c := &cobra.Command{Use: use, Short: short, Example: strings.Join(examples, "\n")}
	c.Args = func(c *cobra.Command, args []string) error {
		if n := len(args); n < least || n > most {
			return usage("%d operands given. Write %s, or --help for more", n, synopsis(c))
		}
		return nil
	}
	f := c.Flags()
	f.SortFlags = false
	f.BoolP("help", "h", false, "show operands, examples and flags")
	_ = f.MarkHidden("help") // it is there
	return c
}

// does gives a verb what it does after the checks of its flags, and shells the words to complete those with.
func (s streams) does(c *cobra.Command, run func(operands []string, s streams) error, checks ...func() error) *cobra.Command {
	c.Flags().VisitAll(func(f *pflag.Flag) {
		if w, ok := f.Value.(word); ok {
			_ = c.RegisterFlagCompletionFunc(f.Name, cobra.FixedCompletions(w.from, cobra.ShellCompDirectiveNoFileComp)) // once
		}
	})
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

// after completes the operands behind the first n with words, those before with files.
func after(n int, words []string) cobra.CompletionFunc {
	return func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		if len(args) < n {
			return nil, cobra.ShellCompDirectiveDefault
		}
		return words, cobra.ShellCompDirectiveNoFileComp
	}
}

// parts makes a verb that only has parts.
func parts(s streams, name, short string, list ...*cobra.Command) *cobra.Command {
	var examples []string
	for _, p := range list {
		first, _, _ := strings.Cut(p.Example, "\n")
		examples = append(examples, first)
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

// nameOf is the name of a verb, for a part that of the verb too: "capacity solve".
func nameOf(c *cobra.Command) string {
	_, name, _ := strings.Cut(c.CommandPath(), " ")
	return name
}

// names are those of the verbs of the root, or of the parts of a verb.
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

// similar asks whether one of the words was meant that are written much like this one.
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

// flagError says what is wrong with a flag.
func flagError(c *cobra.Command, err error) error {
	var unknown *pflag.NotExistError
	var value *pflag.InvalidValueError
	var digits *strconv.NumError
	hint := ""
	switch {
	case errors.As(err, &unknown):
		var flags []string
		c.Flags().VisitAll(func(f *pflag.Flag) { flags = append(flags, f.Name) })
		hint = strings.NewReplacer("mean ", "mean --", ", ", ", --", " or ", " or --").Replace(similar(unknown.GetSpecifiedName(), flags))
	case errors.As(err, &value):
		why := value.Unwrap()
		if errors.As(why, &digits) {
			why = errors.New("not a number that this flag takes")
		}
		return usage("--%s %s: %w. Run coppice %s --help", value.GetFlag().Name, value.GetValue(), why, nameOf(c))
	}
	return usage("%w.%s Run %s --help", err, hint, c.CommandPath())
}

// word is the value of a flag that takes one of some words.
type word struct {
	to   *string
	from []string
}

// oneOf defines a flag that takes one of some words, which its usage lists.
func oneOf(f *pflag.FlagSet, to *string, name, usual, use string, from ...string) {
	*to = usual
	f.Var(word{to, from}, name, use)
}

// Set takes a word.
func (w word) Set(text string) error {
	if !slices.Contains(w.from, text) {
		return errors.New("choose " + alternatives(w.from))
	}
	*w.to = text
	return nil
}

func (w word) String() string { return *w.to }

// Type names the value in help texts.
func (w word) Type() string { return "NAME" }

// number is the value of a flag that takes a whole number, at least one.
type number struct {
	to    *int
	least int
}

// atLeast defines a flag that takes a whole number.
func atLeast(f *pflag.FlagSet, least int, to *int, name, letter string, usual int, use string) {
	*to = usual
	f.VarP(number{to, least}, name, letter, use)
}

// Set takes a number.
func (n number) Set(text string) error {
	v, err := strconv.ParseInt(text, 0, 32)
	if err != nil || int(v) < n.least {
		return errors.New("give a whole number, at least " + strconv.Itoa(n.least))
	}
	*n.to = int(v)
	return nil
}

func (n number) String() string { return strconv.Itoa(*n.to) }

// Type names the value in help texts.
func (n number) Type() string { return "N" }
