package main

import (
	"io"

	"github.com/spf13/cobra"
)

// bareBash stands in for what the completion of bash uses of package bash-completion, which not every machine has.
const bareBash = `declare -F _get_comp_words_by_ref >/dev/null || _get_comp_words_by_ref() {
	read -r -a words <<<"${COMP_LINE:0:COMP_POINT}"
	[[ ${COMP_LINE:0:COMP_POINT} != *' ' ]] || words+=('')
	cword=$((${#words[@]} - 1))
	cur=${words[cword]} prev=${words[cword-1]}
}
`

// completionVerb prints what a shell needs to complete verbs, parts, topics, flags and their words; the shell asks coppice itself.
func completionVerb(s streams) *cobra.Command {
	var shell string
	shells := []string{"bash", "zsh", "fish"}
	c := verb("completion bash|zsh|fish", "print what a shell needs to complete verbs and flags", 1, 1, "coppice completion bash > /etc/bash_completion.d/coppice", "source <(coppice completion zsh)",
		"coppice completion fish > ~/.config/fish/completions/coppice.fish")
	c.ValidArgs = shells
	return s.does(c, func(operands []string, s streams) error {
		if err := (word{&shell, shells}).Set(operands[0]); err != nil {
			return usage("%q is not a shell that is known: %w", operands[0], err)
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
