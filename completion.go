package main

import (
	"github.com/spf13/cobra"
)

func completionCommand(app *App) *cobra.Command {
	return &cobra.Command{
		Use: "completion bash|zsh|fish", Short: "a shell's completion script",
		Long: `Print the completion script of a shell. To have it always:

  bash   drover completion bash > ~/.local/share/bash-completion/completions/drover
  zsh    drover completion zsh > "${fpath[1]}/_drover"
  fish   drover completion fish > ~/.config/fish/completions/drover.fish`,
		ValidArgs: []string{"bash", "zsh", "fish"},
		Args:      cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			root := c.Root()
			switch args[0] {
			case "bash":
				return root.GenBashCompletionV2(app.Out, true)
			case "zsh":
				return root.GenZshCompletion(app.Out)
			case "fish":
				return root.GenFishCompletion(app.Out, true)
			}
			return usageError("completion knows bash, zsh and fish, not %q", args[0])
		},
	}
}
