package main

import (
	"embed"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/coppice-hpc/coppice/report/conditions"
	"github.com/coppice-hpc/coppice/report/results"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

//go:embed topics
var topicFiles embed.FS

// topicNames are the topics of coppice help, in the order of the list. The text of each is topics/NAME.txt.
var topicNames = []string{"intervals", "waits", "pop", "conditions", "formats", "slurm", "config", "exit-codes"}

// topicText returns the text of a topic, empty for an unknown one.
func topicText(name string) string {
	text, err := topicFiles.ReadFile("topics/" + name + ".txt")
	if err != nil {
		return ""
	}
	if name == "conditions" {
		return string(text) + wrapped(conditions.Names(results.Metrics()), 100) + "\n"
	}
	return string(text)
}

// wrapped joins words to indented lines.
func wrapped(words []string, width int) string {
	var b strings.Builder
	line := " "
	for i, w := range words {
		if i < len(words)-1 {
			w += ","
		}
		if len(line)+1+len(w) > width {
			b.WriteString(line + "\n")
			line = " "
		}
		line += " " + w
	}
	return b.String() + line
}

// helpVerb prints the list of verbs, a topic, or the help of a verb.
func helpVerb(s streams) *cobra.Command {
	c := verb("help [VERB|TOPIC]", "verbs, topics, or the help of a verb", 0, 2, "coppice help", "coppice help report", "coppice help conditions")
	c.Hidden = true // the list of verbs ends with it
	c.ValidArgsFunction = func(c *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return append(names(c.Root()), topicNames...), cobra.ShellCompDirectiveNoFileComp
	}
	return s.does(c, func(args []string, s streams) error {
		root := c.Root()
		if len(args) == 0 {
			printHelp(s.out, root)
			return nil
		}
		if text := topicText(args[0]); text != "" {
			if args[0] == "config" {
				text += "\nSet here:\n\n"
				for _, name := range []string{"COPPICE_SITE", "COPPICE_STATUS_FILE", "GOMEMLIMIT", "NO_COLOR"} { // environment variables that verbs read
					value, set := os.LookupEnv(name)
					if !set {
						value = "(not set)"
					}
					text += fmt.Sprintf("  %-20s %s\n", name, value)
				}
			}
			_, err := io.WriteString(s.out, text)
			return err
		}
		if about, _, err := root.Find(args); err == nil && about != root {
			printUsage(s.out, about)
			return nil
		}
		return usage("%q is neither a verb nor one of %s.%s", args[0], strings.Join(topicNames, ", "), similar(args[0], append(names(root), topicNames...)))
	})
}

func printHelp(w io.Writer, root *cobra.Command) {
	fmt.Fprintln(w, "coppice finds out where a parallel program lost its time.\n\nUsage: coppice VERB [flags] OPERAND...\n\nVerbs:")
	for _, v := range root.Commands() {
		if v.IsAvailableCommand() {
			fmt.Fprintf(w, "  %-10s  %s\n", v.Name(), v.Short)
		}
	}
	fmt.Fprintf(w, `
A program of yours, from its start to a picture:

  coppice record -o run -- mpirun -n 4 ./program
  coppice analyze run -o run.xtf
  coppice report run.xtf -o report.html

coppice VERB --help shows operands, examples and flags of a verb.
coppice help TOPIC explains %s.
`, alternatives(topicNames))
}

// usageWidth is the width of the lines of --help; longer texts of flags are wrapped.
const usageWidth = 120

func synopsis(c *cobra.Command) string {
	_, operands, _ := strings.Cut(c.Use, " ")
	if c.HasAvailableFlags() {
		operands = "[flags] " + operands
	}
	return strings.TrimSpace(c.CommandPath() + " " + operands)
}

// printUsage prints the help of a verb: how it is called, what it does, examples, parts, flags.
func printUsage(w io.Writer, c *cobra.Command) {
	if !c.HasParent() {
		printHelp(w, c)
		return
	}
	fmt.Fprintf(w, "Usage: %s\n\n%s.\n", synopsis(c), strings.ToUpper(c.Short[:1])+c.Short[1:])
	fmt.Fprintf(w, "\nExamples:\n  %s\n", strings.ReplaceAll(c.Example, "\n", "\n  "))
	if c.HasSubCommands() {
		fmt.Fprintf(w, "\nParts, each with a --help of its own:\n")
		for _, p := range c.Commands() {
			fmt.Fprintf(w, "  %-8s %s\n", p.Name(), p.Short)
		}
	}
	if c.HasAvailableFlags() {
		nameValues(c.Flags())
		fmt.Fprintf(w, "\nFlags:\n%s%s", c.Flags().FlagUsagesWrapped(usageWidth), c.Long)
	}
}

// valueNames are the names of flag values in the help, for flags that take a text. Other values have the name of their type.
var valueNames = map[string]string{
	"checkpoint": "DIR", "finish": "DIR", "run-dir": "DIR",
	"dimemas": "FILE", "host-platform": "FILE", "intervals-file": "FILE", "platform": "FILE", "plot": "FILE", "run": "FILE", "simgrid": "FILE", "site": "FILE", "status-file": "FILE",
	"compare": "PATH", "host-vectors": "PATH", "output": "PATH", "vectors": "PATH",
	"cc": "COMMAND", "fail-if": "CONDITION", "hint": "NAME=VALUE", "map": "RANKS=NODE", "vary": "NAME=VALUES", "sweep": "NAME=VALUES",
	"job": "NAME", "name": "NAME", "region": "NAME", "table": "NAME", "interval": "WHAT:NAME", "between": "WHAT:NAME",
	"ranks": "SET", "log-ranks": "SET", "time": "TIME", "slice": "TIME", "sample": "TIME", "dump-on-hang": "TIME", "from": "INSTANT", "until": "INSTANT",
	"scale": "CHANGE", "balance": "CHANGE", "remove": "CHANGE", "no-wait": "CHANGE", "earlier-receive": "CHANGE", "functions": "PATTERN,...", "key": "KEY", "n": "N", "to": "END",
	"deviation": "BOUND", "classes": "BOUND", "quantum": "SHARE", "threshold": "SHARE", "max-slowdown": "SHARE", "cpu-scale": "FACTOR",
	"host": "NAME", "listen": "ADDRESS", "base-path": "PATH", "spec": "PROGRAM", "then": "JOB", "loggops": "LETTERS",
}

// typeNames are the names of pflag's types in the help.
var typeNames = map[string]string{
	"string": "NAME", "stringArray": "NAME", "stringSlice": "NAME,...", "stringToString": "NAME=VALUE", "duration": "TIME",
	"int": "N", "int64": "N", "uint": "N", "uint32": "N", "uint64": "N", "float64": "X", "func": "NAME", "count": "",
}

// named is the value of a flag under a name that says what to write.
type named struct {
	pflag.Value
	name string
}

func (n named) Type() string { return n.name }

// nameValues names the values of flags for printing. The flags cannot parse after that.
func nameValues(f *pflag.FlagSet) {
	f.VisitAll(func(x *pflag.Flag) {
		kind := x.Value.Type()
		name, known := typeNames[kind]
		if !known {
			return
		}
		if own := valueNames[x.Name]; own != "" && (kind == "func" || strings.HasPrefix(kind, "string")) {
			name = own
		}
		if x.DefValue == "[]" || x.DefValue == "0" || x.DefValue == "0s" {
			x.DefValue = "" // the text says what happens without the flag
		}
		x.Value, x.NoOptDefVal = named{x.Value, name}, ""
	})
}

// bareBash replaces the function of package bash-completion that the completion of bash uses, because not every machine has that
// package.
const bareBash = `declare -F _get_comp_words_by_ref >/dev/null || _get_comp_words_by_ref() {
	read -r -a words <<<"${COMP_LINE:0:COMP_POINT}"
	[[ ${COMP_LINE:0:COMP_POINT} != *' ' ]] || words+=('')
	cword=$((${#words[@]} - 1))
	cur=${words[cword]} prev=${words[cword-1]}
}
`

// completionVerb prints a script for a shell that completes verbs, parts, topics, flags and their words. The script asks coppice
// itself.
func completionVerb(s streams) *cobra.Command {
	var shell string
	shells := []string{"bash", "zsh", "fish"}
	c := verb("completion bash|zsh|fish", "print what a shell needs to complete verbs and flags", 1, 1, "coppice completion bash > /etc/bash_completion.d/coppice", "source <(coppice completion zsh)",
		"coppice completion fish > ~/.config/fish/completions/coppice.fish")
	c.ValidArgs = shells
	return s.does(c, func(operands []string, s streams) error {
		if err := (word{&shell, shells}).Set(operands[0]); err != nil {
			return usage("%q is not a known shell: %w", operands[0], err)
		}
		switch shell {
		case "bash":
			if _, err := io.WriteString(s.out, bareBash); err != nil {
				return err
			}
			return c.Root().GenBashCompletionV2(s.out, true)
		case "zsh":
			return c.Root().GenZshCompletion(s.out)
		}
		return c.Root().GenFishCompletion(s.out, true)
	})
}

// manualVerb writes a manual page of coppice and of each verb.
func manualVerb(s streams) *cobra.Command {
	c := verb("manual DIR", "write the manual pages", 1, 1, "coppice manual /usr/local/share/man/man1", "coppice manual man && man -l man/coppice-analyze.1")
	return s.does(c, func(operands []string, _ streams) error {
		if err := os.MkdirAll(operands[0], 0o777); err != nil {
			return outputError(err)
		}
		pages := map[string]string{"coppice": overviewPage(c.Root())}
		for _, v := range everyVerb(c.Root()) {
			pages[pageName(v)] = verbPage(v)
		}
		for name, text := range pages {
			if err := os.WriteFile(filepath.Join(operands[0], name+".1"), []byte(text), 0o666); err != nil {
				return outputError(err)
			}
		}
		return nil
	})
}

// roff escapes text for a manual page: a dot or a quote at its begin would be a request, and hyphens must stay hyphens.
func roff(text string) string {
	text = strings.NewReplacer(`\`, `\e`, "-", `\-`).Replace(text)
	lines := strings.Split(text, "\n")
	for i, l := range lines {
		if strings.HasPrefix(l, ".") || strings.HasPrefix(l, "'") {
			lines[i] = `\&` + l
		}
	}
	return strings.Join(lines, "\n")
}

func pageHead(name string) string {
	return fmt.Sprintf(".TH %s 1 \"\" \"coppice %s\" \"User Commands\"\n", roff(strings.ToUpper(name)), version)
}

// overviewPage is the page coppice(1): the verbs, the topics of help, exit status.
func overviewPage(root *cobra.Command) string {
	var b strings.Builder
	b.WriteString(pageHead("coppice"))
	b.WriteString(".SH NAME\ncoppice \\- analyse event traces of parallel programs\n.SH SYNOPSIS\n.B coppice\n.I VERB\n[flags] operands\n.SH VERBS\n")
	for _, c := range root.Commands() {
		if c.IsAvailableCommand() {
			fmt.Fprintf(&b, ".TP\n.B %s\n%s. See\n.BR coppice\\-%s (1).\n", roff(c.Name()), roff(c.Short), roff(c.Name()))
		}
	}
	for _, name := range topicNames {
		fmt.Fprintf(&b, ".SH %s\n.nf\n%s.fi\n", roff(strings.ToUpper(name)), roff(topicText(name)))
	}
	return b.String()
}

// pageName is the name of a verb's page.
func pageName(c *cobra.Command) string { return strings.ReplaceAll(c.CommandPath(), " ", "-") }

func verbPage(c *cobra.Command) string {
	var b strings.Builder
	page := pageName(c)
	b.WriteString(pageHead(page))
	fmt.Fprintf(&b, ".SH NAME\n%s \\- %s\n.SH SYNOPSIS\n%s\n", roff(page), roff(c.Short), roff(synopsis(c)))
	fmt.Fprintf(&b, ".SH EXAMPLES\n.nf\n%s\n.fi\n", roff(c.Example))
	if c.Long != "" {
		fmt.Fprintf(&b, ".SH DESCRIPTION\n.nf\n%s\n.fi\n", roff(strings.TrimSpace(c.Long)))
	}
	if c.HasAvailableFlags() {
		b.WriteString(".SH OPTIONS\n")
	}
	nameValues(c.Flags())
	c.Flags().VisitAll(func(f *pflag.Flag) {
		if f.Hidden {
			return
		}
		head := "--" + f.Name
		if f.Shorthand != "" {
			head = "-" + f.Shorthand + ", " + head
		}
		kind, use := pflag.UnquoteUsage(f)
		if kind != "" {
			head += " " + kind
		}
		if f.DefValue != "" && f.DefValue != "false" && !strings.Contains(use, "(default") {
			use += " (default " + f.DefValue + ")"
		}
		fmt.Fprintf(&b, ".TP\n.B %s\n%s\n", roff(head), roff(use))
	})
	b.WriteString(".SH SEE ALSO\n.BR coppice (1)")
	for _, p := range c.Commands() {
		fmt.Fprintf(&b, ",\n.BR %s (1)", roff(pageName(p)))
	}
	b.WriteString("\n")
	return b.String()
}
