package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/pflag"
)

// shells are those that completion is written for.
var shells = []string{"bash", "zsh", "fish"}

// runCompletion prints what a shell needs to complete verbs, flags and topics; operands are files.
func runCompletion(args []string, s streams) error {
	f := flags("completion", s, "coppice completion bash > /etc/bash_completion.d/coppice", "source <(coppice completion zsh)",
		"coppice completion fish > ~/.config/fish/completions/coppice.fish")
	operands, err := parse(f, args, 1, 1)
	if err != nil {
		return err
	}
	switch operands[0] {
	case "bash":
		return printText(s.out, bashCompletion())
	case "zsh":
		return printText(s.out, "#compdef coppice\nautoload -U +X bashcompinit && bashcompinit\n"+bashCompletion())
	case "fish":
		return printText(s.out, fishCompletion())
	}
	return usage("completion: %q is no shell that is known: choose %s", operands[0], alternatives(shells))
}

func printText(w io.Writer, text string) error {
	_, err := io.WriteString(w, text)
	return err
}

// following is what may follow behind a verb or a part of one.
type following struct {
	behind string // "" for the name of the program, "capacity solve"
	words  []string
	flags  []string
}

// followings are all of them, parts behind their verbs.
func followings() []following {
	top := following{words: []string{"help"}}
	for _, v := range verbs() {
		top.words = append(top.words, v.name)
	}
	list := []following{top, {behind: "help", words: append(top.words[1:len(top.words):len(top.words)], topicNames...)}}
	for _, d := range describe() {
		c := following{behind: d.name}
		for _, p := range d.parts {
			c.words = append(c.words, p.name)
		}
		if d.name == "completion" {
			c.words = shells
		}
		d.flags.VisitAll(func(f *pflag.Flag) {
			c.flags = append(c.flags, "--"+f.Name)
		})
		list = append(list, c)
	}
	return list
}

// bashCompletion is a function of bash, which zsh runs too.
func bashCompletion() string {
	var b strings.Builder
	b.WriteString(`_coppice() {
	local words flags verb=${COMP_WORDS[1]} part=${COMP_WORDS[2]} here=${COMP_WORDS[COMP_CWORD]}
	[ "$COMP_CWORD" -gt 1 ] || verb=
	[ "$COMP_CWORD" -gt 2 ] || part=
	case "$verb $part" in
`)
	list := followings()
	for i := len(list) - 1; i >= 0; i-- { // parts of a verb before the verb
		c := list[i]
		pattern := "'" + c.behind + " '*"
		if strings.Contains(c.behind, " ") {
			pattern = "'" + c.behind + "'"
		}
		fmt.Fprintf(&b, "\t%s) words='%s' flags='%s' ;;\n", pattern, strings.Join(c.words, " "), strings.Join(c.flags, " "))
	}
	b.WriteString(`	esac
	case $here in
	-*) COMPREPLY=($(compgen -W "$flags" -- "$here")) ;;
	*) COMPREPLY=($(compgen -W "$words" -- "$here") $([ -z "$verb" ] || compgen -f -- "$here")) ;;
	esac
}
complete -o filenames -F _coppice coppice
`)
	return b.String()
}

// fishCompletion has a line for each verb, part, topic and flag.
func fishCompletion() string {
	var b strings.Builder
	b.WriteString(`function __coppice_behind
	set -l words (commandline -opc)
	set -l last (math 1 + (count $argv))
	test "$words[2..$last]" = "$argv"
end
`)
	quoted := func(text string) string { return "'" + strings.NewReplacer(`\`, `\\`, "'", `\'`).Replace(text) + "'" }
	put := func(behind, word, about string) {
		fmt.Fprintf(&b, "complete -c coppice -n %s -a %s -d %s\n", quoted(behind), word, quoted(about))
	}
	for _, name := range topicNames {
		put("__coppice_behind help", name, "topic")
	}
	for _, name := range shells {
		put("__coppice_behind completion", name, "shell")
	}
	put("__fish_use_subcommand", "help", "verbs, topics, or the help of a verb")
	for _, d := range describe() {
		verb, part, _ := strings.Cut(d.name, " ")
		behind := "__coppice_behind " + d.name
		if part == "" {
			put("__fish_use_subcommand; or __coppice_behind help", verb, d.short)
		} else {
			put("__coppice_behind "+verb+"; and not __fish_seen_subcommand_from "+part, part, d.short)
		}
		for _, p := range d.parts {
			behind += "; and not __coppice_behind " + d.name + " " + p.name
		}
		d.flags.VisitAll(func(f *pflag.Flag) {
			short := ""
			if f.Shorthand != "" {
				short = " -s " + f.Shorthand
			}
			if f.NoOptDefVal == "" {
				short += " -r"
			}
			_, use := pflag.UnquoteUsage(f)
			fmt.Fprintf(&b, "complete -c coppice -n %s -l %s%s -d %s\n", quoted(behind), f.Name, short, quoted(use))
		})
	}
	return b.String()
}
