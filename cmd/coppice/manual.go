package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/coppice-hpc/coppice/jobs"
)

// described is a verb, or a part of one such as "capacity solve", as its flag set says.
type described struct {
	name, operands, short string
	flags                 *pflag.FlagSet // nil: it has parts and no flags
	examples              []string
}

// describe asks every verb and every part of one for its flags. Nothing is run: --help ends a verb before its work.
func describe() []described {
	var list []described
	for _, v := range verbs() {
		for _, part := range append([]string{""}, v.parts...) {
			d := described{name: strings.TrimSpace(v.name + " " + part), operands: v.usage, short: v.short}
			s := streams{io.Discard, io.Discard, func(f *pflag.FlagSet, operands string, examples []string) {
				d.flags, d.operands, d.examples = f, operands, examples
			}}
			args := []string{"--help"}
			if part != "" {
				args = []string{part, "--help"}
			}
			_ = v.run(args, s) // that help was asked for
			list = append(list, d)
		}
	}
	return list
}

// runManual writes a manual page for coppice and for each verb.
func runManual(args []string, s streams) error {
	f := flags("manual", "DIR", s, "coppice manual /usr/local/share/man/man1", "coppice manual man && man -l man/coppice-analyze.1")
	operands, err := parse(f, args, 1, 1)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(operands[0], 0o777); err != nil {
		return jobs.Fail(jobs.ExitUsage, err)
	}
	all := describe()
	put := func(name, text string) error {
		return os.WriteFile(filepath.Join(operands[0], name+".1"), []byte(text), 0o666)
	}
	if err := put("coppice", overviewPage(all)); err != nil {
		return err
	}
	for i := range all {
		if err := put("coppice-"+strings.ReplaceAll(all[i].name, " ", "-"), verbPage(&all[i])); err != nil {
			return err
		}
	}
	return nil
}

// roff makes text safe for a manual page: what begins with a dot or a quote would be a request, and hyphens stay hyphens.
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

// overviewPage is coppice(1): the verbs, the topics of help, exit status.
func overviewPage(all []described) string {
	var b strings.Builder
	b.WriteString(pageHead("coppice"))
	b.WriteString(".SH NAME\ncoppice \\- analyse event traces of parallel programs\n.SH SYNOPSIS\n.B coppice\n.I VERB\n[flags] operands\n.SH VERBS\n")
	for i := range all {
		d := &all[i]
		if strings.Contains(d.name, " ") {
			continue
		}
		fmt.Fprintf(&b, ".TP\n.B %s\n%s. See\n.BR coppice\\-%s (1).\n", roff(d.name), roff(d.short), roff(d.name))
	}
	for _, t := range topics() {
		fmt.Fprintf(&b, ".SH %s\n.nf\n%s\n.fi\n", roff(strings.ToUpper(t.name)), roff(t.text))
	}
	return b.String()
}

// verbPage is the page of one verb.
func verbPage(d *described) string {
	var b strings.Builder
	page := "coppice-" + strings.ReplaceAll(d.name, " ", "-")
	b.WriteString(pageHead(page))
	fmt.Fprintf(&b, ".SH NAME\n%s \\- %s\n.SH SYNOPSIS\n.B coppice %s\n[flags] %s\n", roff(page), roff(d.short), roff(d.name), roff(d.operands))
	if len(d.examples) > 0 {
		fmt.Fprintf(&b, ".SH EXAMPLES\n.nf\n%s\n.fi\n", roff(strings.Join(d.examples, "\n")))
	}
	if d.flags != nil {
		b.WriteString(".SH OPTIONS\n")
		d.flags.VisitAll(func(f *pflag.Flag) {
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
			if f.DefValue != "" && f.DefValue != "false" && f.DefValue != "[]" && f.DefValue != "0" && !strings.Contains(use, "(default") {
				use += " (default " + f.DefValue + ")"
			}
			fmt.Fprintf(&b, ".TP\n.B %s\n%s\n", roff(head), roff(use))
		})
	}
	b.WriteString(".SH SEE ALSO\n.BR coppice (1)\n")
	return b.String()
}

// shells are those that completion is written for.
var shells = []string{"bash", "zsh", "fish"}

// runCompletion prints what a shell needs to complete verbs, flags and topics; operands are files.
func runCompletion(args []string, s streams) error {
	f := flags("completion", strings.Join(shells, "|"), s, "coppice completion bash > /etc/bash_completion.d/coppice", "source <(coppice completion zsh)",
		"coppice completion fish > ~/.config/fish/completions/coppice.fish")
	operands, err := parse(f, args, 1, 1)
	if err != nil {
		return err
	}
	words := completions()
	switch operands[0] {
	case "bash":
		return printText(s.out, bashCompletion(words))
	case "zsh":
		return printText(s.out, "#compdef coppice\nautoload -U +X bashcompinit && bashcompinit\n"+bashCompletion(words))
	case "fish":
		return printText(s.out, fishCompletion())
	}
	return usage("completion: %q is no shell that is known: choose one of %s", operands[0], strings.Join(shells, ", "))
}

func printText(w io.Writer, text string) error {
	_, err := io.WriteString(w, text)
	return err
}

// completions are, by what stands before, the words that may follow: flags of a verb, parts of it, verbs, topics.
func completions() [][2]string {
	var list [][2]string
	top := []string{"help"}
	for _, v := range verbs() {
		top = append(top, v.name)
	}
	list = append(list, [2]string{"", strings.Join(top, " ")})
	for _, d := range describe() {
		var words []string
		for _, v := range verbs() {
			if v.name == d.name {
				words = append(words, v.parts...)
			}
		}
		if d.flags != nil {
			d.flags.VisitAll(func(f *pflag.Flag) {
				if !f.Hidden {
					words = append(words, "--"+f.Name)
				}
			})
		}
		list = append(list, [2]string{d.name, strings.Join(words, " ")})
	}
	help := slices.Clone(top[1:])
	for _, t := range topics() {
		help = append(help, t.name)
	}
	return append(list, [2]string{"help", strings.Join(help, " ")}, [2]string{"completion", strings.Join(shells, " ")})
}

// bashCompletion is a function of bash, which zsh runs too.
func bashCompletion(words [][2]string) string {
	var b strings.Builder
	b.WriteString("_coppice() {\n\tlocal words verb=${COMP_WORDS[1]} part=${COMP_WORDS[2]} here=${COMP_WORDS[COMP_CWORD]}\n")
	b.WriteString("\t[ \"$COMP_CWORD\" -gt 1 ] || verb=\n\t[ \"$COMP_CWORD\" -gt 2 ] || part=\n\tcase \"$verb $part\" in\n")
	for i := len(words) - 1; i >= 0; i-- { // parts of a verb before the verb
		name, list := words[i][0], words[i][1]
		pattern := "'" + name + " '*"
		if name == "" {
			pattern = "' '*"
		} else if strings.Contains(name, " ") {
			pattern = "'" + name + "'"
		}
		fmt.Fprintf(&b, "\t%s) words='%s' ;;\n", pattern, list)
	}
	b.WriteString("\tesac\n\tcase $here in\n\t-*) COMPREPLY=($(compgen -W \"$words\" -- \"$here\")) ;;\n")
	b.WriteString("\t*) COMPREPLY=($(compgen -W \"${words//--+([a-z-])/}\" -- \"$here\") $([ -z \"$verb\" ] || compgen -f -- \"$here\")) ;;\n\tesac\n}\n")
	b.WriteString("shopt -s extglob 2>/dev/null\ncomplete -o filenames -F _coppice coppice\n")
	return b.String()
}

// fishCompletion has a line for each verb and flag.
func fishCompletion() string {
	var b strings.Builder
	quoted := func(text string) string { return "'" + strings.NewReplacer(`\`, `\\`, "'", `\'`).Replace(text) + "'" }
	for _, v := range verbs() {
		fmt.Fprintf(&b, "complete -c coppice -n __fish_use_subcommand -a %s -d %s\n", v.name, quoted(v.short))
		for _, p := range v.parts {
			fmt.Fprintf(&b, "complete -c coppice -n '__fish_seen_subcommand_from %s' -a %s\n", v.name, p)
		}
	}
	for _, d := range describe() {
		if d.flags == nil {
			continue
		}
		verb, part, has := strings.Cut(d.name, " ")
		seen := "__fish_seen_subcommand_from " + verb
		if has {
			seen += "; and __fish_seen_subcommand_from " + part
		}
		d.flags.VisitAll(func(f *pflag.Flag) {
			if f.Hidden {
				return
			}
			short := ""
			if f.Shorthand != "" {
				short = " -s " + f.Shorthand
			}
			if f.NoOptDefVal == "" {
				short += " -r"
			}
			_, use := pflag.UnquoteUsage(f)
			fmt.Fprintf(&b, "complete -c coppice -n %s -l %s%s -d %s\n", quoted(seen), f.Name, short, quoted(use))
		})
	}
	return b.String()
}
